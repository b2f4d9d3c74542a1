//! Matrix: a terminal mission control for a tree of coding agents.
//!
//! The rooms and what they may import are described in `docs/dev/architecture.md` and enforced by
//! `tests/it/architecture.rs`.

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
compile_error!("mxd runs on Linux and macOS; on Windows, build and run it inside WSL");

pub mod agent;
pub mod app;
pub mod base;
pub mod cli;
pub mod config;
pub mod engine;
pub mod git;
pub mod hooks;
pub mod import;
pub mod model;
pub mod net;
pub mod outside;
pub mod permit;
pub mod process;
pub mod provider;
pub mod proxy;
pub mod search;
pub mod serve;
pub mod store;
pub mod term;
pub mod text;
pub mod theme;
pub mod tools;
pub mod ui;

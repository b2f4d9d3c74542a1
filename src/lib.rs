//! Matrix: a terminal mission control for a tree of coding agents.
//!
//! The rooms and what they may import are described in `docs/architecture.md` and enforced by
//! `tests/it/architecture.rs`.

pub mod base;
pub mod model;
pub mod process;
pub mod tools;

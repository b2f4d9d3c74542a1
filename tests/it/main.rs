//! Integration tests: one binary, one module per subject.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod store_check;
mod store_concurrency;
mod store_crash;
mod store_damage;
mod store_faults;
mod store_files;
mod store_lock;
mod store_replay;
mod store_torn;
mod support;

//! The promises, held against the world as it is: the binary that is given away, unchanged, on real files, with real
//! processes, over real sockets, and everything around it made to fail.
//!
//! What takes minutes runs with `cargo test`; what takes longer is ignored, starts with `proof` and runs with
//! `cargo proof`. See docs/dev/testing.md.

#![allow(clippy::result_large_err, reason = "a turn that ends a step early is small change in a test")]

mod chaos;
mod clients;
mod clock;
mod company;
mod crashes;
mod disk;
mod hostile;
mod kills;
mod load;
mod power;
mod scenario;
mod soak;
mod tools;

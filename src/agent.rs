//! The agent loop: one run of one task.
//!
//! [`conversation`], [`machine`] and [`compaction`] are pure: no clock, no runtime, no disk. [`driver`] performs their
//! effects. A run learns about other tasks only from the messages it receives.

pub mod compaction;
pub mod context_gauge;
pub mod control;
pub mod conversation;
pub mod driver;
pub mod loop_watch;
pub mod machine;
pub mod prompt;
pub mod repair;
pub mod segment;
#[cfg(test)]
pub(crate) mod testing;

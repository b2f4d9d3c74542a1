//! One run of one task: how a conversation grows out of a log, what to do next, and doing it.
//!
//! Decisions are in [`conversation`], [`machine`] and [`compaction`]: pure, without a clock, a runtime or a
//! disk. [`driver`] carries them out. A run knows of other tasks only by the messages it gets.

pub mod compaction;
pub mod control;
pub mod conversation;
pub mod driver;
pub mod gauge;
pub mod loop_watch;
pub mod machine;
pub mod prepare;
pub mod prompt;
pub mod repair;
#[cfg(test)]
pub(crate) mod testing;

//! Decides whether a tool call may run: rules, modes, and what a shell command would do.
//!
//! Pure: text and values in, a [`Decision`] with its reason out. Reads no file, runs nothing, knows no task. A command
//! that the parser does not fully understand is opaque: no allow rule matches it, but deny rules still look at every
//! literal command in it.

pub mod call;
pub mod decide;
pub mod mode;
pub mod pattern;
mod read_only;
pub mod rule;
pub mod shell;
mod stops;
pub mod suggest;

pub use call::{Call, Places, Subject};
pub use decide::{Decision, HookVerdict, Policy, Reason, Sandbox, Verdict, decide};
pub use mode::{Bypass, Mode, ProfileMode};
pub use rule::{List, Rule, RuleError, Rules, Source};
pub use stops::Stop;

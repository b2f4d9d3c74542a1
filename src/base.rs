//! Basic values and pure functions: ids, time, faults, exact JSON, money, keys, diffs, and sanitizing of untrusted
//! text.
//!
//! No I/O, no async, no drawing. [`clock::SystemClock`] is the only access to the outside world.

pub mod clock;
pub mod diff;
pub mod disk;
pub mod fault;
pub mod fuzzy;
pub mod id;
pub mod json;
pub mod keys;
pub mod known_secrets;
pub mod money;
pub mod sanitize;
pub mod secret;
pub mod secret_shape;
pub mod text;
pub mod trace;

pub use clock::{Clock, SystemClock, Timestamp};
pub use fault::{Fault, FaultKind};
pub use id::{AskId, EventId, IdSource, MessageId, ProjectId, RunId, TaskId, TurnId};
pub use json::Json;
pub use money::MicroUsd;
pub use secret::Secret;

//! The ground floor: ids, time, faults, exact JSON, and what makes foreign text safe to keep and to show.
//!
//! Everything here is a value or a pure function. No I/O, no async, no drawing; the one contact with the
//! outside is [`clock::SystemClock`], which reads the time of day so that nobody else has to.

pub mod clock;
pub mod compare;
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

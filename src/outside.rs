//! Outside agent programs: which are known, how they are found and started, and the protocols they speak.
//!
//! One [`Session`] is one process and one conversation. What a program says becomes [`FromAgent`] messages in order; a
//! message that this version does not understand is passed on as it came and never ends the session. Knows no tasks, and
//! reads or passes on no credential: every program has a login of its own.

pub mod acp;
pub mod elicitation;
pub mod json_lines;
pub mod locate;
pub mod permission;
pub mod programs;
pub mod rpc;
pub mod session;
pub mod start;
pub mod update;
pub mod wire_log;

pub use permission::{PermissionAnswer, PermissionOption, PermissionRequest};
pub use programs::Quirks;
pub use session::{FromAgent, OpenError, OpenRequest, Opened, Session, Steered, TurnEnd};
pub use start::Launcher;
pub use update::{CallStatus, CallUpdate, Update};

//! Child processes: how they start, what they may see, what they say, and how they die.
//!
//! The only room that starts a program. Invariants: every child leads its own session and process group, has no
//! terminal (and no stdin, unless it is spoken with), inherits no secret, and is reaped; what it says is drained at
//! once into bounded memory and a capped file; ending it ends its group and whatever escaped the group, as far as the
//! system lets us see it.
//! A record on disk per running child lets the next start end what a crash of ours left behind.
//! Knows nothing of tasks: a child has an id and a command, and markers that the caller chose.

mod child;
mod end;
pub mod environment;
mod hangup;
mod harden;
mod leader;
mod lent;
pub mod lineage;
pub mod orphans;
pub mod output;
mod record;
mod spawn;
mod spool;
mod supervise;
pub mod table;

pub use child::{Dialogue, Exit, Phase, Process, Spec, StartError, Streams, converse, start};
pub use end::{GRACE, end_marked};
pub use environment::Environment;
pub use hangup::outlives_terminal;
pub use harden::{hide_own_memory, is_root};
pub use lent::{hand_text, on_terminal};
pub use orphans::{Ended, end_own, left, sweep};
pub use output::{Capture, Glimpse};
pub use spool::{SPOOL_CAP, create_private};

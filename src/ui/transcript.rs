//! The transcript of a task: entries folded from its events, what is being made right now, and where one reads.
//!
//! Invariants: entries stand in the order of the log; finished ones are laid out once per width and never measured
//! unless they are near what is seen; the place is (entry, row), so that nothing that arrives moves what is being
//! read; memory is bounded however long a session is. Reads no file: older events are asked for and handed in.

mod cache;
mod entry;
mod fold;
mod lay;
mod log;
mod moves;
mod search;
mod state;
mod tally;
mod view;
mod viewport;

pub use entry::{Id, Kind};
pub use lay::{Page, last_printed, plain, prose};
pub use moves::Target;
pub use search::{Direction, Progress};
pub use state::{PAGE, Transcript};
pub use view::{Company, View, foot, found, has_foot, view};

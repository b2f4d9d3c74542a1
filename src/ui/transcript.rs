//! The transcript of a task: entries folded from its events, live output, and the reading position.
//!
//! Invariants: entries are in log order. Finished entries are laid out once per width, and only near the visible rows.
//! The position is (entry, row), so new entries do not move the text being read. Memory is bounded for sessions of any
//! length. Reads no files: older events are requested and handed in.

mod cache;
mod entry;
mod fold;
mod layout;
mod log;
mod match_count;
mod moves;
mod result_summary;
mod search;
mod state;
mod view;
mod viewport;
mod welcome;

pub use entry::{EntryId, EntryKind};
pub use layout::{Page, call_line, last_output, plain, prose, shown_name};
pub use moves::JumpTarget;
pub use search::{Direction, SearchProgress};
pub use state::{PAGE, Transcript};
pub use view::{Responder, View, foot, found, has_foot, view};
pub use welcome::EXAMPLES;

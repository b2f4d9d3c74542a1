//! The review of what a task has changed: files, hunks and lines, what the person has seen of them, and what they have
//! to say about them.
//!
//! Owns the comparison that is looked at, the place in it, folds, and the notes that outlive it ([`Notes`]). A place is
//! a mark in the diff, never a row, so that a resize, a fold or a newer diff keeps it. Only rows that are looked at are
//! made. Reads no file and asks nobody: what it lacks, it says ([`State::wants`]).

mod comment;
mod comparison;
mod files;
mod lay;
mod moves;
mod notes;
mod range;
mod remarks;
mod state;
mod view;

#[cfg(test)]
pub mod testing;

pub use comment::Comment;
pub use comparison::{Changed, Comparison};
pub use files::label;
pub use lay::{Laid, Mark, Place};
pub use moves::Goal;
pub use notes::{Notes, TaskNotes};
pub use range::{Request, turn_words};
pub use state::{Answer, Fold, State};
pub use view::{With, file_at, list_area, view};

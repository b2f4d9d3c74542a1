//! The review of a task's changes: files, hunks and lines, which of them the user has seen, and comments.
//!
//! Owns the loaded comparison, the position in it, folds, and the notes that outlive it ([`ReviewNotes`]). A position
//! refers to the diff, never to a row, so it survives a resize, a fold or a newer diff. Only visible rows are built.
//! Reads no files: [`State::wants`] returns what has to be loaded.

mod comment;
mod comparison;
mod files;
mod layout;
mod moves;
mod notes;
mod range;
mod remarks;
mod state;
mod view;

#[cfg(test)]
pub mod testing;

pub use comment::Comment;
pub use comparison::{ChangedFile, Comparison};
pub use files::label;
pub use layout::{Place, ReviewLayout, ReviewPosition};
pub use moves::ReviewTarget;
pub use notes::{ReviewNotes, TaskNotes};
pub use range::{Request, turn_words};
pub use state::{Answer, FoldKey, State};
pub use view::{With, file_at, list_area, view};

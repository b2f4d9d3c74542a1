//! What is shown of the selected task: its transcript, its diff, its description, what there is to know, its events.
//!
//! Owns which tab is open, the transcripts of the tasks looked at last, and the places in the other tabs; the diff is
//! the business of [`crate::ui::review`]. Only the
//! task that is looked at is ever laid out.

mod info;
mod pages;
mod state;
mod tails;
mod view;

pub use pages::page_rows;
pub use state::{State, Tab};
pub use tails::Tails;
pub use view::{With, head_note, split_foot, view};

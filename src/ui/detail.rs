//! The right side: transcript, diff, description, info and log of the selected task.
//!
//! Owns the open tab, the transcripts of recently shown tasks, and the scroll position of the other tabs. The diff
//! belongs to [`crate::ui::review`]. Only the selected task is ever laid out.

mod info;
mod pages;
mod state;
pub mod summary;
mod tails;
mod view;

pub use pages::page_rows;
pub use state::{State, Tab};
pub use tails::Tails;
pub use view::{With, head_note, split_foot, view};

//! The pane of everything that waits for the person, and answering in place.
//!
//! Owns which question is chosen, which is open, what has been written to each, and which were put aside. Never takes
//! the keys by itself: a new question changes what is seen, not where one is.

mod rows;
mod state;
mod view;

pub use rows::{brief, rows};
pub use state::State;
pub use view::{strip, view};

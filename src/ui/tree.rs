//! The task tree: visible tasks, order and selection.
//!
//! Owns folding, filter, order and selection. The selection is a task, not a row: it stays on its task however the
//! engine changes the tree.

mod rows;
mod state;
mod view;

pub use rows::TaskLine;
pub use state::{Sort, State};
pub use view::{list_height, view};

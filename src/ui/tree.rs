//! The pane of tasks: which are shown, in what order, and which is selected.
//!
//! Owns folding, filter, order and selection. The selection is a task, not a row: it stays on its task whatever the
//! engine does to the tree. Reads the world and never changes it.

mod rows;
mod state;
mod view;

pub use rows::Row;
pub use state::{Sort, State};
pub use view::{list_height, view};

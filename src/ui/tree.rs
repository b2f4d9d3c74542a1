//! The task tree: visible tasks, order and selection.
//!
//! Owns folding, filter, order and selection. The selection is a task, not a row: it stays on its task however the
//! engine changes the tree.

mod news;
mod rows;
mod second_line;
mod state;
mod strip;
mod view;

pub use news::{news, news_rows};
pub use rows::TaskLine;
pub use second_line::second_line;
pub use state::{Sort, State};
pub use strip::strip;
pub use view::{With, list_height, live_sign, row_at, view};

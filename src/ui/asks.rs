//! Open questions: the list of all, and the card that takes the place of the composer to answer one.
//!
//! Owns the selected and the opened question, a draft answer for each, and which were deferred. A new question never
//! takes the focus, and never the place of a message that is being written.

mod rows;
mod state;
mod view;

pub use rows::{answer_width, brief, card as card_rows, rows, with_count};
pub use state::State;
pub use view::{card, strip, view};

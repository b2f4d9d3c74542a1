//! The composer: a draft per task, message history, completion and the delivery mode.
//!
//! Invariants: nothing that arrives changes a draft; a message that could not be sent goes back into its draft. The
//! composer does not know the engine: it returns what to send.

pub mod commands;
mod complete;
mod state;
mod view;

pub use complete::{CompletionItem, Popup, Trigger};
pub use state::State;
pub use view::{View, draw_field, height, popup_area, text_width, view};

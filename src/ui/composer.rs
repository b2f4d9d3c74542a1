//! Where the person writes to the selected task: a draft for each task, what was said before, completion, and how a
//! message is to reach an agent at work.
//!
//! Invariants: nothing that was written is lost by anything that arrives; a message whose sending failed is back in
//! its draft. Knows no engine: it gives out what to send.

mod complete;
mod state;
mod view;

pub use complete::{Offer, Popup, Trigger};
pub use state::State;
pub use view::{View, height, popup_area, text_width, view};

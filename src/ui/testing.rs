//! Test support: a screen driven by keys, a project with tasks in every state, and sessions with every kind of entry.

mod fixture;
mod screen;
mod storm;
mod story;

pub use fixture::{Ids, event, events, snapshot, task};
pub use screen::Screen;
pub use story::story;

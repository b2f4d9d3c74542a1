//! A screen for tests: keys in, text out. A project with tasks in every state, and sessions with every kind of entry.

mod fixture;
mod screen;
mod storm;
mod story;

pub use fixture::{Ids, event, events, snapshot, task};
pub use screen::Screen;
pub use story::story;

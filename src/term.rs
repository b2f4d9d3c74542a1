//! The terminal: its modes, what a person does at it, when and how frames reach it, and what it can be told beside them.
//!
//! The only room that writes to the terminal. Invariants: whatever is switched on is switched off exactly once, on every
//! way out; reading ends before another program gets the terminal; drawing never waits for a slow line; without
//! a cause nothing wakes up. Knows no task, no theme and no binding: keys come out of it, frames go into it.

mod ansi;
mod canvas;
mod capabilities;
pub mod clipboard;
mod device;
pub mod editor;
mod frames;
mod guard;
mod hush;
mod input;
mod modes;
mod notify;
mod osc;
mod outlet;
mod panic;
mod query;
mod screen;
mod signals;
mod surroundings;
mod terminal;

pub use capabilities::Capabilities;
pub use frames::{FrameLimiter, Pace, Reason, When};
pub use hush::Hush;
pub use query::Rgb;
pub use signals::{Stop, StopSignal};
pub use surroundings::{Charset, Colours, Display, Emulator, Multiplexer, Surroundings};
#[cfg(test)]
pub use terminal::Staged;
pub use terminal::{ANSWER_PATIENCE, Event, Lent, Options, TermError, Terminal};

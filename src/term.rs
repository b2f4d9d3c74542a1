//! The terminal: modes, input, frames, and output beside the frames (title, notification, clipboard).
//!
//! The only module that writes to the terminal. Invariants: every mode that is switched on is switched off exactly
//! once, on every exit path; reading stops before another program gets the terminal; drawing never waits for a slow
//! terminal; no wake-up without a cause. It does not know tasks, themes or key bindings: it produces keys and takes
//! frames.

mod ansi;
mod capabilities;
pub mod clipboard;
mod device;
pub mod editor;
mod env;
mod frames;
mod guard;
mod hidden_input;
mod input;
mod modes;
mod notify;
mod osc;
mod panic;
mod query;
mod renderer;
mod screen;
mod signals;
mod terminal;
mod writer;

pub use capabilities::Capabilities;
pub use env::{Charset, Colours, Display, Emulator, Multiplexer, TerminalEnv};
pub use frames::{FrameLimiter, FrameRate, Reason, When};
pub use hidden_input::EchoOff;
pub use query::Rgb;
pub use signals::{Stop, StopSignal};
#[cfg(test)]
pub use terminal::FakeUser;
pub use terminal::{Event, HandOff, Options, REPLY_TIMEOUT, TermError, Terminal};

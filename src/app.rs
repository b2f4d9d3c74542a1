//! The loop that joins the terminal, the screen and the engine. Holds no rules and draws nothing.

pub mod demo;
mod drafts;
#[cfg(test)]
mod gallery_tests;
mod keeper;
mod latest;
mod loaders;
mod programs;
mod reviews;
pub mod screen;
pub mod setup;
mod themes;

pub use crate::term::{Charset, Colours, Emulator, Multiplexer, Stop, StopSignal, Surroundings};
pub use crate::ui::{ProjectChoice, Settings};
pub use loaders::draft_conflicts;
pub use programs::edit_files;
pub use screen::{End, Opened, Options, check_terminal, key_problems, open, surroundings};
pub use themes::missing_theme;

//! The event loop that connects the terminal, the UI and the engine. Contains no UI logic and draws nothing itself.

pub mod demo;
mod drafts;
#[cfg(test)]
mod gallery_tests;
mod latest_query;
mod loaders;
mod position;
mod reviews;
pub mod screen;
pub mod setup;
mod state_file;
mod themes;
mod user_programs;

pub use crate::term::{Charset, Colours, Emulator, Multiplexer, Stop, StopSignal, TerminalEnv};
pub use crate::ui::{EngineHost, ProjectChoice, Settings};
pub use loaders::draft_conflicts;
pub use screen::{End, Options, StartingScreen, check_terminal, key_problems, open, terminal_env};
pub use themes::{missing_theme, names as theme_names};
pub use user_programs::edit_files;

//! The loop that joins the terminal, the screen and the engine. Holds no rules and draws nothing.

mod chores;
pub mod demo;
mod drafts;
#[cfg(test)]
mod gallery_tests;
pub mod screen;
mod themes;

pub use crate::ui::{ProjectChoice, Setting, Settings};
pub use screen::{End, Options, check_terminal, run};

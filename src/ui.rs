//! The screen as model, update and view.
//!
//! [`update`] takes what happened and gives back what is to be done; [`view`] draws what is known. Both are pure: no
//! file, no clock, no terminal, no engine is touched in here. Panes own their state and never read each other's; what
//! concerns two of them is decided in `update`. Nothing that arrives from outside ever moves the focus.

pub mod action;
pub mod docs;
pub mod effect;
pub mod field;
pub mod keymap;
pub mod layout;
pub mod msg;
pub mod review;
pub mod setup;
pub mod toast;
pub mod words;
pub mod world;

mod asks;
mod composer;
mod detail;
mod header;
mod hints;
mod layer;
mod list;
mod model;
mod outcome;
mod pace;
mod paint;
mod plight;
mod tabs;
mod transcript;
mod tree;
mod update;
mod view;
mod waiting;

#[cfg(test)]
pub mod testing;

pub use effect::{Effect, Purpose, Setting, Tag};
pub use model::{Model, Settings, Setup};
pub use msg::{Cx, Msg, ProjectChoice, Reaction, Redraw};
pub use update::update;
pub use view::view;
pub use waiting::view_waiting;

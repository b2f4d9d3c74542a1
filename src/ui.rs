//! The screen as model, update and view.
//!
//! [`update`] takes a message and returns effects; [`view`] draws the model. Both are pure: they touch no file, clock,
//! terminal or engine. Panes own their state and never read each other's; `update` coordinates them. A message from
//! outside never moves the focus.

pub mod action;
pub mod docs;
pub mod effect;
pub mod field;
pub mod keymap;
pub mod labels;
pub mod layout;
pub mod msg;
pub mod position;
pub mod project_state;
pub mod review;
pub mod setup;
pub mod toast;

mod advice;
mod asks;
mod composer;
mod detail;
mod draw;
mod header;
mod hints;
mod layer;
mod list;
mod live_lines;
mod model;
mod outcome;
mod splash;
mod stuck;
mod tabs;
mod token_rate;
mod transcript;
mod tree;
mod update;
mod view;

#[cfg(test)]
pub mod testing;

pub use effect::{Drafts, EditPurpose, Effect, Setting, Tag};
pub use model::{EngineHost, Model, Settings, Setup};
pub use msg::{Cx, HostProjects, Msg, ProjectChoice, Reaction, Redraw};
pub use splash::view_splash;
pub use update::update;
pub use view::view;

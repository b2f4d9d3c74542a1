//! The domain model as plain data: events and their folds, messages, tasks and their tree, Asks, usage.
//!
//! No I/O, no waiting, no clock. The type decides whether something is stored: a [`event::Body`] can be appended to a
//! session, a [`live::Live`] can only be displayed.

pub mod address;
pub mod ask;
pub mod backend;
pub mod client;
pub mod content;
pub mod control;
pub mod conversation;
pub mod diff;
pub mod event;
pub mod fold;
pub mod fork;
pub mod hook;
pub mod live;
pub mod live_turn;
pub mod message;
pub mod project;
pub mod render;
pub mod resume;
pub mod run;
pub mod search;
pub mod stated_cwd;
pub mod task;
pub mod tool;
pub mod tool_names;
pub mod tool_words;
pub mod tree;
pub mod usage;
pub mod work;

pub use ask::{Answer, Ask, AskKind};
pub use client::{ClientKind, ClientView};
pub use content::{BlobId, BlobRef, Content, Image};
pub use event::{Body, Event};
pub use fold::SessionState;
pub use live::Live;
pub use message::{Message, MessageSource};
pub use project::Project;
pub use task::{Status, TaskNode, TaskNumber};
pub use tool::ToolSpec;
pub use tree::Tree;
pub use usage::Usage;

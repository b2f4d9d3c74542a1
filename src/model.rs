//! What Matrix talks about, as plain data: events and their folds, messages, tasks and their tree, Asks, usage.
//!
//! Nothing here does I/O, waits, or asks for the time. Whether something is kept is decided by its type: a
//! [`event::Body`] can be appended to a session, a [`live::Live`] can only be shown.

pub mod ask;
pub mod content;
pub mod control;
pub mod conversation;
pub mod diff;
pub mod event;
pub mod fold;
pub mod fork;
pub mod live;
pub mod message;
pub mod project;
pub mod render;
pub mod resume;
pub mod run;
pub mod search;
pub mod task;
pub mod told_folder;
pub mod tool;
pub mod tool_names;
pub mod tree;
pub mod usage;
pub mod work;

pub use ask::{Answer, Ask, AskKind};
pub use content::{BlobId, BlobRef, Content, Image};
pub use event::{Body, Event};
pub use fold::SessionState;
pub use live::Live;
pub use message::{Message, Source};
pub use project::Project;
pub use task::{Status, TaskNode};
pub use tool::ToolSpec;
pub use tree::Tree;
pub use usage::Usage;

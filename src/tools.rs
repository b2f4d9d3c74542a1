//! What an agent can do: one file per tool, a registry, and [`execute`], the only way any of them runs.
//!
//! Every call takes the same path: looked up, parsed into a typed input, gated, run under the cancellation tokens,
//! bounded. Tools from elsewhere (orchestration, external servers) implement [`Tool`] and join the same registry, so
//! they take it too. Knows no provider and draws nothing.

mod background;
mod bash;
mod blobs;
mod bound;
mod context;
pub mod docs;
mod edit_file;
mod execute;
pub mod fence;
mod foreground;
mod gate;
mod input;
mod jobs;
mod list_files;
mod live;
pub mod mcp;
mod order;
pub mod picture;
mod place;
mod read_file;
mod read_tracker;
mod registry;
pub mod replay;
mod reply;
mod search;
mod spelling;
mod tool;
mod walk;
mod write_file;

pub use crate::model::tool_names as names;
pub use blobs::BlobSink;
pub use context::{Context, Folders, Limits, Tokens};
pub use execute::execute;
pub use fence::Fence;
pub use foreground::Foreground;
pub use gate::{Gate, Open, Permission, Request};
pub use input::InputError;
pub use jobs::{Completion, Jobs, Report, report};
pub use live::LiveSink;
pub use order::predecessors;
pub use place::Cwd;
pub use read_tracker::ReadTracker;
pub use registry::{DuplicateTool, Registry};
pub use reply::{Control, Reply};
pub use tool::{Call, Effect, Handler, Prepared, Tool, Typed};

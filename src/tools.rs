//! The tools of agents: one file per tool, a registry, and [`execute`], the only way to run one.
//!
//! Every call is looked up, parsed into a typed input, checked for permission, run under the cancellation tokens, and
//! its reply is bounded. Tools of other modules (orchestration, external servers) implement [`Tool`] and join the
//! same registry. Knows no provider and draws nothing.

mod background;
mod bash;
mod blobs;
mod bound;
mod context;
mod cwd;
pub mod docs;
mod edit_file;
mod execute;
pub mod fence;
mod foreground;
mod gate;
mod hooks;
mod input;
mod jobs;
mod list_files;
mod live;
pub mod mcp;
pub mod mcp_server;
mod order;
mod path_display;
mod permission;
pub mod picture;
mod read_file;
mod read_tracker;
mod registry;
pub mod replay;
mod reply;
mod search;
mod tool;
mod walk;
mod write_file;

pub use crate::model::tool_names as names;
pub use blobs::BlobSink;
pub use context::{CancelTokens, Folders, Limits, ToolContext};
pub use cwd::Cwd;
pub use execute::execute;
pub use fence::PathPolicy;
pub use foreground::Foreground;
pub use gate::{AllowAll, Gate, GateRequest, Permission};
pub use hooks::HookOpinion;
pub use input::InputError;
pub use jobs::{BackgroundJobs, Completion, OutputReport, report};
pub use live::LiveSink;
pub use order::predecessors;
pub use permission::{ActivePolicy, PolicySource, RuleGate, judge_again};
pub use read_tracker::ReadTracker;
pub use registry::{DuplicateTool, Registry};
pub use reply::{ControlRequest, Reply};
pub use tool::{Call, Handler, Prepared, Tool, ToolEffect, TypedTool};

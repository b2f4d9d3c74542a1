//! Lifecycle hooks: commands and addresses of the user that are called when something happens in an agent's life.
//!
//! Speaks Claude Code's protocol: JSON in, exit code and JSON out. Decides which hooks an event calls
//! ([`set::HookSet`]), what they get ([`tool_view`]), what their answers mean ([`answer`]) and what several answers mean
//! together ([`mod@join`]), all as pure functions, and calls them ([`TaskHooks`]). Does not know the engine: a [`HookHost`]
//! says which hooks there are now and keeps the record of what ran. Not to be confused with git's hooks and with the
//! setup hook of worktrees.

pub mod answer;
mod call;
mod condition;
pub mod join;
pub mod scripts;
pub mod set;
mod task_hooks;
pub mod tool_view;

pub use answer::{Answer, Ending, Response};
pub use call::Reach;
pub use join::{Joined, Verdict, join};
pub use set::{Hook, HookSet, HttpPolicy};
pub use task_hooks::{Firing, HookHost, HookSite, NoHooks, TaskHooks, ToolCall};
pub use tool_view::ToolView;

//! The system prompt of the built-in agent, for its runs and for those who look at it.

use crate::agent::prompt;
use crate::config::profile::SystemPrompt as ProfileSystem;
use crate::model::event::SystemPrompt;

/// Returns what an agent is told about its position in the tree.
pub fn place(is_root: bool, may_delegate: bool) -> &'static str {
    match (is_root, may_delegate) {
        (true, _) => include_str!("../../../../assets/prompts/root.md"),
        (false, true) => include_str!("../../../../assets/prompts/task.md"),
        (false, false) => include_str!("../../../../assets/prompts/leaf.md"),
    }
}

/// Returns the system prompt of a profile at that position.
pub fn system(kind: ProfileSystem, place: &str, own: &str) -> SystemPrompt {
    prompt::system(kind, place, own)
}

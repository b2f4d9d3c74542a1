//! Words why a task is stuck and what the user can do. Shown above the composer, because a message usually helps.
//!
//! Covers only what does not resolve by itself and is not an Ask.

use crate::base::{TaskId, text};
use crate::engine::snapshot::{TaskView, Wait};
use crate::ui::project_state::ProjectState;

/// The maximum length of a quoted title.
const TITLE: usize = 32;

/// Returns why a task is stuck, if it is. `interrupt` is the key that interrupts a turn.
pub fn reason(task: &TaskView, project: &ProjectState, interrupt: &str) -> Option<String> {
    if !task.asks.is_empty() {
        return None;
    }
    match task.waits.as_ref()? {
        Wait::Stalled { chain, .. } => Some(stalled(task, chain, project)),
        Wait::Silence { .. } => Some(format!(
            "no response: the model has sent nothing for a while. Wait, or press {interrupt} to interrupt."
        )),
        Wait::Slot { .. } | Wait::Setup { .. } | Wait::Task { .. } | Wait::Process { .. } => None,
    }
}

fn stalled(task: &TaskView, chain: &[TaskId], project: &ProjectState) -> String {
    let Some(last) = chain.last().copied().filter(|last| *last != task.node.id) else {
        return "stuck: the agent stopped without calling done. Send a message to continue.".to_owned();
    };
    let other = text::headline(&project.title(last), TITLE);
    if project.ancestors(task.node.id).any(|above| above == last) {
        return format!("stuck: waiting for a reply from \"{other}\". Send a message to either to continue.");
    }
    format!(
        "stuck: waiting for \"{other}\", which stopped without calling done. \
         Send that task a message to continue."
    )
}

#[cfg(test)]
#[path = "stuck_tests.rs"]
mod tests;

//! Words why a task is stuck and what the user can do. Shown above the composer, because a message usually helps.
//!
//! Covers only what does not resolve by itself and is not an Ask.

use crate::base::{TaskId, text};
use crate::engine::snapshot::{TaskView, Wait};
use crate::ui::action::Action;
use crate::ui::project_state::ProjectState;

/// The maximum length of a quoted title.
const TITLE: usize = 32;

/// Returns why a task is stuck and what to do, if it is. `key` names the key of an action.
pub fn reason(task: &TaskView, project: &ProjectState, key: impl Fn(Action) -> String) -> Option<String> {
    if !task.asks.is_empty() {
        return None;
    }
    match task.waits.as_ref()? {
        Wait::Stalled { chain, .. } => {
            let help = match (chain.get(1), owes_reply(task, project)) {
                (None, _) => format!("Send a message to continue, or press {} to close it.", key(Action::CloseTask)),
                (Some(_), Some(_)) => "Send a message to either to continue.".to_owned(),
                (Some(_), None) => "Send that task a message to continue.".to_owned(),
            };
            Some(format!("stuck: {}. {help}", brief(task, project)?))
        }
        Wait::Silence { .. } => Some(format!(
            "no response: the model has sent nothing for a while. Wait, or press {} to interrupt.",
            key(Action::Interrupt)
        )),
        Wait::Slot { .. } | Wait::Setup { .. } | Wait::Task { .. } | Wait::Process { .. } | Wait::Idle => None,
    }
}

/// Returns why a stalled task cannot continue, in one line.
pub fn brief(task: &TaskView, project: &ProjectState) -> Option<String> {
    let Some(Wait::Stalled { chain, .. }) = &task.waits else { return None };
    let title = |id: TaskId| text::headline(&project.title(id), TITLE);
    Some(match (chain.get(1), owes_reply(task, project)) {
        (Some(_), Some(above)) => format!("waiting for a reply from \"{}\"", title(above)),
        (Some(below), None) => format!("waiting for \"{}\", which was stopped", title(*below)),
        (None, _) => match task.node.parent {
            Some(above) => format!("stopped without calling done, and \"{}\" waits for it", title(above)),
            None => "stopped without calling done".to_owned(),
        },
    })
}

/// Returns the ancestor whose reply a stalled task waits for.
fn owes_reply(task: &TaskView, project: &ProjectState) -> Option<TaskId> {
    let Some(Wait::Stalled { chain, .. }) = &task.waits else { return None };
    let other = *chain.get(1)?;
    project.ancestors(task.node.id).any(|above| above == other).then_some(other)
}

#[cfg(test)]
#[path = "stuck_tests.rs"]
mod tests;

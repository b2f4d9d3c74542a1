//! What the log says about an input of the machine: which, and of which task.

use crate::base::TaskId;
use crate::base::trace::Variant;
use crate::engine::machine::{Input, Timer};

/// Returns the task that an input is about, as far as it says.
pub(super) fn task_of(input: &Input) -> Option<TaskId> {
    match input {
        Input::Observed { task, .. }
        | Input::Live { task, .. }
        | Input::Launching { task, .. }
        | Input::Launched { task, .. }
        | Input::LaunchFailed { task, .. }
        | Input::RunOver { task, .. }
        | Input::Round { task, .. }
        | Input::Timer {
            timer: Timer::AskDeadline { task, .. } | Timer::TryAgain { task } | Timer::Silence { task },
        } => Some(*task),
        _ => None,
    }
}

/// Returns the name of an input, and of what it carries.
pub(super) fn name_of(input: &Input) -> String {
    match input {
        Input::Observed { event, .. } => format!("Observed {}", event.body.kind()),
        Input::Command { command, .. } => format!("Command {}", Variant(command)),
        other => Variant(other).to_string(),
    }
}

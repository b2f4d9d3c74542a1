//! Describes machine inputs for the log.

use crate::base::TaskId;
use crate::base::trace::Variant;
use crate::engine::machine::{Input, Timer};

/// Returns the task that an input is about, if it names one.
pub(super) fn task_of(input: &Input) -> Option<TaskId> {
    match input {
        Input::Observed { task, .. }
        | Input::Live { task, .. }
        | Input::Launching { task, .. }
        | Input::Launched { task, .. }
        | Input::LaunchFailed { task, .. }
        | Input::RunOver { task, .. }
        | Input::RecurringDue { task, .. }
        | Input::Timer { timer: Timer::AskDeadline { task, .. } | Timer::Retry { task } | Timer::Silence { task } } => {
            Some(*task)
        }
        _ => None,
    }
}

/// Returns the name of an input, with the kind of its event or command.
pub(super) fn name_of(input: &Input) -> String {
    match input {
        Input::Observed { event, .. } => format!("Observed {}", event.body.kind()),
        Input::Command { command, .. } => format!("Command {}", Variant(command)),
        other => Variant(other).to_string(),
    }
}

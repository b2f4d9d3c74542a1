//! Where the user was on the screen, kept across restarts: the selected task, and how far each transcript was read.

use serde::{Deserialize, Serialize};

use crate::base::{EventId, TaskId};
use crate::ui::project_state::ProjectState;

/// The position in the whole screen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScreenPosition {
    /// The selected task, then its ancestors: if it is gone, the nearest one left is selected.
    pub path: Vec<TaskId>,
    /// Transcripts that do not follow their end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reading: Vec<(TaskId, ReadingPosition)>,
}

/// A position in a transcript that does not depend on the width of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadingPosition {
    /// The event of the topmost visible entry.
    pub event: EventId,
    /// The topmost visible row of it.
    pub row: isize,
}

/// Returns a task and its ancestors.
pub fn path(project: &ProjectState, task: TaskId) -> Vec<TaskId> {
    std::iter::once(task).chain(project.ancestors(task)).collect()
}

impl ScreenPosition {
    /// Returns the task to select: the selected one, or the nearest ancestor that is left.
    pub fn task(&self, project: &ProjectState) -> Option<TaskId> {
        self.path.iter().copied().find(|task| project.task(*task).is_some())
    }
}

#[cfg(test)]
#[path = "position_tests.rs"]
mod tests;

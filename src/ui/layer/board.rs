//! Boards: all agents by what they need, or the settings.

use crate::base::TaskId;
use crate::engine::snapshot::{TaskView, Wait};
use crate::model::Status;
use crate::ui::list::Cursor;
use crate::ui::project_state::ProjectState;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardKind {
    Agents,
    Settings,
}

/// A column of the board of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Column {
    NeedsYou,
    Working,
    Finished,
}

impl Column {
    pub const ALL: [Self; 3] = [Self::NeedsYou, Self::Working, Self::Finished];

    pub fn title(self) -> &'static str {
        match self {
            Self::NeedsYou => "Needs you",
            Self::Working => "Working",
            Self::Finished => "Finished",
        }
    }

    /// Returns the column of a task, or `None` if nothing happens with it.
    pub fn of(task: &TaskView) -> Option<Self> {
        let waits = task.waits.as_ref().is_some_and(|wait| *wait != Wait::Idle);
        match task.node.status {
            Status::Closed => None,
            _ if !task.asks.is_empty() || task.is_stuck() => Some(Self::NeedsYou),
            _ if task.is_working() || waits || task.retry.is_some() => Some(Self::Working),
            Status::Failed => Some(Self::NeedsYou),
            Status::Passed => Some(Self::Finished),
            Status::Draft | Status::Pending | Status::InProgress => None,
        }
    }
}

/// A board and its selected line. The lines are read from the project state and settings when it is drawn.
#[derive(Clone, Debug)]
pub struct Board {
    pub kind: BoardKind,
    pub cursor: Cursor,
    pub len: usize,
    /// The tasks of the lines, column by column, if lines are tasks.
    pub tasks: Vec<(Column, TaskId)>,
}

impl Board {
    pub fn new(kind: BoardKind) -> Self {
        Self { kind, cursor: Cursor::default(), len: 0, tasks: Vec::new() }
    }

    pub fn step(&mut self, by: isize) {
        self.cursor.step(by, self.len);
    }

    /// Sorts the tasks into columns. The selection stays on its task.
    pub fn sync(&mut self, project: &ProjectState) {
        let chosen = self.chosen();
        let mut tasks: Vec<_> =
            project.walk(project.root()).filter_map(|id| Some((Column::of(project.task(id)?)?, id))).collect();
        // Within a column the order of the tree is kept, except that those at work come first.
        tasks.sort_by_key(|(column, id)| {
            let is_idle = !project.task(*id).is_some_and(TaskView::is_working);
            (*column, *column == Column::Working && is_idle)
        });
        self.tasks = tasks;
        self.len = self.tasks.len();
        if let Some(place) = self.tasks.iter().position(|(_, id)| Some(*id) == chosen) {
            self.cursor.chosen = place;
        }
    }

    pub fn chosen(&self) -> Option<TaskId> {
        self.tasks.get(self.cursor.chosen).map(|(_, id)| *id)
    }

    /// Selects the first task of the next column that has one.
    pub fn step_column(&mut self, by: isize) {
        let Some((here, _)) = self.tasks.get(self.cursor.chosen) else { return };
        let is_there = |column: &Column| if by > 0 { column > here } else { column < here };
        let columns = self.tasks.iter().map(|(column, _)| *column).filter(is_there);
        let next = if by > 0 { columns.min() } else { columns.max() };
        if let Some(place) = next.and_then(|next| self.tasks.iter().position(|(column, _)| *column == next)) {
            self.cursor.chosen = place;
        }
    }
}

#[cfg(test)]
#[path = "board_tests.rs"]
mod tests;

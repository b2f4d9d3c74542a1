//! Boards: a table over the whole screen. All agents at work, or the settings that people change.

use crate::base::TaskId;
use crate::ui::list::Cursor;

/// Which board it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardKind {
    Agents,
    Settings,
}

/// A board and the chosen line of it. What the lines are is read from the world and the settings when it is drawn.
#[derive(Clone, Debug)]
pub struct Board {
    pub kind: BoardKind,
    pub cursor: Cursor,
    pub len: usize,
    /// The tasks of the lines, where lines are tasks.
    pub tasks: Vec<TaskId>,
}

impl Board {
    pub fn new(kind: BoardKind) -> Self {
        Self { kind, cursor: Cursor::default(), len: 0, tasks: Vec::new() }
    }

    pub fn step(&mut self, by: isize) {
        self.cursor.step(by, self.len);
    }
}

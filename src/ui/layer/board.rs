//! Boards: full-screen tables of active agents or settings.

use crate::base::TaskId;
use crate::ui::list::Cursor;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardKind {
    Agents,
    Settings,
}

/// A board and its selected line. The lines are read from the project state and settings when it is drawn.
#[derive(Clone, Debug)]
pub struct Board {
    pub kind: BoardKind,
    pub cursor: Cursor,
    pub len: usize,
    /// The tasks of the lines, if lines are tasks.
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

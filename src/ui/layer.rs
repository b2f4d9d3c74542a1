//! What lies above the panes: a list to choose from, a line to write, a question with yes and no, a board, what a merge
//! would do, the turns to go back to.
//!
//! Layers stand on each other; the uppermost has the keys. A layer says what was decided and is then gone; what that
//! means for the rest of the screen is decided by `update`.

mod board;
mod chooser;
mod find;
mod find_view;
mod merge;
mod merge_view;
mod rewind;
mod rewind_view;
mod view;

pub use board::{Board, BoardKind};
pub use chooser::{Chooser, Item, Pick};
pub use find::Find;
pub use merge::Merge;
pub use rewind::{Rewind, words as rewind_words};
pub use view::{Hit, hit, view};

use crate::base::{TaskId, TurnId};
use crate::engine::command::Command;
use crate::ui::action::Context;
use crate::ui::effect::Effect;
use crate::ui::field::Field;

/// One of them.
#[derive(Clone, Debug)]
pub enum Layer {
    Choose(Chooser),
    Find(Box<Find>),
    Prompt(Prompt),
    Confirm(Confirm),
    Board(Board),
    Merge(Box<Merge>),
    Rewind(Box<Rewind>),
}

/// One line to be written.
#[derive(Clone, Debug)]
pub struct Prompt {
    pub title: String,
    /// What stands there while nothing is written.
    pub placeholder: &'static str,
    pub field: Field,
    pub purpose: PromptFor,
    /// What was wrong with what was written.
    pub problem: Option<String>,
    /// For a new task: who is to do the work. Nothing: whoever usually does.
    pub profile: Option<String>,
}

/// What a line is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptFor {
    NewTask {
        parent: TaskId,
        before: Option<TaskId>,
    },
    Rename(TaskId),
    Budget(TaskId),
    ProjectBudget,
    /// The title of a task that goes on from another after a turn.
    Fork {
        task: TaskId,
        at: Option<TurnId>,
    },
}

/// Something that is not done without a yes.
#[derive(Clone, Debug)]
pub struct Confirm {
    pub title: String,
    /// What would happen, one thing a line.
    pub lines: Vec<String>,
    pub deed: Deed,
}

/// What a yes sets off.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    Command(Command),
    Quit,
    /// Leave this project for something else.
    Leave(Effect),
}

impl Layer {
    pub fn contexts(&self) -> &'static [Context] {
        match self {
            Self::Choose(_) | Self::Find(_) => &[Context::List, Context::Text],
            Self::Prompt(_) => &[Context::Prompt, Context::Text],
            Self::Confirm(_) => &[Context::Confirm],
            Self::Board(_) => &[Context::Board],
            Self::Merge(_) => &[Context::Merge],
            Self::Rewind(_) => &[Context::Rewind],
        }
    }

    /// Tells whether it is the list of models.
    pub fn is_of_models(&self) -> bool {
        matches!(self, Self::Choose(chooser) if chooser.title == "model")
    }

    /// Tells whether it is not seen below another one.
    pub fn gives_way(&self) -> bool {
        matches!(self, Self::Board(board) if board.kind == BoardKind::Settings)
    }

    /// Returns the text that typing goes to.
    pub fn field(&mut self) -> Option<&mut Field> {
        match self {
            Self::Choose(chooser) => Some(&mut chooser.query),
            Self::Find(find) => Some(&mut find.field),
            Self::Prompt(prompt) => Some(&mut prompt.field),
            Self::Confirm(_) | Self::Board(_) | Self::Merge(_) | Self::Rewind(_) => None,
        }
    }

    /// Must be told when that text has changed.
    pub fn written(&mut self) {
        match self {
            Self::Choose(chooser) => chooser.refine(),
            Self::Prompt(prompt) => prompt.problem = None,
            // What is looked for is asked outside, by who has the clock.
            Self::Find(_) | Self::Confirm(_) | Self::Board(_) | Self::Merge(_) | Self::Rewind(_) => {}
        }
    }

    pub fn step(&mut self, by: isize) {
        match self {
            Self::Choose(chooser) => chooser.step(by),
            Self::Find(find) => {
                let len = find.hits().len();
                find.cursor.step(by, len);
            }
            Self::Board(board) => board.step(by),
            Self::Merge(merge) => merge.step(by.signum()),
            Self::Rewind(picker) => picker.step(by),
            Self::Prompt(_) | Self::Confirm(_) => {}
        }
    }
}

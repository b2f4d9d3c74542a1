//! Layers above the panes: lists, prompts, confirmations, boards, and the merge, rewind and search dialogs.
//!
//! Layers form a stack; the topmost has the keys. A layer reports the user's decision and closes; `update` decides
//! what that means for the rest of the screen.

mod board;
mod board_view;
mod brief;
mod brief_view;
mod chooser;
mod find;
mod find_view;
mod merge;
mod merge_view;
mod rewind;
mod rewind_view;
mod view;

pub use board::{Board, BoardKind};
pub use brief::{Brief, UnsentBrief};
pub use brief_view::text_width as brief_width;
pub use chooser::{Chooser, ChooserAction, Item};
pub use find::Find;
pub use merge::Merge;
pub use rewind::{RewindDialog, scope_label as rewind_scope_label};
pub use view::{LayerHit, hit, view};

use crate::base::{TaskId, TurnId};
use crate::engine::command::Command;
use crate::ui::action::Context;
use crate::ui::effect::Effect;
use crate::ui::field::Field;

#[derive(Clone, Debug)]
pub enum Layer {
    Choose(Chooser),
    Search(Box<Find>),
    Prompt(Prompt),
    Brief(Box<Brief>),
    Confirm(Confirm),
    Board(Board),
    Merge(Box<Merge>),
    Rewind(Box<RewindDialog>),
}

/// A one-line prompt.
#[derive(Clone, Debug)]
pub struct Prompt {
    pub title: String,
    pub placeholder: &'static str,
    pub field: Field,
    pub purpose: PromptPurpose,
    /// The problem with the input.
    pub problem: Option<String>,
}

/// The purpose of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptPurpose {
    Rename(TaskId),
    Budget(TaskId),
    ProjectBudget,
    /// The title of a fork.
    Fork {
        task: TaskId,
        at: Option<TurnId>,
    },
}

/// A yes/no question before an action.
#[derive(Clone, Debug)]
pub struct Confirm {
    pub title: String,
    /// The consequences, one per line.
    pub lines: Vec<String>,
    pub action: ConfirmedAction,
}

/// The action to run on yes.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfirmedAction {
    Command(Command),
    Quit,
    /// Leaves this project.
    Leave(Effect),
    /// Leaves, and lets the user choose what becomes of the agents.
    KeepOrStop(Effect),
    /// Interrupts the turns for which a hand-over waits.
    Interrupt,
}

impl Confirm {
    /// Returns true if Enter confirms. Where work would be removed, it cancels.
    pub fn is_yes_default(&self) -> bool {
        !matches!(self.action, ConfirmedAction::Command(Command::Delete { .. } | Command::Reset { .. }))
    }
}

impl Layer {
    pub fn contexts(&self) -> &'static [Context] {
        match self {
            Self::Choose(_) | Self::Search(_) => &[Context::List, Context::Text],
            Self::Prompt(_) => &[Context::Prompt, Context::Text],
            Self::Brief(_) => &[Context::Brief, Context::Text],
            Self::Confirm(Confirm { action: ConfirmedAction::KeepOrStop(_), .. }) => &[Context::Leave],
            Self::Confirm(Confirm { action: ConfirmedAction::Interrupt, .. }) => &[Context::HandOver],
            Self::Confirm(_) => &[Context::Confirm],
            Self::Board(_) => &[Context::Board],
            Self::Merge(_) => &[Context::Merge],
            Self::Rewind(_) => &[Context::Rewind],
        }
    }

    pub fn is_project_list(&self) -> bool {
        matches!(self, Self::Choose(chooser) if chooser.title == "projects")
    }

    pub fn is_model_list(&self) -> bool {
        matches!(self, Self::Choose(chooser) if chooser.title == "model")
    }

    /// Returns true if the layer is hidden while another one is above it.
    pub fn is_hidden_below(&self) -> bool {
        matches!(self, Self::Board(board) if board.kind == BoardKind::Settings)
    }

    /// Returns the text input of the layer, if it has one.
    pub fn field(&mut self) -> Option<&mut Field> {
        match self {
            Self::Choose(chooser) => Some(&mut chooser.query),
            Self::Search(find) => Some(&mut find.field),
            Self::Prompt(prompt) => Some(&mut prompt.field),
            Self::Brief(brief) => Some(&mut brief.field),
            Self::Confirm(_) | Self::Board(_) | Self::Merge(_) | Self::Rewind(_) => None,
        }
    }

    /// Called after the text input has changed.
    pub fn on_text_changed(&mut self) {
        match self {
            Self::Choose(chooser) => chooser.refine(),
            Self::Prompt(prompt) => prompt.problem = None,
            Self::Brief(brief) => brief.problem = None,
            // The caller starts the search: it has the clock.
            Self::Search(_) | Self::Confirm(_) | Self::Board(_) | Self::Merge(_) | Self::Rewind(_) => {}
        }
    }

    pub fn step(&mut self, by: isize) {
        match self {
            Self::Choose(chooser) => chooser.step(by),
            Self::Search(find) => {
                let len = find.hits().len();
                find.cursor.step(by, len);
            }
            Self::Board(board) => board.step(by),
            Self::Merge(merge) => merge.step(by.signum()),
            Self::Rewind(picker) => picker.step(by),
            Self::Prompt(_) | Self::Brief(_) | Self::Confirm(_) => {}
        }
    }
}

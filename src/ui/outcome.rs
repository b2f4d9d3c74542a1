//! Words the outcome of a command, naming the user's own keys.

use crate::engine::command::{Outcome, UndoAction, sentence};
use crate::ui::action::Action;
use crate::ui::model::Model;

/// Returns a sentence about an outcome. `None` if the screen shows it anyway or the caller words it.
pub(super) fn sentence(model: &Model, outcome: &Outcome) -> Option<String> {
    let key = |way| {
        model.key_of(match way {
            UndoAction::UndoMerge(_) => Action::UndoMerge,
            UndoAction::CancelMerge(_) => Action::CancelMerge,
            UndoAction::Redo(_) => Action::Redo,
            UndoAction::Restore(_) => Action::RestoreTask,
        })
    };
    sentence::sentence(outcome, &key)
}

//! What a command came to, in the words of the screen: with the keys that this user has.

use crate::engine::command::{Outcome, WayBack, words};
use crate::ui::action::Action;
use crate::ui::model::Model;

/// Returns what should be known of an outcome. `None` if the screen shows it anyway, or whoever gave the command has words
/// for it.
pub(super) fn sentence(model: &Model, outcome: &Outcome) -> Option<String> {
    let key = |way| {
        model.key_of(match way {
            WayBack::UndoMerge(_) => Action::UndoMerge,
            WayBack::CancelMerge(_) => Action::CancelMerge,
            WayBack::Redo(_) => Action::Redo,
            WayBack::Restore(_) => Action::RestoreTask,
        })
    };
    words::sentence(outcome, &key)
}

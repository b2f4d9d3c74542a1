//! Permission modes of tasks: a list to choose from, and a key that goes to the next one.

use crate::base::TaskId;
use crate::engine::command::{Command, TaskChanges};
use crate::engine::update::Level;
use crate::permit::{Bypass, Mode};
use crate::ui::labels;
use crate::ui::layer::{ChooserAction, Item};
use crate::ui::model::{Model, PendingReply};
use crate::ui::msg::Cx;
use crate::ui::update::{Out, pickers};

/// The modes that the key goes through, after the project's own.
const CYCLE: [Mode; 5] = [Mode::Ask, Mode::Edits, Mode::Plan, Mode::Delegate, Mode::Refuse];

/// Gives the selected task the next mode.
pub fn cycle(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    let Some(node) = model.project.node(task) else { return };
    let bypass = (model.project.info.bypass == Bypass::Allowed).then_some(Mode::Bypass);
    let modes: Vec<Option<Mode>> = std::iter::once(None).chain(CYCLE.into_iter().chain(bypass).map(Some)).collect();
    let at = modes.iter().position(|mode| *mode == node.mode).unwrap_or(0);
    let next = modes.get((at + 1) % modes.len()).copied().flatten();
    set(model, task, next, cx, out);
}

/// Gives a task a mode.
pub fn set(model: &mut Model, task: TaskId, mode: Option<Mode>, cx: &Cx<'_>, out: &mut Out) {
    let words = match mode {
        Some(mode) => format!("Mode {mode}: {}", labels::mode(mode)),
        None => "Mode of the project and the profile".to_owned(),
    };
    let changes = TaskChanges { mode: Some(mode), ..TaskChanges::default() };
    model.toasts.say(Level::Info, words, cx.now);
    out.command(model, Command::Update { task, changes }, PendingReply::Plain(None), cx);
}

/// Lists the modes with what they mean.
pub fn open(model: &mut Model, task: TaskId) {
    let now = model.project.node(task).and_then(|node| node.mode);
    let item = |mode: Option<Mode>, label: String, note: &str| Item {
        label: if mode == now { format!("{label}  (now)") } else { label },
        also: String::new(),
        note: note.to_owned(),
        group: None,
        pick: ChooserAction::Mode(task, mode),
    };
    let own = item(None, "project".to_owned(), "the mode of the profile and the settings");
    let modes = Mode::CHOICES.into_iter().map(|mode| item(Some(mode), mode.to_string(), labels::mode(mode)));
    let items = std::iter::once(own).chain(modes).collect();
    pickers::choose(model, "mode", "what may the agent do without asking?", items);
}

#[cfg(test)]
#[path = "modes_tests.rs"]
mod tests;

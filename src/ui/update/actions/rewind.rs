//! Actions on rewinds: rewind, redo, fork, edit and resend.

use crate::base::{Fault, MessageId, TaskId, TurnId};
use crate::engine::command::Command;
use crate::engine::review::{DiffRange, RewindPreview, RewindScope, TurnView};
use crate::engine::update::Level;
use crate::ui::action::Action;
use crate::ui::detail::Tab;
use crate::ui::effect::Effect;
use crate::ui::layer::{Confirm, ConfirmedAction, Layer, PromptPurpose, RewindDialog, rewind_scope_label};
use crate::ui::layout::Pane;
use crate::ui::model::Model;
use crate::ui::msg::Cx;
use crate::ui::update::{Out, actions};

pub fn act(model: &mut Model, action: Action, cx: &Cx<'_>, out: &mut Out) {
    match action {
        Action::Rewind => open(model, cx, out),
        Action::RewindWhat => {
            if let Some(Layer::Rewind(picker)) = model.layers.last_mut() {
                picker.next_extent();
            }
        }
        Action::GoBack => confirm(model, cx),
        Action::Redo => redo(model, cx),
        Action::Fork => fork(model),
        Action::EditResend => resend(model, cx, out),
        _ => {}
    }
}

fn open(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    let from = if model.focus == Pane::Detail { actions::detail::current_event(model, cx) } else { None };
    model.layers.push(Layer::Rewind(Box::new(RewindDialog::new(task, from))));
    out.effect(Effect::LoadTurns { task });
}

fn picker(model: &mut Model, task: TaskId) -> Option<&mut RewindDialog> {
    model.layers.iter_mut().find_map(|layer| match layer {
        Layer::Rewind(picker) if picker.task == task => Some(&mut **picker),
        _ => None,
    })
}

/// Takes in the turns. Returns true if the rewind dialog waited for them.
pub fn on_turns(model: &mut Model, task: TaskId, turns: &Result<Vec<TurnView>, Fault>) -> bool {
    let Some(picker) = picker(model, task) else { return false };
    picker.on_turns(turns.as_ref().cloned().map_err(ToString::to_string));
    true
}

/// Requests the preview of the selected target.
pub fn request_preview(model: &mut Model, out: &mut Out) {
    let Some(Layer::Rewind(picker)) = model.layers.last_mut() else { return };
    let task = picker.task;
    if let Some((to, extent)) = picker.take_preview_request() {
        out.effect(Effect::LoadRewind { task, to, extent });
    }
}

pub fn on_preview(
    model: &mut Model,
    task: TaskId,
    target: (Option<TurnId>, RewindScope),
    preview: Result<RewindPreview, Fault>,
) {
    if let Some(picker) = picker(model, task) {
        picker.on_preview(target, preview.map_err(|fault| fault.to_string()));
    }
}

fn confirm(model: &mut Model, cx: &Cx<'_>) {
    let Some(Layer::Rewind(picker)) = model.layers.last() else { return };
    let preview = match picker.preview() {
        Some(Ok(preview)) => preview.clone(),
        Some(Err(problem)) => {
            let problem = problem.clone();
            return model.toasts.say(Level::Error, problem, cx.now);
        }
        None => return,
    };
    let (task, (to, extent)) = (picker.task, picker.target());
    let place = picker
        .chosen()
        .map_or_else(|| "before the first turn".to_owned(), |turn| format!("the end of turn {}", turn.number));
    let mut lines =
        vec![format!("Rewind \"{}\" to {place}: {}.", model.project.title(task), rewind_scope_label(extent))];
    let count = crate::base::text::count;
    let files = preview.files.len() + preview.hidden_files;
    if preview.turns + files + preview.commits.len() > 0 {
        let turns = count(preview.turns, "turn", "turns");
        let files = count(files, "file", "files");
        lines.push(format!("This undoes {turns}, {files} and {}.", count(preview.commits.len(), "commit", "commits")));
    }
    let irreversible = preview.sent.len() + preview.created.len();
    if irreversible > 0 {
        lines.push(format!("{} cannot be undone.", count(irreversible, "message or task", "messages or tasks")));
    }
    lines.push(format!("You can redo ({}) until the next message.", model.key_of(Action::Redo)));
    let action = ConfirmedAction::Command(Command::Rewind { task, to, extent });
    model.layers.push(Layer::Confirm(Confirm { title: "Rewind?".to_owned(), lines, action }));
}

fn redo(model: &mut Model, cx: &Cx<'_>) {
    let task = match model.layers.last() {
        Some(Layer::Rewind(picker)) => picker.task,
        _ => model.selected(),
    };
    if !model.project.task(task).is_some_and(|task| task.can_redo) {
        return model.toasts.say(Level::Info, "Nothing to redo", cx.now);
    }
    let lines = vec![
        format!("Restore \"{}\" to its state before the rewind.", model.project.title(task)),
        "The current files are saved first.".to_owned(),
    ];
    let action = ConfirmedAction::Command(Command::Redo { task });
    model.layers.push(Layer::Confirm(Confirm { title: "Redo?".to_owned(), lines, action }));
}

fn fork(model: &mut Model) {
    let (task, at, words) = match model.layers.last() {
        Some(Layer::Rewind(picker)) => {
            let turn = picker.chosen();
            let words = turn.map_or_else(String::new, |turn| format!(" after turn {}", turn.number));
            (picker.task, turn.map(|turn| turn.turn), words)
        }
        _ => (model.selected(), None, String::new()),
    };
    let title = format!("Fork {}{words}", model.project.title(task));
    actions::tree::prompt(model, &title, "title of the new task", String::new(), PromptPurpose::Fork { task, at });
}

/// Opens a sent message in the editor, to rewind to before it and send the edited text instead.
fn resend(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    let message = match model.layers.last() {
        Some(Layer::Rewind(picker)) => picker.chosen().and_then(|turn| turn.message),
        _ => actions::detail::current_message(model, cx),
    };
    match message {
        Some(message) => out.effect(Effect::EditMessage { task, message }),
        None => model.toasts.say(Level::Info, "Select one of your messages", cx.now),
    }
}

/// Asks for confirmation before an edited message is resent.
pub fn on_edited(model: &mut Model, task: TaskId, message: MessageId, text: &str, cx: &Cx<'_>) {
    let text = text.trim_end();
    if text.trim().is_empty() {
        return model.toasts.say(Level::Info, "Nothing to send", cx.now);
    }
    let extent = match model.layers.last() {
        Some(Layer::Rewind(picker)) => picker.extent,
        _ => RewindScope::Both,
    };
    let lines = vec![
        format!("Rewind \"{}\" to before the message: {}.", model.project.title(task), rewind_scope_label(extent)),
        format!("Then send: {}", crate::base::text::headline(text, 120)),
        format!("You can redo ({}).", model.key_of(Action::Redo)),
    ];
    let action = ConfirmedAction::Command(Command::Resend { task, message, text: text.to_owned(), extent });
    model.layers.push(Layer::Confirm(Confirm { title: "Resend?".to_owned(), lines, action }));
}

/// Shows the diff of the selected turn.
pub fn show_diff(model: &mut Model, out: &mut Out) -> bool {
    let Some(Layer::Rewind(picker)) = model.layers.last() else { return false };
    let range = picker.chosen().map_or(DiffRange::Base, |turn| DiffRange::Turn { turn: turn.turn });
    model.layers.pop();
    actions::review::show(model, range, out);
    model.focus = Pane::Detail;
    debug_assert!(model.detail.tab == Tab::Diff);
    true
}

/// Closes the rewind dialog.
pub fn close_picker(model: &mut Model) {
    model.layers.retain(|layer| !matches!(layer, Layer::Rewind(_)));
}

//! Going back to a turn, forward again, forking at one, and saying something else than was said.

use crate::base::{Fault, MessageId, TaskId, TurnId};
use crate::engine::command::Command;
use crate::engine::review::{Extent, Range, RewindPreview, TurnView};
use crate::engine::update::Level;
use crate::ui::action::Action;
use crate::ui::detail::Tab;
use crate::ui::effect::Effect;
use crate::ui::layer::{Confirm, Deed, Layer, PromptFor, Rewind, rewind_words};
use crate::ui::layout::Pane;
use crate::ui::model::Model;
use crate::ui::msg::Cx;
use crate::ui::update::{Out, act_detail, act_review, act_tree};

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
    let from = if model.focus == Pane::Detail { act_detail::current_event(model, cx) } else { None };
    model.layers.push(Layer::Rewind(Box::new(Rewind::new(task, from))));
    out.effect(Effect::LoadTurns { task });
}

fn picker(model: &mut Model, task: TaskId) -> Option<&mut Rewind> {
    model.layers.iter_mut().find_map(|layer| match layer {
        Layer::Rewind(picker) if picker.task == task => Some(&mut **picker),
        _ => None,
    })
}

/// The turns are there. Tells whether the picker waited for them.
pub fn turns(model: &mut Model, task: TaskId, turns: &Result<Vec<TurnView>, Fault>) -> bool {
    let Some(picker) = picker(model, task) else { return false };
    picker.take(turns.as_ref().cloned().map_err(ToString::to_string));
    true
}

/// Asks what going back to the chosen turn would do.
pub fn settle(model: &mut Model, out: &mut Out) {
    let Some(Layer::Rewind(picker)) = model.layers.last_mut() else { return };
    let task = picker.task;
    if let Some((to, extent)) = picker.wants() {
        out.effect(Effect::LoadRewind { task, to, extent });
    }
}

pub fn previewed(
    model: &mut Model,
    task: TaskId,
    aim: (Option<TurnId>, Extent),
    preview: Result<RewindPreview, Fault>,
) {
    if let Some(picker) = picker(model, task) {
        picker.take_preview(aim, preview.map_err(|fault| fault.to_string()));
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
    let (task, (to, extent)) = (picker.task, picker.aim());
    let place = picker
        .chosen()
        .map_or_else(|| "before the first turn".to_owned(), |turn| format!("the end of turn {}", turn.number));
    let mut lines = vec![format!("\"{}\" goes back to {place}: {}.", model.world.title(task), rewind_words(extent))];
    let count = crate::base::text::count;
    let files = preview.files.len() + preview.hidden_files;
    if preview.turns + files + preview.commits.len() > 0 {
        let turns = count(preview.turns, "turn", "turns");
        let files = count(files, "file", "files");
        lines.push(format!("{turns}, {files} and {} are undone.", count(preview.commits.len(), "commit", "commits")));
    }
    let kept = preview.sent.len() + preview.created.len();
    if kept > 0 {
        lines.push(format!("{} cannot be undone.", count(kept, "message or task", "messages or tasks")));
    }
    lines.push(format!("{} takes it back, until something is said.", model.key_of(Action::Redo)));
    let deed = Deed::Command(Command::Rewind { task, to, extent });
    model.layers.push(Layer::Confirm(Confirm { title: "Go back?".to_owned(), lines, deed }));
}

fn redo(model: &mut Model, cx: &Cx<'_>) {
    let task = match model.layers.last() {
        Some(Layer::Rewind(picker)) => picker.task,
        _ => model.selected(),
    };
    if !model.world.task(task).is_some_and(|task| task.can_redo) {
        return model.toasts.say(Level::Info, "there is nothing to go forward to", cx.now);
    }
    let lines = vec![
        format!("\"{}\" is again as it was before it went back.", model.world.title(task)),
        "What the files are now is kept first.".to_owned(),
    ];
    let deed = Deed::Command(Command::Redo { task });
    model.layers.push(Layer::Confirm(Confirm { title: "Go forward again?".to_owned(), lines, deed }));
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
    let title = format!("Fork {}{words}", model.world.title(task));
    act_tree::prompt(model, &title, "the title of the new task", String::new(), PromptFor::Fork { task, at });
}

/// Lets the person change a message that was read, to go back to before it and say that instead.
fn resend(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let task = model.selected();
    let message = match model.layers.last() {
        Some(Layer::Rewind(picker)) => picker.chosen().and_then(|turn| turn.message),
        _ => act_detail::current_message(model, cx),
    };
    match message {
        Some(message) => out.effect(Effect::EditMessage { task, message }),
        None => model.toasts.say(Level::Info, "choose something that you said", cx.now),
    }
}

/// A message was changed: what that means is said before it is done.
pub fn edited(model: &mut Model, task: TaskId, message: MessageId, text: &str, cx: &Cx<'_>) {
    let text = text.trim_end();
    if text.trim().is_empty() {
        return model.toasts.say(Level::Info, "nothing to send", cx.now);
    }
    let extent = match model.layers.last() {
        Some(Layer::Rewind(picker)) => picker.extent,
        _ => Extent::Both,
    };
    let lines = vec![
        format!("\"{}\" goes back to before the message: {}.", model.world.title(task), rewind_words(extent)),
        format!("Then it hears: {}", crate::base::text::headline(text, 120)),
        format!("{} takes it back.", model.key_of(Action::Redo)),
    ];
    let deed = Deed::Command(Command::Resend { task, message, text: text.to_owned(), extent });
    model.layers.push(Layer::Confirm(Confirm { title: "Say this instead?".to_owned(), lines, deed }));
}

/// Shows what the chosen turn did.
pub fn show_diff(model: &mut Model, out: &mut Out) -> bool {
    let Some(Layer::Rewind(picker)) = model.layers.last() else { return false };
    let range = picker.chosen().map_or(Range::Base, |turn| Range::Turn { turn: turn.turn });
    model.layers.pop();
    act_review::show(model, range, out);
    model.focus = Pane::Detail;
    debug_assert!(model.detail.tab == Tab::Diff);
    true
}

/// A confirmed step was done: the picker has nothing more to offer.
pub fn done(model: &mut Model) {
    model.layers.retain(|layer| !matches!(layer, Layer::Rewind(_)));
}

//! Actions on open questions.

use crate::base::keys::Key;
use crate::base::{AskId, TaskId};
use crate::engine::command::Command;
use crate::engine::update::Level;
use crate::model::Ask;
use crate::model::ask::{AskKind, AskReply, ChoiceId, Subject};
use crate::ui::action::Action;
use crate::ui::effect::{EditPurpose, Effect, Setting};
use crate::ui::field::Field;
use crate::ui::layout::Pane;
use crate::ui::model::{Model, PendingReply};
use crate::ui::msg::Cx;
use crate::ui::update::actions::merge;
use crate::ui::update::{Out, quit};

/// Opens the next question in the place of the composer.
pub fn next(model: &mut Model, cx: &Cx<'_>) {
    let Some((_, id)) = model.asks.next() else {
        return model.toasts.say(Level::Info, "No open questions", cx.now);
    };
    open(model, id);
}

/// Opens a question in the place of the composer. The focus returns when it is answered.
pub fn open(model: &mut Model, ask: AskId) {
    if !model.asks.is_opened() {
        model.return_focus = model.focus;
        model.set_aside = std::mem::take(&mut model.layers);
    }
    model.layers.clear();
    model.asks.open(ask);
    model.focus = Pane::Composer;
}

/// Opens the selected question of the list.
pub fn open_chosen(model: &mut Model) {
    if let Some((_, id)) = model.asks.chosen() {
        open(model, id);
    }
}

/// Shows the task of the selected question.
pub fn show_task(model: &mut Model) {
    if model.focus != Pane::Asks {
        return;
    }
    if let Some((task, _)) = model.asks.chosen() {
        model.tree.select(&model.project, task);
        model.return_focus = Pane::Asks;
        model.focus = Pane::Detail;
    }
}

/// Answers with choice `number`, counted from 1. Returns false if there is no such choice.
pub fn choose(model: &mut Model, number: usize, cx: &Cx<'_>, out: &mut Out) -> bool {
    let Some((task, id)) = model.card() else { return false };
    let choice = number.checked_sub(1).and_then(|place| model.project.ask(id)?.1.choices.get(place));
    let Some(choice) = choice.map(|choice| choice.id.clone()) else { return false };
    give(model, task, id, AskReply::Choice(choice), cx, out);
    true
}

/// Takes what the question of the card proposes into the answer, to change it before it counts: the rule to save, or
/// the plan, which opens in the editor. Returns false if it proposes nothing.
pub fn edit_proposal(model: &mut Model, out: &mut Out) -> bool {
    let Some((_, id)) = model.card() else { return false };
    let Some((_, ask)) = model.project.ask(id) else { return false };
    let (proposal, in_editor) = match &ask.subject {
        Subject::Plan(plan) => (plan.document(), true),
        _ if ask.choices.iter().any(|choice| choice.id == ChoiceId::Project) => {
            (ask.rules_of(&ChoiceId::Project).join("\n"), false)
        }
        _ => return false,
    };
    model.asks.edit_proposal(id, proposal.clone());
    if in_editor {
        out.effect(Effect::OpenEditor { purpose: EditPurpose::Answer(id), text: proposal });
    }
    true
}

/// Takes the number of a choice that is on the screen into the answer field, which gets the focus. Enter then answers:
/// here the key could also have been meant for a tab. Returns false if the key is no such number.
pub fn take_digit(model: &mut Model, key: Key) -> bool {
    let can_answer = model.layers.is_empty()
        && matches!(model.focus, Pane::Tree | Pane::Detail)
        && model.settings.read_only.is_none();
    let Some((_, id)) = model.card().filter(|_| can_answer) else { return false };
    let Some(digit) = key.typed().filter(char::is_ascii_digit) else { return false };
    let choices = model.project.ask(id).map_or(0, |(_, ask)| ask.choices.len());
    let is_choice = digit.to_digit(10).is_some_and(|number| (1..=choices).contains(&(number as usize)));
    if !is_choice || !model.asks.draft(id).is_none_or(Field::is_empty) {
        return false;
    }
    model.asks.field(id).type_char(digit);
    open(model, id);
    true
}

/// Returns what a written answer means: the number of a choice is that choice.
fn reply_of(ask: &Ask, text: &str) -> AskReply {
    let text = text.trim_end();
    let number = text.trim().parse::<usize>().ok().filter(|number| (1..=ask.choices.len()).contains(number));
    number.map_or_else(|| AskReply::Text(text.to_owned()), |number| ask.reply_with_number(number))
}

/// Gives an answer, after the user has done what it needs.
fn give(model: &mut Model, task: TaskId, ask: AskId, reply: AskReply, cx: &Cx<'_>, out: &mut Out) {
    match reply {
        // The question is answered with "Try again" after the set-up.
        AskReply::Choice(ChoiceId::ChangeKey) => {
            let effect = Effect::SetUp { retry: Some((task, ask)) };
            quit::leave_for(model, "Open the set-up to change the key?", effect, out);
        }
        // Nothing is merged without a preview. The merge answers the question.
        AskReply::Choice(ChoiceId::Merge) if model.settings.read_only.is_none() => merge::open(model, task, cx, out),
        reply => {
            keep_model(model, task, ask, &reply, out);
            answer(model, task, ask, reply, cx, out);
        }
    }
}

/// Saves the model that takes the place of an unknown one in the settings, if those named it: the root has no other source.
fn keep_model(model: &Model, task: TaskId, ask: AskId, reply: &AskReply, out: &mut Out) {
    let is_launch = model.project.ask(ask).is_some_and(|(_, ask)| ask.kind() == AskKind::LaunchFailed);
    if let AskReply::Choice(ChoiceId::Model(name)) = reply
        && is_launch
        && task == model.project.root()
        && model.settings.read_only.is_none()
    {
        out.effect(Effect::SaveSetting { setting: Setting::TaskModel(name.clone()) });
    }
}

/// Sends the written answer, or the default if nothing is written.
pub fn send(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let Some((task, id)) = model.card() else { return };
    let Some((_, ask)) = model.project.ask(id) else { return };
    let written = model.asks.draft(id).filter(|draft| !draft.is_blank()).map(Field::content);
    let rules = |text: &str| text.lines().map(str::trim).filter(|rule| !rule.is_empty()).map(str::to_owned).collect();
    let reply = match written {
        Some(text) if model.asks.edits_proposal(id) => Some(match ask.kind() {
            AskKind::Plan => AskReply::Plan(text),
            _ => AskReply::Rules(rules(&text)),
        }),
        Some(text) => Some(reply_of(ask, &text)),
        None => ask.default.clone(),
    };
    match reply {
        Some(reply) => give(model, task, id, reply, cx, out),
        None => model.toasts.say(Level::Info, "Type an answer, or press the number of a choice", cx.now),
    }
}

/// Defers the question of the card or, in the list, the selected one.
pub fn defer(model: &mut Model, cx: &Cx<'_>) {
    let in_list = model.focus == Pane::Asks;
    let ask = if in_list { model.asks.chosen() } else { model.card() };
    let Some((_, id)) = ask else { return };
    if model.asks.discard_proposal(id) {
        return;
    }
    let was_opened = model.asks.is_opened();
    model.asks.defer(id);
    if was_opened && !in_list {
        return_focus(model);
    }
    let words =
        format!("Put off: it stays in the list of questions. {} opens it again.", model.key_of(Action::NextAsk));
    model.toasts.say(Level::Info, words, cx.now);
}

/// Returns to what was focused before the question. `reconcile` brings back the layers.
fn return_focus(model: &mut Model) {
    let from = std::mem::take(&mut model.return_focus);
    model.focus = if from == Pane::Asks { Pane::Tree } else { from };
}

/// Answers a question of `task` with the message that is being written.
pub fn answer_with_message(model: &mut Model, task: TaskId, ask: AskId, cx: &Cx<'_>, out: &mut Out) {
    let Some(message) = model.composer.take(model.selected()) else { return };
    let Some(reply) = model.project.ask(ask).map(|(_, ask)| reply_of(ask, &message.text)) else { return };
    give(model, task, ask, reply, cx, out);
}

fn answer(model: &mut Model, task: TaskId, ask: AskId, reply: AskReply, cx: &Cx<'_>, out: &mut Out) {
    if model.asks.is_sent(ask) {
        return;
    }
    let was_opened = model.asks.is_opened();
    if model.settings.read_only.is_none() {
        model.asks.mark_sent(ask);
    }
    model.asks.close();
    // Equal calls of other tasks get the same answer. A rule that is saved answers them by itself.
    let is_rule = matches!(reply, AskReply::Rules(_) | AskReply::Choice(ChoiceId::Project | ChoiceId::Never));
    let others = if is_rule { Vec::new() } else { model.asks.equal_to(ask).to_vec() };
    for (task, ask) in others {
        let command = Command::Answer { task, ask, reply: reply.clone(), by: None };
        out.command(model, command, PendingReply::Answered(ask), cx);
    }
    out.command(model, Command::Answer { task, ask, reply, by: None }, PendingReply::Answered(ask), cx);
    if was_opened {
        return_focus(model);
    }
}

#[cfg(test)]
#[path = "asks_tests.rs"]
mod tests;

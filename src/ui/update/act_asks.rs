//! Answering what waits for the person.

use crate::base::keys::{Key, KeyCode};
use crate::base::{AskId, TaskId};
use crate::engine::command::Command;
use crate::engine::update::Level;
use crate::model::ask::Given;
use crate::ui::action::Action;
use crate::ui::field::Field;
use crate::ui::layout::Pane;
use crate::ui::model::{Expect, Model};
use crate::ui::msg::Cx;
use crate::ui::update::Out;

/// Goes to the next question, from anywhere.
pub fn next(model: &mut Model, cx: &Cx<'_>) {
    if !model.asks.open_next() {
        return model.toasts.say(Level::Info, "nothing waits for you", cx.now);
    }
    if model.focus != Pane::Asks {
        model.came_from = model.focus;
        model.focus = Pane::Asks;
    }
}

/// Goes to the task whose work a question is about, to look at it. The question stays open.
pub fn look_at_work(model: &mut Model) {
    if model.focus != Pane::Asks {
        return;
    }
    if let Some((task, _)) = model.asks.chosen() {
        model.tree.select(&model.world, task);
        model.came_from = Pane::Asks;
        model.focus = Pane::Detail;
    }
}

/// Opens one question, and comes back to where one was when it is answered.
pub fn open(model: &mut Model, ask: AskId) {
    model.asks.open(ask);
    model.came_from = model.focus;
    model.focus = Pane::Asks;
}

/// A digit was pressed.
pub fn choose(model: &mut Model, key: Option<Key>, cx: &Cx<'_>, out: &mut Out) {
    let digit = key.and_then(|key| match key.code() {
        KeyCode::Char(char) => char.to_digit(10),
        _ => None,
    });
    let Some((task, id)) = model.asks.chosen() else { return };
    if !model.asks.is_open() {
        // A digit answers only what can be read.
        return model.asks.open_chosen();
    }
    let place = digit.and_then(|digit| (digit as usize).checked_sub(1));
    let choice = place.and_then(|place| model.world.ask(id)?.1.choices.get(place).map(|choice| choice.id.clone()));
    let Some(choice) = choice else {
        let words = format!("there is no such choice; {} answers in your own words", model.key_of(Action::WriteAnswer));
        return model.toasts.say(Level::Info, words, cx.now);
    };
    answer(model, task, id, Given::Choice(choice), cx, out);
}

/// What was written is the answer.
pub fn send(model: &mut Model, cx: &Cx<'_>, out: &mut Out) {
    let Some((task, id)) = model.asks.chosen() else { return };
    let Some(text) = model.asks.draft(id).filter(|draft| !draft.is_blank()).map(Field::content) else {
        return model.toasts.say(Level::Info, "nothing is written yet", cx.now);
    };
    answer(model, task, id, Given::Text(text.trim_end().to_owned()), cx, out);
}

fn answer(model: &mut Model, task: TaskId, ask: AskId, reply: Given, cx: &Cx<'_>, out: &mut Out) {
    if model.asks.is_sent(ask) {
        return;
    }
    if model.settings.read_only.is_none() {
        model.asks.answered(ask);
    }
    out.command(model, Command::Answer { task, ask, reply }, Expect::Answered(ask), cx);
    // Back to what was being read or written.
    model.focus = if model.came_from == Pane::Asks { Pane::Tree } else { model.came_from };
}

//! Keys, pastes and the rest of what a person does at the terminal.

use crate::base::keys::{Input, Key, KeyCode};
use crate::engine::update::Level;
use crate::ui::action::Action;
use crate::ui::field::Edit;
use crate::ui::keymap::Resolved;
use crate::ui::layout::{Pane, Shape};
use crate::ui::model::Model;
use crate::ui::msg::{Cx, Redraw};
use crate::ui::update::{Out, act, act_composer, finding, mouse};

pub fn input(model: &mut Model, input: Input, cx: &Cx<'_>, out: &mut Out) {
    out.draw(Redraw::Now);
    // Whoever does something has stopped waiting for a search that is still going on.
    if !matches!(input, Input::Focus(_) | Input::Resize(..))
        && let Some(transcript) = model.detail.transcript_mut(model.tree.selected())
    {
        transcript.search_mut().give_up();
    }
    match input {
        Input::Key(key) => key_pressed(model, key, cx, out),
        Input::Paste(text) => paste(model, &text, cx, out),
        Input::Mouse(mouse) => mouse::mouse(model, mouse, cx, out),
        Input::Focus(watched) => model.watched = watched,
        Input::Resize(..) => {}
        Input::Closed => out.effect(crate::ui::effect::Effect::Quit),
    }
}

/// What works on a screen too small to show anything.
const BLIND: [Action; 6] = [Action::Quit, Action::Cancel, Action::Suspend, Action::Redraw, Action::Yes, Action::No];

fn key_pressed(model: &mut Model, key: Key, cx: &Cx<'_>, out: &mut Out) {
    if model.layout.shape == Shape::Tiny {
        return blind(model, key, cx, out);
    }
    let contexts = model.contexts();
    let typing = contexts.iter().any(|context| context.types());
    if typing && model.keys.is_empty() {
        if let Some(typed) = key.typed() {
            return type_char(model, typed, cx, out);
        }
    } else if key == Key::plain(KeyCode::Esc) && !model.keys.is_empty() {
        // Esc gives a chord up and does nothing else.
        model.keys.clear();
        return;
    }
    let mut keys = std::mem::take(&mut model.keys);
    keys.push(key);
    match model.keymap.resolve(&contexts, &keys) {
        Resolved::Action(action) => act::act(model, action, Some(key), cx, out),
        Resolved::Pending => model.keys = keys,
        Resolved::Nothing if keys.len() > 1 => {
            let keys: Vec<_> = keys.iter().map(ToString::to_string).collect();
            model.toasts.say(Level::Info, format!("{} means nothing here", keys.join(" ")), cx.now);
        }
        Resolved::Nothing => {}
    }
}

/// Nobody can see what is chosen or sent. What is typed is kept; beside that only what can be told in a line is obeyed.
fn blind(model: &mut Model, key: Key, cx: &Cx<'_>, out: &mut Out) {
    let contexts = model.contexts();
    let typed = key.typed().filter(|_| contexts.iter().any(|context| context.types()));
    if let Some(typed) = typed {
        return type_char(model, typed, cx, out);
    }
    if let Resolved::Action(action) = model.keymap.resolve(&contexts, &[key])
        && BLIND.contains(&action)
    {
        act::act(model, action, Some(key), cx, out);
    }
}

fn type_char(model: &mut Model, typed: char, cx: &Cx<'_>, out: &mut Out) {
    write(model, cx, out, |field| field.type_char(typed));
}

fn paste(model: &mut Model, text: &str, cx: &Cx<'_>, out: &mut Out) {
    model.keys.clear();
    if model.layers.is_empty() && model.focus == Pane::Composer {
        return act_composer::paste(model, text, cx, out);
    }
    let typing = model.contexts().iter().any(|context| context.types());
    if !typing {
        // A paste is never a row of commands.
        let words = format!("nothing is being written here: {} goes to the composer", model.key_of(Action::Write));
        model.toasts.say(Level::Info, words, cx.now);
        return;
    }
    let several = model.focus == Pane::Asks || (model.focus == Pane::Detail && model.is_commenting());
    let line = !several || !model.layers.is_empty();
    let text = if line { text.replace('\n', " ") } else { text.to_owned() };
    write(model, cx, out, |field| field.insert(&text));
}

/// Applies an edit to whatever is being written.
pub fn edit(model: &mut Model, edit: Edit, cx: &Cx<'_>, out: &mut Out) {
    let composing = model.layers.is_empty() && model.focus == Pane::Composer;
    if composing && edit == Edit::Backspace && model.composer.detach(model.selected()) {
        return;
    }
    write(model, cx, out, |field| {
        field.apply(edit);
    });
}

/// Changes the text that is being written, wherever that is, and tells its owner.
pub fn write(model: &mut Model, cx: &Cx<'_>, out: &mut Out, change: impl FnOnce(&mut crate::ui::field::Field)) {
    if let Some(layer) = model.layers.last_mut() {
        if let Some(field) = layer.field() {
            let before = field.shown().to_owned();
            change(field);
            if field.shown() != before {
                layer.written();
                finding::written(model, cx, out);
            }
        }
        return;
    }
    let task = model.selected();
    match model.focus {
        Pane::Tree if model.tree.filtering => {
            change(&mut model.tree.filter);
            model.tree.filter_changed();
        }
        Pane::Asks => {
            if let Some(field) = model.asks.field() {
                change(field);
            }
        }
        Pane::Composer => {
            change(model.composer.field(task));
            act_composer::written(model, cx, out);
        }
        Pane::Detail if model.detail.searching => change(&mut model.detail.search),
        Pane::Detail if model.is_commenting() => {
            if let Some(field) = model.review.field() {
                change(field);
                model.review.written();
            }
        }
        Pane::Detail => {
            if let Some(transcript) = model.detail.transcript_mut(task).filter(|it| it.search().writing) {
                change(&mut transcript.search_mut().field);
                transcript.search_mut().current = None;
            }
        }
        Pane::Tree => {}
    }
}

/// Returns the edit that an action of writing stands for.
pub fn edit_of(action: Action) -> Option<Edit> {
    Some(match action {
        Action::TextLeft => Edit::Left,
        Action::TextRight => Edit::Right,
        Action::TextWordLeft => Edit::WordLeft,
        Action::TextWordRight => Edit::WordRight,
        Action::TextHome => Edit::Home,
        Action::TextEnd => Edit::End,
        Action::TextStart => Edit::Start,
        Action::TextFinish => Edit::Finish,
        Action::TextNewline => Edit::Newline,
        Action::TextBackspace => Edit::Backspace,
        Action::TextDelete => Edit::Delete,
        Action::TextDeleteWord => Edit::DeleteWord,
        Action::TextDeleteToStart => Edit::DeleteToStart,
        Action::TextDeleteToEnd => Edit::DeleteToEnd,
        Action::TextYank => Edit::Yank,
        Action::TextUndo => Edit::Undo,
        Action::TextRedo => Edit::Redo,
        _ => return None,
    })
}

//! Handles terminal input: keys, pastes, mouse, focus.

use crate::base::keys::{Input, Key, KeyCode};
use crate::engine::update::Level;
use crate::ui::action::Action;
use crate::ui::field::Edit;
use crate::ui::keymap::KeyMatch;
use crate::ui::layer::Layer;
use crate::ui::layout::{Pane, Shape};
use crate::ui::model::Model;
use crate::ui::msg::{Cx, Redraw};
use crate::ui::update::{Out, actions, mouse, search};

pub fn input(model: &mut Model, input: Input, cx: &Cx<'_>, out: &mut Out) {
    out.draw(Redraw::Now);
    // Any input cancels a running search.
    if !matches!(input, Input::Focus(_) | Input::Resize(..))
        && let Some(transcript) = model.detail.transcript_mut(model.tree.selected())
    {
        transcript.search_mut().cancel();
    }
    match input {
        Input::Key(key) => on_key(model, key, cx, out),
        Input::Paste(text) => paste(model, &text, cx, out),
        Input::Mouse(mouse) => mouse::mouse(model, mouse, cx, out),
        Input::Focus(terminal_focused) => model.terminal_focused = terminal_focused,
        Input::Resize(..) => {}
        Input::Closed => out.effect(crate::ui::effect::Effect::Quit),
    }
}

/// Actions that work on a screen too small to show anything.
const TINY_ACTIONS: [Action; 9] = [
    Action::Quit,
    Action::Cancel,
    Action::Suspend,
    Action::Redraw,
    Action::Yes,
    Action::No,
    Action::KeepWorking,
    Action::StopAgents,
    Action::InterruptRest,
];

fn on_key(model: &mut Model, key: Key, cx: &Cx<'_>, out: &mut Out) {
    if model.layout.shape == Shape::Tiny {
        return on_key_when_tiny(model, key, cx, out);
    }
    let contexts = model.contexts();
    let typing = contexts.iter().any(|context| context.is_text_input());
    if typing && model.keys.is_empty() {
        if let Some(typed) = key.typed() {
            return type_char(model, typed, cx, out);
        }
    } else if model.keys.is_empty() && actions::asks::take_digit(model, key) {
        return;
    } else if key == Key::plain(KeyCode::Esc) && !model.keys.is_empty() {
        // Esc only cancels the chord.
        model.keys.clear();
        return;
    }
    let mut keys = std::mem::take(&mut model.keys);
    keys.push(key);
    match model.keymap.resolve(&contexts, &keys) {
        KeyMatch::Action(action) => actions::act(model, action, cx, out),
        KeyMatch::Pending => model.keys = keys,
        KeyMatch::Nothing if keys.len() > 1 => {
            let keys: Vec<_> = keys.iter().map(ToString::to_string).collect();
            model.toasts.say(Level::Info, format!("{} is not bound here", keys.join(" ")), cx.now);
        }
        KeyMatch::Nothing => {}
    }
}

/// Handles a key on a too small screen, where the user cannot see the selection. Typed text is kept.
fn on_key_when_tiny(model: &mut Model, key: Key, cx: &Cx<'_>, out: &mut Out) {
    let contexts = model.contexts();
    let typed = key.typed().filter(|_| contexts.iter().any(|context| context.is_text_input()));
    if let Some(typed) = typed {
        return type_char(model, typed, cx, out);
    }
    if let KeyMatch::Action(action) = model.keymap.resolve(&contexts, &[key])
        && TINY_ACTIONS.contains(&action)
    {
        actions::act(model, action, cx, out);
    }
}

fn type_char(model: &mut Model, typed: char, cx: &Cx<'_>, out: &mut Out) {
    // In an empty answer a digit chooses; anything else is text.
    if model.layers.is_empty()
        && model.focus == Pane::Composer
        && let Some((_, id)) = model.card()
        && let Some(digit) = typed.to_digit(10)
        && model.asks.takes_digits(id, cx.now)
        && actions::asks::choose(model, digit as usize, cx, out)
    {
        return;
    }
    if typed == 'e'
        && model.layers.is_empty()
        && model.focus == Pane::Composer
        && let Some((_, id)) = model.card()
        && model.asks.takes_digits(id, cx.now)
        && actions::asks::edit_proposal(model, out)
    {
        return;
    }
    let digit = typed.to_digit(10).map_or(0, |digit| digit as usize);
    if model.card().is_none() && actions::composer::take_example(model, digit) {
        return;
    }
    write(model, cx, out, |field| field.type_char(typed));
}

fn paste(model: &mut Model, text: &str, cx: &Cx<'_>, out: &mut Out) {
    model.keys.clear();
    if model.layers.is_empty() && model.focus == Pane::Composer && model.card().is_none() {
        return actions::composer::paste(model, text, cx, out);
    }
    let typing = model.contexts().iter().any(|context| context.is_text_input());
    if !typing {
        // A paste is never interpreted as commands.
        let words = format!("No text input is focused. {} focuses the composer.", model.key_of(Action::Write));
        model.toasts.say(Level::Info, words, cx.now);
        return;
    }
    let several = match model.layers.last() {
        Some(layer) => matches!(layer, Layer::Brief(_)),
        None => model.focus == Pane::Composer || (model.focus == Pane::Detail && model.is_commenting()),
    };
    let text = if several { text.to_owned() } else { text.replace('\n', " ") };
    write(model, cx, out, |field| field.insert(&text));
}

/// Applies an edit to the focused text input.
pub fn edit(model: &mut Model, edit: Edit, cx: &Cx<'_>, out: &mut Out) {
    let composing = model.layers.is_empty() && model.focus == Pane::Composer && model.card().is_none();
    if composing && edit == Edit::Backspace && model.composer.detach(model.selected()) {
        return;
    }
    write(model, cx, out, |field| {
        field.apply(edit);
    });
}

/// Changes the focused text input and notifies its owner.
pub fn write(model: &mut Model, cx: &Cx<'_>, out: &mut Out, change: impl FnOnce(&mut crate::ui::field::Field)) {
    if let Some(layer) = model.layers.last_mut() {
        if let Some(field) = layer.field() {
            let before = field.shown().to_owned();
            change(field);
            if field.shown() != before {
                layer.on_text_changed();
                actions::brief::keep(model);
                search::on_text_changed(model, cx, out);
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
        Pane::Composer => match model.card() {
            Some((_, id)) => change(model.asks.field(id)),
            None => {
                change(model.composer.field(task));
                actions::composer::on_text_changed(model, cx, out);
            }
        },
        Pane::Detail if model.detail.searching => change(&mut model.detail.search),
        Pane::Detail if model.is_commenting() => {
            if let Some(field) = model.review.field() {
                change(field);
                model.review.on_text_changed();
            }
        }
        Pane::Detail => {
            if let Some(transcript) = model.detail.transcript_mut(task).filter(|it| it.search().writing) {
                change(&mut transcript.search_mut().field);
                transcript.search_mut().current = None;
            }
        }
        Pane::Tree | Pane::Asks => {}
    }
}

/// Returns the edit of a text action.
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

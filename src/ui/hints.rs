//! The bottom line: the keys that matter here and now, read from the keymap; while a chord is begun, what can follow.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::model::Status;
use crate::model::message::Source;
use crate::text::width;
use crate::theme::Role;
use crate::ui::action::{Action, TABLE};
use crate::ui::model::Model;
use crate::ui::msg::Cx;
use crate::ui::paint;

pub fn view(model: &Model, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    paint::tint(buffer, area, theme.style(Role::Footer));
    let hints = if model.keys.is_empty() { hints(model) } else { following(model) };
    let mut spans = vec![Span::raw(" ")];
    let mut used = 1;
    for (key, label) in hints {
        let wide = width::of(&key) + width::of(&label) + 3;
        if used + wide > usize::from(area.width) + 2 {
            break;
        }
        used += wide;
        spans.push(Span::styled(key, theme.style(Role::Key)));
        spans.push(Span::styled(format!(" {label}  "), theme.style(Role::Footer)));
    }
    paint::line(buffer, area, 0, &Line::from(spans));
}

fn following(model: &Model) -> Vec<(String, String)> {
    let begun: Vec<_> = model.keys.iter().map(ToString::to_string).collect();
    let next = model.keymap.following(&model.contexts(), &model.keys);
    let mut hints = vec![(begun.join(" "), "…".to_owned())];
    hints.extend(next.into_iter().map(|(key, action)| (key.to_string(), action.entry().label.to_owned())));
    hints
}

fn hints(model: &Model) -> Vec<(String, String)> {
    let contexts = model.contexts();
    let mut found: Vec<_> = TABLE
        .iter()
        .filter(|entry| entry.weight > 0 && is_useful(entry.action, model))
        .filter_map(|entry| {
            let chord = model.keymap.shown(&contexts, entry.action)?;
            let near = contexts.iter().position(|context| entry.contexts.contains(context))?;
            let key = if entry.action == Action::Choose { "1-9".to_owned() } else { key_words(&chord.to_string()) };
            Some((near.min(1), std::cmp::Reverse(entry.weight), key, entry.label.to_owned()))
        })
        .collect();
    found.sort();
    // Help and commands are always in sight: they lead to everything else.
    found.sort_by_key(|(near, weight, ..)| (weight.0 < 50 && *near > 0, *near > 0 && weight.0 < 85, std::cmp::Reverse(weight.0)));
    found.into_iter().map(|(_, _, key, label)| (key, label)).collect()
}

/// Returns a key as it is printed on a keyboard.
pub fn key_words(key: &str) -> String {
    let words: Vec<_> = key.split(' ').map(capital).collect();
    words.join(" ")
}

fn capital(key: &str) -> String {
    let parts: Vec<_> = key
        .split('-')
        .map(|part| match part {
            "enter" => "Enter".to_owned(),
            "tab" => "Tab".to_owned(),
            "esc" => "Esc".to_owned(),
            "ctrl" => "Ctrl".to_owned(),
            "alt" => "Alt".to_owned(),
            "shift" => "Shift".to_owned(),
            "space" => "Space".to_owned(),
            other => other.to_owned(),
        })
        .collect();
    parts.join("-")
}

/// Tells whether an action would do anything now.
fn is_useful(action: Action, model: &Model) -> bool {
    let task = model.world.task(model.selected());
    match action {
        Action::NextAsk => !model.asks.is_empty() && model.focus != crate::ui::layout::Pane::Asks,
        Action::Interrupt => task.is_some_and(crate::engine::snapshot::TaskView::is_working),
        Action::Resume => task.is_some_and(|task| {
            !task.alive && matches!(task.node.status, Status::Pending | Status::InProgress) && !task.is_working()
        }),
        Action::Withdraw => task.is_some_and(|task| task.unread.iter().any(|message| message.from == Source::User)),
        Action::Choose | Action::WriteAnswer => model.asks.is_open(),
        Action::AcceptDraft => true,
        Action::CycleMode => task.is_some_and(|task| task.alive),
        _ => true,
    }
}

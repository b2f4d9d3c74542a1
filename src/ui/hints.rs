//! The bottom line: the keys that matter here and now, read from the keymap; while a chord is begun, what can follow.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::model::Status;
use crate::model::message::Source;
use crate::text::width;
use crate::theme::Role;
use crate::ui::action::{Action, TABLE};
use crate::ui::layer::{Layer, Prompt, PromptFor};
use crate::ui::model::Model;
use crate::ui::msg::Cx;
use crate::ui::paint;

pub fn view(model: &Model, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    paint::tint(buffer, area, theme.style(Role::Footer));
    if !model.keys.is_empty() {
        let line = Line::from(fill(following(model), usize::from(area.width), cx));
        paint::line(buffer, area, 0, &line);
        return;
    }
    // What leads to everything else is always in sight, at the right.
    let contexts = model.contexts();
    let pinned: &[Action] =
        if model.layers.is_empty() { &[Action::Palette, Action::Help, Action::Quit] } else { &[Action::Back] };
    let pinned: Vec<_> = pinned
        .iter()
        .copied()
        .filter_map(|action| {
            let chord = model.keymap.shown(&contexts, action)?;
            Some((key_words(&chord.to_string()), action.entry().label.to_owned()))
        })
        .collect();
    let right = Line::from(fill(pinned, usize::from(area.width), cx));
    let room = usize::from(area.width).saturating_sub(right.width());
    let left = Line::from(fill(hints(model), room, cx));
    paint::line(buffer, area, 0, &left);
    let wide = u16::try_from(right.width()).unwrap_or(0).min(area.width);
    buffer.set_line(area.right() - wide, area.y, &right, wide);
}

/// Returns as many hints as fit.
fn fill(hints: Vec<(String, String)>, room: usize, cx: &Cx<'_>) -> Vec<Span<'static>> {
    let mut spans = vec![Span::raw(" ")];
    let mut used = 1;
    for (key, label) in hints {
        let wide = width::of(&key) + width::of(&label) + 3;
        if used + wide > room + 1 {
            break;
        }
        used += wide;
        spans.push(Span::styled(key, cx.theme.style(Role::Key)));
        spans.push(Span::styled(format!(" {label}  "), cx.theme.style(Role::Footer)));
    }
    spans
}

fn following(model: &Model) -> Vec<(String, String)> {
    let begun: Vec<_> = model.keys.iter().map(ToString::to_string).collect();
    let next = model.keymap.following(&model.contexts(), &model.keys);
    let mut hints = vec![(begun.join(" "), "…".to_owned())];
    hints.extend(next.into_iter().map(|(key, action)| (key.to_string(), action.entry().label.to_owned())));
    hints
}

fn hints(model: &Model) -> Vec<(String, String)> {
    // What lies on top is what one is busy with: the keys of what is below only distract.
    let contexts = model.layers.last().map_or_else(|| model.contexts(), |layer| layer.contexts().to_vec());
    let pinned = [Action::Palette, Action::Help, Action::Quit];
    let mut found: Vec<_> = TABLE
        .iter()
        .filter(|entry| entry.weight > 0 && !pinned.contains(&entry.action) && is_useful(entry.action, model))
        .filter_map(|entry| {
            let chord = model.keymap.shown(&contexts, entry.action)?;
            let key = if entry.action == Action::Choose { "1-9".to_owned() } else { key_words(&chord.to_string()) };
            Some((std::cmp::Reverse(entry.weight), key, entry.label.to_owned()))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, key, label)| (key, label)).collect()
}

/// Returns a key as it is printed on a keyboard.
pub fn key_words(key: &str) -> String {
    let words: Vec<_> = key.split(' ').map(capital).collect();
    words.join(" ")
}

fn capital(key: &str) -> String {
    let Some((held, last)) = key.rsplit_once('-').filter(|(held, last)| !held.is_empty() && !last.is_empty()) else {
        return named(key);
    };
    let held: Vec<_> = held.split('-').map(named).collect();
    let last = if last.chars().count() == 1 { last.to_uppercase() } else { named(last) };
    format!("{}-{last}", held.join("-"))
}

/// A key with a name of its own is written with a capital.
fn named(key: &str) -> String {
    let mut chars = key.chars();
    match (chars.next(), chars.as_str()) {
        (Some(first), rest) if !rest.is_empty() => format!("{}{rest}", first.to_uppercase()),
        _ => key.to_owned(),
    }
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
        Action::GoToTask => !matches!(model.layers.last(), Some(Layer::Board(board)) if board.tasks.is_empty()),
        Action::Open => model.focus != crate::ui::layout::Pane::Asks || !model.asks.is_open(),
        Action::AcceptDraft | Action::ChooseProfile => {
            matches!(model.layers.last(), Some(Layer::Prompt(Prompt { purpose: PromptFor::NewTask { .. }, .. })))
        }
        Action::Merge => task.is_some_and(|task| task.diff.is_some_and(|diff| diff.files > 0)),
        Action::UndoMerge => task.is_some_and(|task| task.landing.is_some()),
        Action::CatchUp => task.is_some_and(|task| task.drift.is_some_and(|drift| drift.behind > 0)),
        Action::TellAgent => matches!(model.layers.last(), Some(Layer::Merge(merge)) if merge.has_conflicts()),
        Action::DoMerge => !matches!(model.layers.last(), Some(Layer::Merge(merge)) if merge.has_conflicts()),
        Action::EditResend => matches!(model.layers.last(), Some(Layer::Rewind(picker))
            if picker.chosen().is_some_and(|turn| turn.message.is_some())),
        Action::Fork => matches!(model.layers.last(), Some(Layer::Rewind(_))),
        Action::Verify => matches!(model.layers.last(), Some(Layer::Merge(_))),
        Action::SendReview => model.review.notes().is_some_and(|notes| notes.drafts().next().is_some()),
        Action::CycleMode => task.is_some_and(|task| task.alive),
        _ => true,
    }
}

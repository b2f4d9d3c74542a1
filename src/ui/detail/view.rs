//! Draws the open tab of the right side.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::engine::snapshot::TaskView;
use crate::permit::Mode;
use crate::text::{Row, width};
use crate::theme::Role;
use crate::ui::detail::{State, Tab, page_rows, summary};
use crate::ui::draw;
use crate::ui::labels;
use crate::ui::msg::Cx;
use crate::ui::project_state::ProjectState;
use crate::ui::review;
use crate::ui::transcript;

/// Everything the open tab is drawn with.
#[derive(Clone, Copy)]
pub struct With<'a> {
    pub transcript: transcript::View<'a>,
    pub review: &'a review::State,
    /// The key that sends review comments.
    pub send: &'a str,
    pub keys: &'a summary::Keys,
    pub project: &'a ProjectState,
}

/// Draws a tab into `area`. Returns the cursor position if the user writes there.
pub fn view(state: &State, tab: Tab, with: With<'_>, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let task = with.transcript.task.filter(|_| !area.is_empty())?;
    let (area, foot) = split_foot(state, tab, task, area);
    let mut cursor = None;
    match tab {
        Tab::Transcript => {
            if let Some(transcript) = state.transcript(task.node.id) {
                let (area, card) = summary::split(task, with.project, transcript, area);
                transcript::view(transcript, with.transcript, cx, area, buffer);
                summary::view(with.project, with.keys, cx, card, buffer);
            }
        }
        Tab::Diff => {
            let needle = if state.tab == tab { state.search.shown().to_lowercase() } else { String::new() };
            let focused = with.transcript.focused;
            let how = review::With { focused, needle: &needle, send: with.send };
            cursor = review::view(with.review, how, cx, area, buffer);
        }
        Tab::Description | Tab::Info | Tab::Log => {
            let rows = page_rows(state, tab, task, with.project, cx, usize::from(area.width));
            let needle = if state.tab == tab { state.search.shown().to_lowercase() } else { String::new() };
            draw_rows(&rows, state.top_of(tab), &needle, cx, area, buffer);
        }
    }
    if let Some(line) = foot {
        draw_foot(state, tab, task, with, cx, line, buffer);
    }
    cursor
}

/// Draws the search and the notes of a transcript.
fn draw_foot(state: &State, tab: Tab, task: &TaskView, with: With<'_>, cx: &Cx<'_>, line: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    let transcript = state.transcript(task.node.id).filter(|_| tab == Tab::Transcript);
    let mut taken = 0;
    if let Some((text, writing)) = search(state, tab, task) {
        let mut end = draw::text(buffer, line, (1, 0), "/", theme.style(Role::Key));
        let room = usize::from(line.right().saturating_sub(end + 2));
        end = buffer.set_stringn(end, line.y, width::suffix(text, room).0, room, theme.style(Role::Text)).0;
        if writing && end < line.right() {
            buffer.set_style(Rect { x: end, width: 1, ..line }, theme.style(Role::Cursor));
        }
        if let Some(words) = transcript.and_then(transcript::found).filter(|_| end + 2 < line.right()) {
            let room = usize::from(line.right().saturating_sub(end + 3));
            let words = draw::fit(&words, room, theme.glyphs).into_owned();
            end = draw::text(buffer, line, (end + 2 - line.x, 0), &words, theme.style(Role::Muted));
        }
        taken = (end + 2).saturating_sub(line.x);
    }
    if let Some(transcript) = transcript {
        transcript::foot(transcript, with.transcript, cx, taken, line, buffer);
    }
}

/// Returns the search in a tab, and whether the user is typing it.
fn search<'a>(state: &'a State, tab: Tab, task: &TaskView) -> Option<(&'a str, bool)> {
    let (text, writing) = match tab {
        Tab::Transcript => {
            let search = state.transcript(task.node.id)?.search();
            (search.field.shown(), search.writing)
        }
        Tab::Diff | Tab::Description | Tab::Info | Tab::Log if state.tab == tab => {
            (state.search.shown(), state.searching)
        }
        Tab::Diff | Tab::Description | Tab::Info | Tab::Log => return None,
    };
    (writing || !text.is_empty()).then_some((text, writing))
}

/// Splits off the last line if there is something to show on it.
pub fn split_foot(state: &State, tab: Tab, task: &TaskView, area: Rect) -> (Rect, Option<Rect>) {
    let transcript = state.transcript(task.node.id).filter(|_| tab == Tab::Transcript);
    let has_foot = transcript.is_some_and(|transcript| transcript::has_foot(transcript, task));
    if area.height < 4 || !(has_foot || search(state, tab, task).is_some()) {
        return (area, None);
    }
    let upper = Rect { height: area.height - 1, ..area };
    (upper, Some(Rect { y: upper.bottom(), height: 1, ..area }))
}

fn draw_rows(rows: &[Row], top: usize, needle: &str, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let height = usize::from(area.height);
    let top = top.min(rows.len().saturating_sub(height));
    for (row, y) in rows.iter().skip(top).zip(0..area.height) {
        let line = Rect { y: area.y + y, height: 1, ..area };
        let shown = row.shown().to_ascii_lowercase();
        if !needle.is_empty() && shown.contains(needle) {
            let mut marked = row.clone();
            for (at, found) in shown.match_indices(needle) {
                marked.mark(at..at + found.len(), Role::SearchMatch);
            }
            draw::line(buffer, line, 0, &marked.line(cx.theme));
        } else {
            draw::line(buffer, line, 0, &row.line(cx.theme));
        }
        if let Some(ground) = row.ground {
            let style = ratatui::style::Style { fg: None, ..cx.theme.style(ground) };
            draw::tint(buffer, line, style);
        }
    }
    draw::scrollbar(buffer, area, cx.theme, top, height, rows.len());
}

/// Returns the note beside the title: activity, model, context, cost.
pub fn head_note<'a>(task: &TaskView, cx: &Cx<'_>, room: usize) -> Line<'a> {
    let theme = cx.theme;
    let (sign, role) = labels::state(task, task.node.parent.is_none(), theme.glyphs);
    let doing = labels::doing(task);
    let mut parts: Vec<Vec<Span<'a>>> = Vec::new();
    if !doing.is_empty() {
        parts.push(vec![Span::styled(format!("{sign} {doing}"), theme.style(role))]);
    }
    if let Some(mode) = task.mode.filter(|mode| *mode != Mode::Open) {
        let role = labels::mode_mark(mode, theme.glyphs).map_or(Role::Muted, |(_, role)| role);
        parts.push(vec![Span::styled(mode.word(), theme.style(role))]);
    }
    if let Some(model) = &task.model {
        parts.push(vec![Span::styled(crate::base::sanitize::line(model).into_owned(), theme.style(Role::Muted))]);
    }
    if let Some(context) = task.context().filter(|context| context.window > 0) {
        let high = context.tokens * 10 >= context.window * 8;
        let style = theme.style(if high { Role::GaugeHigh } else { Role::Muted });
        parts.push(vec![Span::styled(
            format!("{}/{}", labels::tokens(context.tokens), labels::tokens(context.window)),
            style,
        )]);
    }
    if task.usage.cost().0 > 0 {
        parts.push(vec![Span::styled(task.usage.cost().to_string(), theme.style(Role::Muted))]);
    }
    // Drop parts from the middle until it fits; the activity is kept longest.
    while parts.len() > 1 && joined_width(&parts) > room {
        let middle = if parts.len() > 2 { 1 } else { parts.len() - 1 };
        parts.remove(middle);
    }
    if joined_width(&parts) > room {
        parts.clear();
    }
    let gap = format!("  {}  ", theme.glyphs.dot);
    let mut spans = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            spans.push(Span::styled(gap.clone(), theme.style(Role::Faint)));
        }
        spans.extend(part);
    }
    Line::from(spans)
}

fn joined_width(parts: &[Vec<Span<'_>>]) -> usize {
    let words: usize = parts.iter().flatten().map(|span| width::of(&span.content)).sum();
    words + parts.len().saturating_sub(1) * 5
}

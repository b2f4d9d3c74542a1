//! Drawing of the detail: whichever tab is open.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::engine::snapshot::TaskView;
use crate::text::{Row, width};
use crate::theme::Role;
use crate::ui::detail::{State, Tab, page_rows};
use crate::ui::msg::Cx;
use crate::ui::paint;
use crate::ui::review;
use crate::ui::transcript;
use crate::ui::words;
use crate::ui::world::World;

/// What the open tab is drawn with.
#[derive(Clone, Copy)]
pub struct With<'a> {
    pub transcript: transcript::View<'a>,
    pub review: &'a review::State,
    /// The key that sends remarks.
    pub send: &'a str,
    pub world: &'a World,
}

/// Draws the open tab of a task into `area`. Returns where the cursor is, if something is being written there.
pub fn view(state: &State, with: With<'_>, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let task = with.transcript.task.filter(|_| !area.is_empty())?;
    let (area, foot) = split_foot(state, task, area);
    let mut cursor = None;
    match state.tab {
        Tab::Transcript => {
            if let Some(transcript) = state.transcript(task.node.id) {
                transcript::view(transcript, with.transcript, cx, area, buffer);
            }
        }
        Tab::Diff => {
            let needle = state.search.shown().to_lowercase();
            let focused = with.transcript.focused;
            let how = review::With { focused, needle: &needle, send: with.send };
            cursor = review::view(with.review, how, cx, area, buffer);
        }
        Tab::Description | Tab::Info | Tab::Log => {
            let rows = page_rows(state, task, with.world, cx, usize::from(area.width));
            draw_rows(&rows, state.top, &state.search.shown().to_lowercase(), cx, area, buffer);
        }
    }
    if let Some(line) = foot {
        draw_foot(state, task, with, cx, line, buffer);
    }
    cursor
}

/// Draws what is being looked for, and what a transcript has to say.
fn draw_foot(state: &State, task: &TaskView, with: With<'_>, cx: &Cx<'_>, line: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    let transcript = state.transcript(task.node.id).filter(|_| state.tab == Tab::Transcript);
    let mut taken = 0;
    if let Some((text, writing)) = search(state, task) {
        let mut end = paint::text(buffer, line, (1, 0), "/", theme.style(Role::Key));
        let room = usize::from(line.right().saturating_sub(end + 2));
        end = buffer.set_stringn(end, line.y, width::suffix(text, room).0, room, theme.style(Role::Text)).0;
        if writing && end < line.right() {
            buffer.set_style(Rect { x: end, width: 1, ..line }, theme.style(Role::Cursor));
        }
        if let Some(words) = transcript.and_then(transcript::found).filter(|_| end + 2 < line.right()) {
            let room = usize::from(line.right().saturating_sub(end + 3));
            let words = paint::fit(&words, room, theme.glyphs).into_owned();
            end = paint::text(buffer, line, (end + 2 - line.x, 0), &words, theme.style(Role::Muted));
        }
        taken = (end + 2).saturating_sub(line.x);
    }
    if let Some(transcript) = transcript {
        transcript::foot(transcript, with.transcript, cx, taken, line, buffer);
    }
}

/// Returns what is being looked for in the open tab, and whether it is being written.
fn search<'a>(state: &'a State, task: &TaskView) -> Option<(&'a str, bool)> {
    let (text, writing) = match state.tab {
        Tab::Transcript => {
            let search = state.transcript(task.node.id)?.search();
            (search.field.shown(), search.writing)
        }
        Tab::Diff | Tab::Description | Tab::Info | Tab::Log => (state.search.shown(), state.searching),
    };
    (writing || !text.is_empty()).then_some((text, writing))
}

/// Splits off the last line, where there is something to say on it: a line of its own hides nothing that is read.
pub fn split_foot(state: &State, task: &TaskView, area: Rect) -> (Rect, Option<Rect>) {
    let transcript = state.transcript(task.node.id).filter(|_| state.tab == Tab::Transcript);
    let told = transcript.is_some_and(|transcript| transcript::has_foot(transcript, task));
    if area.height < 4 || !(told || search(state, task).is_some()) {
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
            paint::line(buffer, line, 0, &marked.line(cx.theme));
        } else {
            paint::line(buffer, line, 0, &row.line(cx.theme));
        }
        if let Some(ground) = row.ground {
            let style = ratatui::style::Style { fg: None, ..cx.theme.style(ground) };
            paint::tint(buffer, line, style);
        }
    }
    paint::scrollbar(buffer, area, cx.theme, top, height, rows.len());
}

/// Returns what stands at the right of the title: what it is doing, the model, the context, the cost.
pub fn head_note<'a>(task: &TaskView, cx: &Cx<'_>, room: usize) -> Line<'a> {
    let theme = cx.theme;
    let (sign, role) = words::state(task, task.node.parent.is_none(), theme.glyphs);
    let doing = words::doing(task);
    let mut parts: Vec<Vec<Span<'a>>> = Vec::new();
    if !doing.is_empty() {
        parts.push(vec![Span::styled(format!("{sign} {doing}"), theme.style(role))]);
    }
    if let Some(model) = &task.model {
        parts.push(vec![Span::styled(crate::base::sanitize::line(model).into_owned(), theme.style(Role::Muted))]);
    }
    if let Some(context) = task.context().filter(|context| context.window > 0) {
        let high = context.tokens * 10 >= context.window * 8;
        let style = theme.style(if high { Role::GaugeHigh } else { Role::Muted });
        parts.push(vec![Span::styled(
            format!("{}/{}", words::tokens(context.tokens), words::tokens(context.window)),
            style,
        )]);
    }
    if task.usage.cost().0 > 0 {
        parts.push(vec![Span::styled(task.usage.cost().to_string(), theme.style(Role::Muted))]);
    }
    // What does not fit is left out from the left of the list's end: the state is said first and kept longest.
    while parts.len() > 1 && joined_width(&parts) > room {
        let middle = if parts.len() > 2 { 1 } else { parts.len() - 1 };
        parts.remove(middle);
    }
    if joined_width(&parts) > room {
        parts.clear();
    }
    let rule = format!(" {} ", theme.glyphs.rule.repeat(2));
    let mut spans = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            spans.push(Span::styled(rule.clone(), theme.style(Role::Border)));
        }
        spans.extend(part);
    }
    Line::from(spans)
}

fn joined_width(parts: &[Vec<Span<'_>>]) -> usize {
    let words: usize = parts.iter().flatten().map(|span| width::of(&span.content)).sum();
    words + parts.len().saturating_sub(1) * 4
}

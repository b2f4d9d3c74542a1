//! Draws the review: what is compared, the file list and the diff.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::base::text;
use crate::engine::review::{DiffRange, Whitespace};
use crate::text::Row;
use crate::theme::Role;
use crate::ui::draw;
use crate::ui::msg::Cx;
use crate::ui::review::files;
use crate::ui::review::layout::{Place, ReviewLayout, ReviewPosition};
use crate::ui::review::state::State;
use crate::ui::transcript;

/// Minimum columns for the file list beside the diff.
const WITH_LIST: u16 = 130;

/// The areas of a review.
struct Places {
    bar: Rect,
    files: Rect,
    rule: Rect,
    list: Rect,
}

fn places(state: &State, area: Rect) -> Places {
    let bar = Rect { height: area.height.min(1), ..area };
    let body = Rect { y: area.y + bar.height, height: area.height - bar.height, ..area };
    let several = state.comparison().is_some_and(|comparison| comparison.files.len() > 1);
    if !several || area.width < WITH_LIST {
        return Places { bar, files: Rect::default(), rule: Rect::default(), list: body };
    }
    let wide = (area.width / 4).clamp(28, 48);
    let files = Rect { width: wide, ..body };
    let rule = Rect { x: files.right(), width: 1, ..body };
    let list = Rect { x: rule.right(), width: area.width - wide - 1, ..body };
    Places { bar, files, rule, list }
}

/// Returns the area of the diff rows within the review.
pub fn list_area(state: &State, area: Rect) -> Rect {
    places(state, area).list
}

/// Everything drawing needs besides the state.
#[derive(Clone, Copy, Debug)]
pub struct With<'a> {
    pub focused: bool,
    /// The search text in lower case.
    pub needle: &'a str,
    /// The key that sends comments.
    pub send: &'a str,
}

/// Draws the review. Returns the cursor position while the user writes a comment.
pub fn view(state: &State, with: With<'_>, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    if area.is_empty() {
        return None;
    }
    let places = places(state, area);
    let Some(comparison) = state.comparison() else {
        let (words, role) = match state.problem() {
            Some(problem) => (problem.to_owned(), Role::Error),
            None => ("Comparing …".to_owned(), Role::Muted),
        };
        say(&words, role, cx, area, buffer);
        return None;
    };
    bar(state, with, cx, places.bar, buffer);
    if comparison.is_empty() {
        let words = match state.request.range {
            DiffRange::Base | DiffRange::Conversation => "No changes.",
            DiffRange::Turn { .. } => "This turn changed no file.",
            DiffRange::Edit { .. } => "This edit changed no file.",
            DiffRange::Between { .. } => "No changes between these turns.",
            DiffRange::Since { .. } | DiffRange::SinceReview => "No changes since then.",
        };
        say(words, Role::Muted, cx, places.list, buffer);
        return None;
    }
    let layout = state.layout(usize::from(places.list.width), cx.theme.glyphs);
    if !places.files.is_empty() {
        panel(state, &layout, cx, &places, buffer);
    }
    rows(state, &layout, with, cx, places.list, buffer)
}

fn say(words: &str, role: Role, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let lines = transcript::plain(words, role, usize::from(area.width).saturating_sub(6));
    for (row, y) in lines.iter().zip(area.height / 3..area.height) {
        let inner = Rect { x: area.x + 3, width: area.width.saturating_sub(3), ..area };
        draw::line(buffer, inner, y, &row.line(cx.theme));
    }
}

/// Draws the line with the compared sides, the size and the progress.
fn bar(state: &State, with: With<'_>, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    let Some(comparison) = state.comparison() else { return };
    let dot = || Span::styled(format!(" {} ", theme.glyphs.dot), theme.style(Role::Faint));
    let (old, new) = &state.sides_named;
    let clean = |name: &str| crate::base::sanitize::line(name).into_owned();
    let mut left = vec![
        Span::raw(" "),
        Span::styled(clean(old), theme.style(Role::Accent)),
        Span::styled(format!(" {} ", theme.glyphs.arrow_right), theme.style(Role::Muted)),
        Span::styled(clean(new), theme.style(Role::Accent)),
    ];
    left.extend([
        dot(),
        Span::styled(text::count(comparison.files.len(), "file", "files"), theme.style(Role::Text)),
        Span::styled(format!(" +{}", comparison.added()), theme.style(Role::DiffPlus)),
        Span::styled(format!(" -{}", comparison.removed()), theme.style(Role::DiffMinus)),
    ]);
    if comparison.hidden_files > 0 {
        let words = format!("{} more not shown", text::count(comparison.hidden_files, "file", "files"));
        left.extend([dot(), Span::styled(words, theme.style(Role::Warn))]);
    }
    let seen: usize = state.notes().map_or(0, |notes| comparison.files.iter().map(|file| file.seen(&notes.seen)).sum());
    let (words, role) = match comparison.hunks() - seen {
        0 => (format!("{} all seen", theme.glyphs.passed), Role::Ok),
        left => (format!("{left} of {} unseen", comparison.hunks()), Role::Muted),
    };
    if comparison.hunks() > 0 {
        left.extend([dot(), Span::styled(words, theme.style(role))]);
    }
    let drafts = state.notes().map_or(0, |notes| notes.drafts().count());
    if drafts > 0 {
        let words = format!("{} to send: {}", text::count(drafts, "comment", "comments"), with.send);
        left.extend([dot(), Span::styled(words, theme.style(Role::Ask))]);
    }
    let mut flags = Vec::new();
    if state.request.whitespace != Whitespace::Counts {
        flags.push("whitespace ignored".to_owned());
    }
    if state.request.context != 3 {
        flags.push(format!("context {}", state.request.context));
    }
    let right = Span::styled(flags.join(", "), theme.style(Role::Warn));
    let end = draw::line(buffer, area, 0, &draw::cut(&Line::from(left), usize::from(area.width), theme.glyphs));
    let wide = u16::try_from(right.width()).unwrap_or(u16::MAX);
    if wide > 0 && end + wide + 2 < area.right() {
        buffer.set_span(area.right() - wide - 1, area.y, &right, wide);
    }
}

/// Draws the file list.
fn panel(state: &State, layout: &ReviewLayout, cx: &Cx<'_>, places: &Places, buffer: &mut Buffer) {
    let theme = cx.theme;
    let none = crate::ui::review::TaskNotes::default();
    let notes = state.notes().unwrap_or(&none);
    let list = &layout.comparison.files;
    let height = usize::from(places.files.height);
    let top = state.cursor.file.saturating_sub(height / 2).min(list.len().saturating_sub(height));
    for ((at, file), y) in list.iter().enumerate().skip(top).zip(0..places.files.height) {
        let line = Rect { y: places.files.y + y, height: 1, ..places.files };
        let row = files::panel_row(file, notes, theme.glyphs, usize::from(line.width));
        draw::line(buffer, line, 0, &row.line(theme));
        if at == state.cursor.file {
            draw::tint(buffer, line, theme.style(Role::SelectionDim));
        }
    }
    for y in 0..places.rule.height {
        draw::text(buffer, places.rule, (0, y), theme.glyphs.vertical, theme.style(Role::Border));
    }
}

fn rows(
    state: &State,
    layout: &ReviewLayout,
    with: With<'_>,
    cx: &Cx<'_>,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let theme = cx.theme;
    let height = usize::from(area.height);
    let (row, top) = state.place(layout, height);
    let made = state.with_row_builder(layout, theme.glyphs, |make| {
        let mut made = layout.window(top..top + height, make);
        // In the middle of a file, pin its heading.
        if let Some((mark, first)) = made.first_mut().filter(|(mark, _)| mark.place != Place::Name && row > top) {
            *first = make.name(mark.file, false);
        }
        made
    });
    let (from, to) = state.chosen(layout);
    for ((at, (_, made)), y) in made.iter().enumerate().zip(0..area.height) {
        let line = Rect { y: area.y + y, height: 1, ..area };
        draw(made, with.needle, cx, line, buffer);
        if state.is_selecting() && (from..=to).contains(&(top + at)) {
            draw::tint(buffer, line, theme.style(Role::Selection));
        } else if top + at == row {
            let role = if with.focused { Role::Accent } else { Role::Faint };
            draw::text(buffer, line, (0, 0), theme.glyphs.selected, theme.style(role));
        }
    }
    draw::scrollbar(buffer, area, theme, top, height, layout.len);
    let (row, column) = layout.cursor().filter(|_| with.focused)?;
    let y = u16::try_from(row.checked_sub(top)?).ok().filter(|y| *y < area.height)?;
    let x = u16::try_from(column).ok()?.min(area.width.saturating_sub(1));
    Some(Position::new(area.x + x, area.y + y))
}

fn draw(row: &Row, needle: &str, cx: &Cx<'_>, line: Rect, buffer: &mut Buffer) {
    let shown = if needle.is_empty() { String::new() } else { row.shown().to_ascii_lowercase() };
    let mut marked = row.clone();
    for (at, found) in shown.match_indices(needle).filter(|_| !needle.is_empty()) {
        marked.mark(at..at + found.len(), Role::SearchMatch);
    }
    if let Some(ground) = row.ground {
        // The background is drawn first: the row's own styles go over it.
        draw::tint(buffer, line, Style { fg: None, ..cx.theme.style(ground) });
    }
    draw::line(buffer, line, 0, &marked.line(cx.theme));
}

/// Returns the file at a position of the file list.
pub fn file_at(state: &State, area: Rect, at: Position) -> Option<ReviewPosition> {
    let places = places(state, area);
    if !places.files.contains(at) {
        return None;
    }
    let len = state.comparison()?.files.len();
    let height = usize::from(places.files.height);
    let top = state.cursor.file.saturating_sub(height / 2).min(len.saturating_sub(height));
    let file = top + usize::from(at.y - places.files.y);
    (file < len).then_some(ReviewPosition { file, place: Place::Name })
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;

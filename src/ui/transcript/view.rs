//! Draws the visible rows of a transcript.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::base::text;
use crate::engine::snapshot::{Retry, TaskView};
use crate::theme::Role;
use crate::ui::draw;
use crate::ui::labels;
use crate::ui::msg::Cx;
use crate::ui::transcript::entry::EntryKind;
use crate::ui::transcript::layout::{self, Page, plain};
use crate::ui::transcript::match_count::{self, MatchPosition};
use crate::ui::transcript::search;
use crate::ui::transcript::state::Transcript;
use crate::ui::transcript::viewport::RowPosition;
use crate::ui::transcript::welcome;

/// Everything drawing needs besides the transcript.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub task: Option<&'a TaskView>,
    pub focused: bool,
    /// The key that goes to the end.
    pub end: &'a str,
    pub responder: Responder,
}

/// Who can answer a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Responder {
    Model,
    /// No model is set up.
    Nobody,
    /// Another process runs the project; this screen is read-only.
    Elsewhere,
}

pub fn view(transcript: &Transcript, with: View<'_>, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let page = Page { width: usize::from(area.width), unfolded: false, glyphs: cx.theme.glyphs, zone: cx.zone };
    let height = usize::from(area.height);
    if transcript.entry_count() == 0 {
        return draw_empty(transcript, with, cx, area, buffer);
    }
    let top = transcript.top(&page, height);
    let cursor = if with.focused { transcript.current(&page, height) } else { None };
    let chosen = transcript.selection(&page);
    let needle = transcript.search().needle();
    let mut y = 0;
    let mut index = top.entry;
    while y < area.height && index < transcript.entry_count() {
        let Some(entry) = transcript.entry(index) else { break };
        let lead = transcript.lead(index, &page);
        let rows = transcript.rows(entry, &page);
        let skip = if index == top.entry { top.row } else { 0 };
        for (at, row) in lead.iter().chain(rows.iter()).enumerate().skip(skip) {
            if y >= area.height {
                break;
            }
            let line = Rect { y: area.y + y, height: 1, ..area };
            let here = RowPosition { entry: index, row: at };
            let found = needle.as_ref().filter(|_| at >= lead.len());
            match found {
                Some(needle) => {
                    let current = transcript
                        .search()
                        .current
                        .is_some_and(|anchor| anchor.id == entry.id && anchor.row == (at - lead.len()).cast_signed());
                    let mut marked = row.clone();
                    search::mark(&mut marked, needle, current);
                    draw::line(buffer, line, 0, &marked.line(cx.theme));
                }
                None => {
                    draw::line(buffer, line, 0, &row.line(cx.theme));
                }
            }
            if let Some(ground) = row.ground {
                let style = cx.theme.style(ground);
                let style = ratatui::style::Style { fg: None, ..style };
                draw::tint(buffer, line, style);
            }
            if chosen.is_some_and(|(from, to)| (from..=to).contains(&here)) {
                draw::tint(buffer, line, cx.theme.style(Role::Selection));
            }
            if cursor == Some(index) && at >= lead.len() {
                draw::text(buffer, line, (0, 0), cx.theme.glyphs.selected, cx.theme.style(Role::Accent));
            }
            if at == lead.len() {
                running(entry, with, cx, Rect { width: page.line_width(), ..line }, buffer);
            }
            y += 1;
        }
        index += 1;
    }
    if !transcript.fits(&page, height) {
        // Position by entries: counting all rows would be slow.
        let shown = (index - top.entry).min(transcript.entry_count().saturating_sub(1)).max(1);
        draw::scrollbar(buffer, area, cx.theme, top.entry, shown, transcript.entry_count());
    }
}

/// Draws the elapsed time of a running call at the end of its line.
fn running(entry: &crate::ui::transcript::entry::Entry, with: View<'_>, cx: &Cx<'_>, line: Rect, buffer: &mut Buffer) {
    let alive = with.task.is_some_and(TaskView::is_working);
    if let EntryKind::Tool(tool) = &entry.kind
        && tool.result.is_none()
        && !entry.undone
    {
        let words = match layout::pending_call(tool) {
            layout::PendingCall::Running if alive => format!(" {}", labels::elapsed(entry.at, cx.now)),
            layout::PendingCall::Running => " unfinished".to_owned(),
            layout::PendingCall::Waiting => " for a message".to_owned(),
            layout::PendingCall::Final => return,
        };
        draw::right(buffer, line, 0, &words, cx.theme.style(Role::Muted));
    }
}

/// Returns true if the transcript needs a foot line, see [`foot`].
pub fn has_foot(transcript: &Transcript, task: &TaskView) -> bool {
    transcript.entry_count() > 0 && (!transcript.is_following() || task.retry.is_some())
}

/// Draws the foot line: a pending retry, and a note if the end is not visible. If `taken` columns are in use, only one
/// of them.
pub fn foot(transcript: &Transcript, with: View<'_>, cx: &Cx<'_>, taken: u16, line: Rect, buffer: &mut Buffer) {
    let room = Rect { x: line.x + taken, width: line.width.saturating_sub(taken + 1), ..line };
    let retry = with.task.and_then(|task| task.retry.as_ref()).map(|retry| (retrying(retry, cx), Role::Warn));
    let note = (!transcript.is_following()).then(|| (not_following_note(transcript, with, cx), Role::Muted));
    let (left, right) = if taken == 0 { (retry, note) } else { (None, note.or(retry)) };
    let mut columns = usize::from(room.width);
    if let Some((words, role)) = right {
        let words = draw::fit(&words, columns, cx.theme.glyphs);
        columns -= usize::from(draw::right(buffer, room, 0, &words, cx.theme.style(role)));
    }
    if let Some((words, role)) = left {
        let words = draw::fit(&words, columns.saturating_sub(3), cx.theme.glyphs);
        draw::text(buffer, room, (1, 0), &words, cx.theme.style(role));
    }
}

/// Returns the position among the matches and their number. A plus sign means that there may be more.
pub fn found(transcript: &Transcript) -> Option<String> {
    if transcript.search().is_running() {
        return Some("searching…".to_owned());
    }
    let MatchPosition { at, total, whole } = transcript.match_position()?;
    let more = if !whole || transcript.has_more() || total >= match_count::MAX_MATCHES { "+" } else { "" };
    match (at, total) {
        (_, 0) if !whole => None,
        (_, 0) if transcript.has_more() => Some("not found in the loaded part".to_owned()),
        (_, 0) => Some("not found".to_owned()),
        (Some(at), total) => Some(format!("{at}/{total}{more}")),
        (None, total) => Some(format!("{total}{more}")),
    }
}

fn not_following_note(transcript: &Transcript, with: View<'_>, cx: &Cx<'_>) -> String {
    match transcript.unseen {
        0 => format!("not following: {} to go to the end", with.end),
        new => format!(
            "{} {} below: {} to go there",
            cx.theme.glyphs.arrow_down,
            text::count(new, "new entry", "new entries"),
            with.end
        ),
    }
}

fn retrying(retry: &Retry, cx: &Cx<'_>) -> String {
    format!(
        "{} {}: retry in {} ({} of {})",
        cx.theme.glyphs.recurring,
        crate::base::sanitize::line(&retry.reason),
        labels::remaining(retry.until, cx.now),
        retry.attempt,
        retry.of
    )
}

fn draw_empty(transcript: &Transcript, with: View<'_>, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    if transcript.is_loading() {
        return draw_words(&[("Loading …", Role::Muted)], cx, area, buffer);
    }
    let is_root = with.task.is_some_and(|task| task.node.parent.is_none());
    match with.responder {
        Responder::Elsewhere => draw_words(
            &[("No messages yet.", Role::Muted), ("Activity of the other mxd appears here.", Role::Muted)],
            cx,
            area,
            buffer,
        ),
        Responder::Nobody => welcome::draw_without_model(cx, area, buffer),
        Responder::Model if is_root => welcome::draw(cx, area, buffer),
        Responder::Model => draw_words(
            &[("No messages yet.", Role::Text), ("Write a message below to start the task.", Role::Muted)],
            cx,
            area,
            buffer,
        ),
    }
}

fn draw_words(lines: &[(&str, Role)], cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let from = area.height.saturating_sub(u16::try_from(lines.len()).unwrap_or(0)) / 3;
    let inner = Rect { x: area.x + 3, width: area.width.saturating_sub(4), ..area };
    let wide = usize::from(inner.width).max(1);
    let rows = lines.iter().flat_map(|(line, role)| plain(line, *role, wide));
    for (row, y) in rows.zip(from..area.height) {
        draw::line(buffer, inner, y, &row.line(cx.theme));
    }
}

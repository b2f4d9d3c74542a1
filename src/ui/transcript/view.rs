//! Drawing of a transcript: only the rows that are seen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::base::text;
use crate::engine::snapshot::{Retry, TaskView};
use crate::theme::Role;
use crate::ui::msg::Cx;
use crate::ui::paint;
use crate::ui::transcript::entry::Kind;
use crate::ui::transcript::lay::{self, Page, plain};
use crate::ui::transcript::search;
use crate::ui::transcript::state::Transcript;
use crate::ui::transcript::tally::{self, Standing};
use crate::ui::transcript::viewport::Spot;
use crate::ui::words;

/// What drawing needs besides the transcript.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub task: Option<&'a TaskView>,
    pub focused: bool,
    /// The key that goes to the end.
    pub end: &'a str,
    pub company: Company,
}

/// Who is there to be spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    Model,
    /// No model is set up, so nothing can be said.
    Nobody,
    /// Another program has the project, and speaks from there.
    Elsewhere,
}

/// Draws the visible rows into `area`.
pub fn view(transcript: &Transcript, with: View<'_>, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let page = Page { width: usize::from(area.width), unfolded: false, glyphs: cx.theme.glyphs, zone: cx.zone };
    let height = usize::from(area.height);
    if transcript.entry_count() == 0 {
        return nothing(transcript, with, cx, area, buffer);
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
            let here = Spot { entry: index, row: at };
            let found = needle.as_ref().filter(|_| at >= lead.len());
            match found {
                Some(needle) => {
                    let current = transcript
                        .search()
                        .current
                        .is_some_and(|anchor| anchor.id == entry.id && anchor.row == (at - lead.len()).cast_signed());
                    let mut marked = row.clone();
                    search::mark(&mut marked, needle, current);
                    paint::line(buffer, line, 0, &marked.line(cx.theme));
                }
                None => {
                    paint::line(buffer, line, 0, &row.line(cx.theme));
                }
            }
            if let Some(ground) = row.ground {
                let style = cx.theme.style(ground);
                let style = ratatui::style::Style { fg: None, ..style };
                paint::tint(buffer, line, style);
            }
            if chosen.is_some_and(|(from, to)| (from..=to).contains(&here)) {
                paint::tint(buffer, line, cx.theme.style(Role::Selection));
            }
            if cursor == Some(index) && at >= lead.len() {
                paint::text(buffer, line, (0, 0), cx.theme.glyphs.selected, cx.theme.style(Role::Accent));
            }
            if at == lead.len() {
                running(entry, with, cx, line, buffer);
            }
            y += 1;
        }
        index += 1;
    }
    if !transcript.fits(&page, height) {
        // Rows are not counted for this: where one is among the entries says enough.
        let shown = (index - top.entry).min(transcript.entry_count().saturating_sub(1)).max(1);
        paint::scrollbar(buffer, area, cx.theme, top.entry, shown, transcript.entry_count());
    }
}

/// Writes how long a command has been running at the end of its line.
fn running(entry: &crate::ui::transcript::entry::Entry, with: View<'_>, cx: &Cx<'_>, line: Rect, buffer: &mut Buffer) {
    let alive = with.task.is_some_and(TaskView::is_working);
    if let Kind::Tool(tool) = &entry.kind
        && tool.result.is_none()
        && !entry.undone
    {
        let words = match lay::open(tool) {
            lay::Open::Runs if alive => format!(" {}", words::elapsed(entry.at, cx.now)),
            lay::Open::Runs => " not finished".to_owned(),
            lay::Open::Sleeps => " until something comes".to_owned(),
            lay::Open::Over => return,
        };
        let inner = Rect { width: line.width.saturating_sub(1), ..line };
        paint::right(buffer, inner, 0, &words, cx.theme.style(Role::Muted));
    }
}

/// Tells whether there is something to say on a line of its own below the transcript, see [`foot`].
pub fn has_foot(transcript: &Transcript, task: &TaskView) -> bool {
    transcript.entry_count() > 0 && (!transcript.is_following() || task.retry.is_some())
}

/// Says on a line of its own what cannot be seen from here: that something is tried again, and that one is not at the
/// end. Where `taken` columns are used for something else already, only the nearer of the two.
pub fn foot(transcript: &Transcript, with: View<'_>, cx: &Cx<'_>, taken: u16, line: Rect, buffer: &mut Buffer) {
    let room = Rect { x: line.x + taken, width: line.width.saturating_sub(taken + 1), ..line };
    let retry = with.task.and_then(|task| task.retry.as_ref()).map(|retry| (retrying(retry, cx), Role::Warn));
    let away = (!transcript.is_following()).then(|| (away(transcript, with, cx), Role::Muted));
    let (left, right) = if taken == 0 { (retry, away) } else { (None, away.or(retry)) };
    let mut columns = usize::from(room.width);
    if let Some((words, role)) = right {
        let words = paint::fit(&words, columns, cx.theme.glyphs);
        columns -= usize::from(paint::right(buffer, room, 0, &words, cx.theme.style(role)));
    }
    if let Some((words, role)) = left {
        let words = paint::fit(&words, columns.saturating_sub(3), cx.theme.glyphs);
        paint::text(buffer, room, (1, 0), &words, cx.theme.style(role));
    }
}

/// Says how many places were found, and which of them one is at. A plus sign: there may be more of them.
pub fn found(transcript: &Transcript) -> Option<String> {
    if transcript.search().is_hunting() {
        return Some("still looking".to_owned());
    }
    let Standing { at, total, whole } = transcript.standing()?;
    let more = if !whole || transcript.has_more() || total >= tally::MOST { "+" } else { "" };
    match (at, total) {
        (_, 0) if !whole => None,
        (_, 0) if transcript.has_more() => Some("not in what is loaded".to_owned()),
        (_, 0) => Some("not found".to_owned()),
        (Some(at), total) => Some(format!("{at}/{total}{more}")),
        (None, total) => Some(format!("{total}{more}")),
    }
}

fn away(transcript: &Transcript, with: View<'_>, cx: &Cx<'_>) -> String {
    match transcript.unseen {
        0 => format!("not following: {} goes to the end", with.end),
        new => format!(
            "{} {} below: {} goes there",
            cx.theme.glyphs.arrow_down,
            text::count(new, "new entry", "new entries"),
            with.end
        ),
    }
}

fn retrying(retry: &Retry, cx: &Cx<'_>) -> String {
    format!(
        "{} {}: again in {}, {} of {}",
        cx.theme.glyphs.recurring,
        crate::base::sanitize::line(&retry.reason),
        words::remaining(retry.until, cx.now),
        retry.attempt,
        retry.of
    )
}

fn nothing(transcript: &Transcript, with: View<'_>, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let lines: &[&str] = if transcript.is_loading() {
        &["Reading …"]
    } else if with.company == Company::Elsewhere {
        &["Nothing has been said here yet.", "What the other mxd does appears here."]
    } else if with.company == Company::Nobody {
        &[
            "No model is set up yet, so nobody can answer.",
            "Type /set_up to be asked for what is missing,",
            "or set ANTHROPIC_API_KEY or OPENAI_API_KEY and start again.",
        ]
    } else if with.task.is_some_and(|task| task.node.parent.is_none()) {
        &[
            "This is the orchestrator of the project.",
            "Say below what you want done. It splits the work into tasks,",
            "and each of them gets an agent, a branch and a worktree of its own.",
        ]
    } else {
        &["Nothing has been said here yet.", "Write below to start it."]
    };
    let from = area.height.saturating_sub(u16::try_from(lines.len()).unwrap_or(0)) / 3;
    let inner = Rect { x: area.x + 3, width: area.width.saturating_sub(4), ..area };
    let rows = plain(&lines.join("\n"), Role::Muted, usize::from(inner.width).max(1));
    for (row, y) in rows.iter().zip(from..area.height) {
        paint::line(buffer, inner, y, &row.line(cx.theme));
    }
}

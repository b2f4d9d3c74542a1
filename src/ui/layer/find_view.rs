//! Draws the search over all tasks: two lines per result, title and excerpt.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::base::sanitize;
use crate::text::{self as words, format, width};
use crate::theme::Role;
use crate::ui::draw;
use crate::ui::layer::Find;
use crate::ui::layer::view::{centred, input, open};
use crate::ui::msg::Cx;

/// The rows of one result.
const ROWS: u16 = 2;

pub(super) fn frame(screen: Rect) -> Rect {
    centred(screen, 104, 28)
}

/// Returns the area of the list and the first visible result.
fn list(find: &Find, screen: Rect) -> (Rect, usize) {
    let frame = frame(screen);
    let list = Rect {
        x: frame.x + 1,
        y: frame.y + 3,
        width: frame.width.saturating_sub(2),
        height: frame.height.saturating_sub(4),
    };
    let shown = usize::from(list.height / ROWS).max(1);
    (list, (find.cursor.chosen + 1).saturating_sub(shown))
}

/// Returns the result at a position on the screen.
pub(super) fn hit_at(find: &Find, screen: Rect, at: Position) -> Option<usize> {
    let (list, top) = list(find, screen);
    let place = top + usize::from(at.y.checked_sub(list.y)? / ROWS);
    (list.contains(at) && place < find.hits().len()).then_some(place)
}

pub fn view(find: &Find, cx: &Cx<'_>, screen: Rect, buffer: &mut Buffer) -> Position {
    let theme = cx.theme;
    let inner = open(frame(screen), "search everything", cx, buffer);
    let cursor = input(&find.field, "search for…", cx, inner, buffer);
    let (list, top) = list(find, screen);
    let note_line = Rect { y: inner.y + 1, height: 1, ..inner };
    match &find.problem {
        Some(problem) => draw::text(buffer, note_line, (3, 0), &sanitize::line(problem), theme.style(Role::Error)),
        None => draw::text(buffer, note_line, (3, 0), find.state(), theme.style(Role::Muted)),
    };
    let height = usize::from(list.height / ROWS);
    for ((at, hit), y) in find.hits().iter().enumerate().skip(top).take(height).zip((0..).step_by(usize::from(ROWS))) {
        let place = Rect { y: list.y + y, height: ROWS, ..list };
        let rewound = if hit.rewound { ", rewound" } else { "" };
        let note = format!("{}{rewound}  {}", hit.place, format::ago(cx.now, hit.at));
        let room = usize::from(list.width).saturating_sub(width::of(&note) + 6);
        let title = sanitize::line(&hit.title).into_owned();
        let shown = draw::fit(&title, room, theme.glyphs).into_owned();
        draw::text(buffer, place, (3, 0), &shown, theme.style(Role::Title));
        draw::right(buffer, Rect { width: place.width.saturating_sub(2), ..place }, 0, &note, theme.style(Role::Muted));
        let mut excerpt = excerpt(&hit.excerpt, &hit.marks);
        excerpt.truncate(usize::from(list.width).saturating_sub(6), theme.glyphs.ellipsis);
        let below = Rect { x: place.x + 3, width: place.width.saturating_sub(4), ..place };
        draw::line(buffer, below, 1, &excerpt.line(theme));
        if at == find.cursor.chosen {
            draw::tint(buffer, place, theme.style(Role::Selection));
        }
    }
    draw::scrollbar(buffer, list, theme, top, height, find.hits().len());
    cursor
}

/// Returns an excerpt with the matches highlighted. Each piece is sanitized by itself, so that the ranges stay valid.
fn excerpt(text: &str, marks: &[std::ops::Range<usize>]) -> words::Row {
    let mut row = words::Row::blank();
    let mut at = 0;
    let mut piece = |from: usize, to: usize, role: Role| {
        let piece = text.get(from..to).unwrap_or_default();
        let shown = width::visible(&sanitize::line(piece)).into_owned();
        if !shown.is_empty() {
            row.push(words::Span::new(shown, role));
        }
    };
    for mark in marks {
        piece(at, mark.start, Role::Text);
        piece(mark.start, mark.end, Role::Match);
        at = mark.end;
    }
    piece(at, text.len(), Role::Text);
    row
}

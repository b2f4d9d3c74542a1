//! Text as rows: what agents write in Markdown, what tools print, and text that is just text.

use crate::base::text;
use crate::text::markdown;
use crate::text::wrap::{self, Break, Index, Layout};
use crate::text::{AnsiText, Document, MEASURE, Row, Span, width};
use crate::theme::Role;
use crate::ui::transcript::lay::Page;

/// The most rows that an unfolded entry shows.
pub const MOST_ROWS: usize = 400;

/// The most bytes of one text that are laid out. Nobody reads more of it on a screen, and every other width would cost
/// all of it again.
pub const LAID: usize = 256 * 1024;

/// Returns Markdown as rows.
pub fn prose(text: &str, page: &Page<'_>) -> Vec<Row> {
    let shown = text::prefix(text, LAID);
    let mut rows = markdown::render(shown, markdown_page(page));
    rows.extend(left_out(text.len() - shown.len()));
    rows
}

/// Says how much of a text is not shown, if something is not.
fn left_out(bytes: usize) -> Option<Row> {
    let size = text::size(u64::try_from(bytes).unwrap_or(u64::MAX));
    (bytes > 0)
        .then(|| Row::new(vec![Span::decoration(format!("… {size} more: the pager shows all of it"), Role::Faint)]))
}

/// Returns how Markdown is laid out here.
pub fn markdown_page(page: &Page<'_>) -> crate::text::Page {
    crate::text::Page::new(page.room(), page.glyphs)
}

/// Returns text as it is, wrapped where it can be read well.
pub fn plain(text: &str, role: Role, room: usize) -> Vec<Row> {
    let room = room.min(MEASURE);
    let shown = text::prefix(text, LAID);
    let hidden = left_out(text.len() - shown.len());
    let text = width::visible(shown);
    let lines = text.lines().map(|line| [Span::new(line.to_owned(), role)]);
    lines.flat_map(|line| wrap::spans(&line, room, &[], &[], Break::Words)).chain(hidden).collect()
}

/// Returns what a tool printed, with its colours as roles. However much it is, only what is shown is laid out.
pub fn printed(output: &str, page: &Page<'_>) -> Vec<Row> {
    let shown = text::prefix(output, LAID);
    bounded(AnsiText::of(shown).document(), Layout::anywhere(page.room()), shown.len() < output.len(), page)
}

/// Returns text of one kind, as much of it as is shown.
pub fn long(text: &str, role: Role, page: &Page<'_>) -> Vec<Row> {
    let shown = text::prefix(text, LAID);
    bounded(&Document::plain(shown, role), Layout::anywhere(page.room()), shown.len() < text.len(), page)
}

/// Returns what was told to an agent, as much of it as is shown.
pub fn told(text: &str, role: Role, page: &Page<'_>) -> Vec<Row> {
    let shown = text::prefix(text, LAID);
    let layout = Layout::words(page.room().min(MEASURE));
    bounded(&Document::plain(shown, role), layout, shown.len() < text.len(), page)
}

/// Returns the last rows of what a tool printed.
pub fn last_printed(output: &str, rows: usize, page: &Page<'_>) -> Vec<Row> {
    // Before the last few thousand bytes nothing can be seen: a row is never longer than that.
    let ansi = AnsiText::of(text::suffix(output.trim_end(), 16 * 1024));
    let mut index = Index::new(Layout::anywhere(page.room()));
    let count = ansi.document().count_to(&mut index, usize::MAX);
    ansi.document().rows(&mut index, count.saturating_sub(rows), rows)
}

/// Returns the first rows of a document, and what there is besides. `cut`: it is only the beginning of a text.
fn bounded(document: &Document, layout: Layout, cut: bool, page: &Page<'_>) -> Vec<Row> {
    let mut index = Index::new(layout);
    let mut rows = document.rows(&mut index, 0, MOST_ROWS);
    // Counting on costs what is counted; beyond a few thousand the exact number helps nobody.
    let count = document.count_to(&mut index, MOST_ROWS * 25);
    if count > MOST_ROWS || cut {
        let more = if count < MOST_ROWS * 25 && !cut {
            text::count(count - MOST_ROWS, "more line", "more lines")
        } else {
            "many more lines".to_owned()
        };
        let words = format!("{} {more}: the pager shows all of it", page.glyphs.ellipsis);
        rows.push(Row::new(vec![Span::decoration(words, Role::Faint)]));
    }
    rows
}

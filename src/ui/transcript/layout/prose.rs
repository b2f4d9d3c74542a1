//! Text as rows: Markdown, tool output and plain text.

use crate::base::text;
use crate::text::markdown;
use crate::text::wrap::{self, Break, Index, WrapLayout};
use crate::text::{AnsiText, Document, MEASURE, Row, Span, width};
use crate::theme::Role;
use crate::ui::transcript::layout::Page;

/// The maximum rows of an unfolded entry.
pub const MAX_ROWS: usize = 400;

/// The maximum bytes of one text that are laid out. Nobody reads more on a screen, and every width change would cost
/// all of it again.
pub const MAX_BYTES: usize = 256 * 1024;

pub fn prose(text: &str, page: &Page<'_>) -> Vec<Row> {
    let shown = text::prefix(text, MAX_BYTES);
    let mut rows = markdown::render(shown, markdown_page(page));
    rows.extend(truncation_note(text.len() - shown.len()));
    rows
}

/// Returns a row that says how much of a text is not shown.
fn truncation_note(bytes: usize) -> Option<Row> {
    let size = text::size(u64::try_from(bytes).unwrap_or(u64::MAX));
    (bytes > 0)
        .then(|| Row::new(vec![Span::decoration(format!("… {size} more: open the pager to see all"), Role::Faint)]))
}

pub fn markdown_page(page: &Page<'_>) -> crate::text::Page {
    crate::text::Page::new(page.room(), page.glyphs)
}

/// Wraps plain text to a readable width.
pub fn plain(text: &str, role: Role, room: usize) -> Vec<Row> {
    let room = room.min(MEASURE);
    let shown = text::prefix(text, MAX_BYTES);
    let hidden = truncation_note(text.len() - shown.len());
    let text = width::visible(shown);
    let lines = text.lines().map(|line| [Span::new(line.to_owned(), role)]);
    lines.flat_map(|line| wrap::spans(&line, room, &[], &[], Break::Words)).chain(hidden).collect()
}

/// Returns tool output with its colours as roles. Lays out only what is shown.
pub fn tool_output(output: &str, page: &Page<'_>) -> Vec<Row> {
    let shown = text::prefix(output, MAX_BYTES);
    bounded(AnsiText::of(shown).document(), WrapLayout::anywhere(page.room()), shown.len() < output.len(), page)
}

/// Returns text with one role, cut to the maximum rows.
pub fn long_text(text: &str, role: Role, page: &Page<'_>) -> Vec<Row> {
    let shown = text::prefix(text, MAX_BYTES);
    bounded(&Document::plain(shown, role), WrapLayout::anywhere(page.room()), shown.len() < text.len(), page)
}

/// Returns text sent to an agent, cut to the maximum rows.
pub fn long_prose(text: &str, role: Role, page: &Page<'_>) -> Vec<Row> {
    let shown = text::prefix(text, MAX_BYTES);
    let layout = WrapLayout::words(page.room().min(MEASURE));
    bounded(&Document::plain(shown, role), layout, shown.len() < text.len(), page)
}

/// Returns the last rows of tool output.
pub fn last_output(output: &str, rows: usize, page: &Page<'_>) -> Vec<Row> {
    // A row is never longer than a few thousand bytes: ignore everything before.
    let ansi = AnsiText::of(text::suffix(output.trim_end(), 16 * 1024));
    let mut index = Index::new(WrapLayout::anywhere(page.room()));
    let count = ansi.document().count_to(&mut index, usize::MAX);
    ansi.document().rows(&mut index, count.saturating_sub(rows), rows)
}

/// Returns the first rows of a document, and a note about the rest. `cut` is true if the text was already cut.
fn bounded(document: &Document, layout: WrapLayout, cut: bool, page: &Page<'_>) -> Vec<Row> {
    let mut index = Index::new(layout);
    let mut rows = document.rows(&mut index, 0, MAX_ROWS);
    // Counting takes time; beyond a few thousand rows the exact number does not matter.
    let count = document.count_to(&mut index, MAX_ROWS * 25);
    if count > MAX_ROWS || cut {
        let more = if count < MAX_ROWS * 25 && !cut {
            text::count(count - MAX_ROWS, "more line", "more lines")
        } else {
            "many more lines".to_owned()
        };
        let words = format!("{} {more}: open the pager to see all", page.glyphs.ellipsis);
        rows.push(Row::new(vec![Span::decoration(words, Role::Faint)]));
    }
    rows
}

//! Breaks text into rows of a width, as byte ranges. Nothing is copied, and layout is lazy: a row costs its own
//! length, wherever it is in a megabyte of text.
//!
//! Text must have passed [`super::width::visible`]. Every byte of it is in exactly one row, except line feeds and the
//! spaces at which a row was broken. A grapheme is never broken, and a row always makes progress.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthChar;

use super::row::{Row, RowEnd, Span};
use super::width;

/// Where a line may be broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Break {
    /// Between words; inside a word only if it is longer than a row.
    #[default]
    Words,
    /// Anywhere, with every space preserved, as in code.
    Anywhere,
}

/// The widths of rows and how lines are broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrapLayout {
    /// The columns of a row that starts a line.
    pub first: usize,
    /// The columns of a row that continues a line.
    pub rest: usize,
    pub breaks: Break,
}

impl WrapLayout {
    pub fn words(width: usize) -> Self {
        Self { first: width.max(1), rest: width.max(1), breaks: Break::Words }
    }

    pub fn anywhere(width: usize) -> Self {
        Self { breaks: Break::Anywhere, ..Self::words(width) }
    }
}

/// A row as a range of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub range: Range<usize>,
    pub end: RowEnd,
    /// Set when the row continues a line.
    pub continues: bool,
}

/// An iterator over the rows of a text.
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    text: &'a str,
    layout: WrapLayout,
    at: Start,
    /// The end of the current line, once found.
    line_end: Option<usize>,
}

/// Where a row starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    byte: usize,
    continues: bool,
}

pub fn pieces(text: &str, layout: WrapLayout) -> Pieces<'_> {
    pieces_from(text, layout, Start::default())
}

fn pieces_from(text: &str, layout: WrapLayout, at: Start) -> Pieces<'_> {
    Pieces { text, layout, at, line_end: None }
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let Start { byte: from, continues } = self.at;
        if from >= self.text.len() && !continues {
            return None;
        }
        let line_end = *self.line_end.get_or_insert_with(|| {
            memchr::memchr(b'\n', &self.text.as_bytes()[from..]).map_or(self.text.len(), |at| from + at)
        });
        let columns = if continues { self.layout.rest } else { self.layout.first };
        let row_break = find_break(&self.text[from..line_end], columns, self.layout.breaks, continues);
        let Some((len, skip)) = row_break.filter(|(len, skip)| from + len + skip < line_end) else {
            self.at = Start { byte: line_end + 1, continues: false };
            self.line_end = None;
            // Spaces past the edge are not shown.
            let end = row_break.map_or(line_end, |(len, _)| from + len);
            return Some(Piece { range: from..end, end: RowEnd::Line, continues });
        };
        let end = if skip == 0 { RowEnd::Wrapped } else { RowEnd::WrappedAtSpace };
        self.at = Start { byte: from + len + skip, continues: true };
        Some(Piece { range: from..from + len, end, continues })
    }
}

/// Returns the length of the first row of `line` and the bytes of spaces after it, or `None` if all of it fits.
fn find_break(line: &str, columns: usize, breaks: Break, continues: bool) -> Option<(usize, usize)> {
    let bytes = line.as_bytes();
    let window = &bytes[..bytes.len().min(columns + 1)];
    let cut = if window.iter().all(|b| matches!(b, b' '..=b'~')) {
        if bytes.len() <= columns {
            return None;
        }
        match breaks {
            Break::Anywhere => columns,
            Break::Words => {
                // A space right after the row is as good a break as one inside it.
                let indent = window.iter().take_while(|b| **b == b' ' && !continues).count().max(1);
                memchr::memrchr(b' ', &window[indent..]).map_or(columns, |at| indent + at)
            }
        }
    } else {
        wide_cut(line, columns, breaks, continues)?
    };
    if breaks == Break::Anywhere {
        return Some((cut, 0));
    }
    let mut skip = bytes[cut..].iter().take_while(|b| **b == b' ').count();
    if skip > 0 && line[cut + skip..].chars().next().is_some_and(|c| !c.is_ascii() && c.width() == Some(0)) {
        // The last space carries a combining mark and counts as a character.
        skip -= 1;
    }
    let len = line[..cut].trim_end_matches(' ').len();
    if len == 0 {
        // A row of spaces only is kept: an indent deeper than the screen must not vanish.
        return Some((cut, 0));
    }
    Some((len, cut - len + skip))
}

/// Closing punctuation that must not start a row in CJK text.
const NOT_FIRST: &str = "、。，．！？：；」』）】》〉…ー々";

/// Like the fast path, for text in which bytes are not columns.
fn wide_cut(line: &str, columns: usize, breaks: Break, continues: bool) -> Option<usize> {
    let mut used = 0;
    let mut last_break = None;
    let mut indented = !continues;
    let mut before_is_wide = false;
    for (at, symbol) in line.grapheme_indices(true) {
        let wide = width::grapheme(symbol);
        indented &= symbol == " ";
        let may_start = !symbol.chars().next().is_some_and(|c| NOT_FIRST.contains(c));
        if at > 0 && (symbol == " " && !indented || (wide > 1 || before_is_wide) && may_start) {
            last_break = Some(at);
        }
        before_is_wide = wide > 1;
        if used + wide > columns && at > 0 {
            return Some(match breaks {
                Break::Words => last_break.unwrap_or(at),
                Break::Anywhere => at,
            });
        }
        used += wide;
    }
    None
}

/// The number of rows between two stored starts.
const STEP: usize = 64;

/// The rows of a long or growing text, found from any row without wrapping the whole text again.
#[derive(Clone, Debug)]
pub struct Index {
    layout: WrapLayout,
    /// The start of every [`STEP`]th row.
    marks: Vec<Start>,
    /// The number of known rows, and the start of the next one.
    known: usize,
    next: Start,
    /// The length of the text when `known` was counted, and whether all of it was.
    len: usize,
    whole: bool,
}

impl Index {
    pub fn new(layout: WrapLayout) -> Self {
        Self { layout, marks: Vec::new(), known: 0, next: Start::default(), len: 0, whole: false }
    }

    pub fn layout(&self) -> WrapLayout {
        self.layout
    }

    /// Drops all state, for text that changed other than by growing.
    pub fn reset(&mut self) {
        *self = Self::new(self.layout);
    }

    /// Returns up to `count` rows, starting at row `from`.
    pub fn rows(&mut self, text: &str, from: usize, count: usize) -> Vec<Piece> {
        self.count_to(text, from);
        if from > self.known {
            return Vec::new();
        }
        let mark = (from / STEP).min(self.marks.len().saturating_sub(1));
        let start = self.marks.get(mark).copied().unwrap_or_default();
        pieces_from(text, self.layout, start).skip(from - mark * STEP).take(count).collect()
    }

    /// Returns the number of rows of `text`, but counts no further than `enough`.
    pub fn count_to(&mut self, text: &str, enough: usize) -> usize {
        self.notice_growth(text);
        if self.whole || self.known >= enough {
            return self.known;
        }
        let mut pieces = pieces_from(text, self.layout, self.next);
        while self.known < enough {
            let at = pieces.at;
            if pieces.next().is_none() {
                self.whole = true;
                break;
            }
            if self.known.is_multiple_of(STEP) {
                self.marks.push(at);
            }
            self.known += 1;
            self.next = pieces.at;
        }
        self.known
    }

    pub fn count(&mut self, text: &str) -> usize {
        self.count_to(text, usize::MAX)
    }

    fn notice_growth(&mut self, text: &str) {
        if text.len() == self.len {
            return;
        }
        if text.len() < self.len {
            self.reset();
        }
        self.len = text.len();
        self.whole = false;
        // Added text can still join the last word and the last grapheme, so the last two rows are computed again.
        let mark = self.known.saturating_sub(2) / STEP;
        self.known = mark * STEP;
        self.next = self.marks.get(mark).copied().unwrap_or_default();
        self.marks.truncate(mark);
    }
}

/// Breaks spans into rows, each starting with a prefix. Returns at least one row.
pub fn spans(spans: &[Span], width: usize, first: &[Span], rest: &[Span], breaks: Break) -> Vec<Row> {
    let text: String = spans.iter().map(|span| span.text.as_ref()).collect();
    let room = |prefix: &[Span]| width::left(width, prefix.iter().map(Span::width).sum()).unwrap_or(1);
    let layout = WrapLayout { first: room(first), rest: room(rest), breaks };
    let mut cutter = Cutter { spans, at: 0, offset: 0 };
    let mut pieces = pieces(&text, layout);
    let mut rows: Vec<Row> = Vec::new();
    while let Some(piece) = pieces.next() {
        let mut row = Row::new(if rows.is_empty() { first.to_vec() } else { rest.to_vec() });
        row.end = piece.end;
        cutter.take(&piece.range, &mut row);
        rows.push(row);
        // The first prefix is only for the first row, even if more lines follow.
        pieces.layout.first = layout.rest;
    }
    if rows.is_empty() {
        rows.push(Row::new(first.to_vec()));
    }
    rows
}

/// Cuts spans along increasing ranges of their joined text.
struct Cutter<'a> {
    spans: &'a [Span],
    at: usize,
    /// The offset of the span `at` in the joined text.
    offset: usize,
}

impl Cutter<'_> {
    fn take(&mut self, range: &Range<usize>, row: &mut Row) {
        while let Some(span) = self.spans.get(self.at) {
            let span_end = self.offset + span.text.len();
            let (from, to) = (range.start.max(self.offset), range.end.min(span_end));
            if from < to {
                let text = span.text[from - self.offset..to - self.offset].to_owned();
                row.push(Span { text: text.into(), ..span.clone() });
            }
            if span_end > range.end {
                return;
            }
            self.offset = span_end;
            self.at += 1;
        }
    }
}

#[cfg(test)]
#[path = "wrap_tests.rs"]
mod tests;

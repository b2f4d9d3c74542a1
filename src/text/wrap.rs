//! Text broken into rows of a width, as ranges of bytes. Nothing is copied and nothing is laid out before it is asked
//! for: a row costs its own length, wherever in a megabyte it stands.
//!
//! Text must have passed [`super::width::visible`]. Every byte of it is in exactly one row, except line feeds and
//! the spaces at which a row was broken. A grapheme is never broken, and a row always makes progress.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthChar;

use super::row::{Row, RowEnd, Span};
use super::width;

/// Where a line may be broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Break {
    /// Between words; within a word only if it is longer than a row.
    #[default]
    Words,
    /// Anywhere: every space counts, as in code.
    Anywhere,
}

/// How text is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Columns of a row that begins a line.
    pub first: usize,
    /// Columns of a row that continues one.
    pub rest: usize,
    pub breaks: Break,
}

impl Layout {
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

/// The rows of a text, one after the other.
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    text: &'a str,
    layout: Layout,
    at: Start,
    /// The end of the current line, once looked for.
    line_end: Option<usize>,
}

/// Where a row starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    byte: usize,
    continues: bool,
}

/// Returns the rows of `text`.
pub fn pieces(text: &str, layout: Layout) -> Pieces<'_> {
    pieces_from(text, layout, Start::default())
}

fn pieces_from(text: &str, layout: Layout, at: Start) -> Pieces<'_> {
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
        let broken = broken(&self.text[from..line_end], columns, self.layout.breaks, continues);
        let Some((len, skip)) = broken.filter(|(len, skip)| from + len + skip < line_end) else {
            self.at = Start { byte: line_end + 1, continues: false };
            self.line_end = None;
            // Spaces that hang over the edge are not shown.
            let end = broken.map_or(line_end, |(len, _)| from + len);
            return Some(Piece { range: from..end, end: RowEnd::Line, continues });
        };
        let end = if skip == 0 { RowEnd::Wrapped } else { RowEnd::WrappedAtSpace };
        self.at = Start { byte: from + len + skip, continues: true };
        Some(Piece { range: from..from + len, end, continues })
    }
}

/// Returns how long the first row of `line` is and how many bytes of spaces follow it, or nothing if all of it fits.
fn broken(line: &str, columns: usize, breaks: Break, continues: bool) -> Option<(usize, usize)> {
    let bytes = line.as_bytes();
    let window = &bytes[..bytes.len().min(columns + 1)];
    let cut = if window.iter().all(|b| matches!(b, b' '..=b'~')) {
        if bytes.len() <= columns {
            return None;
        }
        match breaks {
            Break::Anywhere => columns,
            Break::Words => {
                // A space just behind the row is as good a place as one in it.
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
        // The last space carries a mark and is a character like any other.
        skip -= 1;
    }
    let len = line[..cut].trim_end_matches(' ').len();
    if len == 0 {
        // A row of nothing but spaces is kept: an indent deeper than the screen must not vanish.
        return Some((cut, 0));
    }
    Some((len, cut - len + skip))
}

/// Closing punctuation does not begin a row where characters are as wide as words.
const NOT_FIRST: &str = "、。，．！？：；」』）】》〉…ー々";

/// As the fast path, for text in which bytes are not columns.
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

/// How many rows lie between two remembered starts.
const STEP: usize = 64;

/// The rows of a text that may be long and may grow, found from any row without wrapping all of it again.
#[derive(Clone, Debug)]
pub struct Index {
    layout: Layout,
    /// The start of every [`STEP`]th row.
    marks: Vec<Start>,
    /// How many rows are known, and where the next one starts.
    known: usize,
    next: Start,
    /// How much text there was when `known` was counted, and whether all of it was.
    len: usize,
    whole: bool,
}

impl Index {
    pub fn new(layout: Layout) -> Self {
        Self { layout, marks: Vec::new(), known: 0, next: Start::default(), len: 0, whole: false }
    }

    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Forgets everything, for text that changed otherwise than by growing.
    pub fn reset(&mut self) {
        *self = Self::new(self.layout);
    }

    /// Returns up to `count` rows, beginning with row `from`.
    pub fn rows(&mut self, text: &str, from: usize, count: usize) -> Vec<Piece> {
        self.count_to(text, from);
        if from > self.known {
            return Vec::new();
        }
        let mark = (from / STEP).min(self.marks.len().saturating_sub(1));
        let start = self.marks.get(mark).copied().unwrap_or_default();
        pieces_from(text, self.layout, start).skip(from - mark * STEP).take(count).collect()
    }

    /// Returns how many rows `text` has, but counts no further than `enough`.
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

    /// Returns how many rows `text` has.
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
        // What is added can still join the last word and the last grapheme, so the last two rows are found again.
        let mark = self.known.saturating_sub(2) / STEP;
        self.known = mark * STEP;
        self.next = self.marks.get(mark).copied().unwrap_or_default();
        self.marks.truncate(mark);
    }
}

/// Returns spans broken into rows, each row opened by a prefix. There is always at least one row.
pub fn spans(spans: &[Span], width: usize, first: &[Span], rest: &[Span], breaks: Break) -> Vec<Row> {
    let text: String = spans.iter().map(|span| span.text.as_ref()).collect();
    let room = |prefix: &[Span]| width::left(width, prefix.iter().map(Span::width).sum()).unwrap_or(1);
    let layout = Layout { first: room(first), rest: room(rest), breaks };
    let mut cutter = Cutter { spans, at: 0, offset: 0 };
    let mut pieces = pieces(&text, layout);
    let mut rows: Vec<Row> = Vec::new();
    while let Some(piece) = pieces.next() {
        let mut row = Row::new(if rows.is_empty() { first.to_vec() } else { rest.to_vec() });
        row.end = piece.end;
        cutter.take(&piece.range, &mut row);
        rows.push(row);
        // The opening prefix stands before the first row only, whatever lines follow.
        pieces.layout.first = layout.rest;
    }
    if rows.is_empty() {
        rows.push(Row::new(first.to_vec()));
    }
    rows
}

/// Cuts spans along growing ranges of their joined text.
struct Cutter<'a> {
    spans: &'a [Span],
    at: usize,
    /// Where the span `at` begins in the joined text.
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

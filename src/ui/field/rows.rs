//! Wraps the text of an input to a number of columns.
//!
//! Rows cover the text without gaps: every byte belongs to exactly one row. A row breaks after a space if possible,
//! otherwise inside a word. Widths are those of terminal cells.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// One visual row as a range of the text. A line break belongs to the row that it ends.
pub type Row = Range<usize>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    rows: Vec<Row>,
}

/// Returns the columns of a grapheme in an input. A tab is shown as one space.
pub fn columns(grapheme: &str) -> usize {
    if grapheme == "\t" { 1 } else { grapheme.width() }
}

impl Rows {
    pub fn new(text: &str, width: usize) -> Self {
        let width = width.max(1);
        let mut rows = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            wrap(line, at, width, &mut rows);
            at += line.len();
        }
        if text.is_empty() || text.ends_with('\n') {
            rows.push(at..at);
        }
        Self { rows }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter()
    }

    /// Returns the row and column of the byte `at`.
    pub fn place(&self, text: &str, at: usize) -> (usize, usize) {
        let row = self.rows.iter().rposition(|row| row.start <= at).unwrap_or(0);
        let start = self.rows.get(row).map_or(0, |row| row.start);
        (row, text[start..at].graphemes(true).map(columns).sum())
    }

    /// Returns the byte at `column` of `row`, or the end of the row if it is shorter.
    pub fn offset(&self, text: &str, row: usize, column: usize) -> usize {
        let Some(range) = self.rows.get(row) else { return text.len() };
        let shown = text[range.clone()].trim_end_matches('\n');
        let mut left = column;
        for (start, grapheme) in shown.grapheme_indices(true) {
            let width = columns(grapheme);
            if width > left {
                return range.start + start;
            }
            left -= width;
        }
        // The end of a wrapped row would be drawn at the start of the next one.
        let last = shown.grapheme_indices(true).next_back();
        match last {
            Some((start, _)) if row + 1 < self.rows.len() && range.end == range.start + shown.len() => {
                range.start + start
            }
            _ => range.start + shown.len(),
        }
    }
}

fn wrap(line: &str, offset: usize, width: usize, rows: &mut Vec<Row>) {
    let mut start = 0;
    let mut used = 0;
    let mut space = None;
    for (at, grapheme) in line.grapheme_indices(true) {
        let cells = if grapheme == "\n" { 0 } else { columns(grapheme) };
        if used + cells > width && at > start && grapheme != " " {
            let end = space.filter(|end| *end > start).unwrap_or(at);
            rows.push(offset + start..offset + end);
            used = line[end..at].graphemes(true).map(columns).sum();
            start = end;
            space = None;
        }
        used += cells;
        if grapheme == " " {
            space = Some(at + 1);
        }
    }
    rows.push(offset + start..offset + line.len());
}

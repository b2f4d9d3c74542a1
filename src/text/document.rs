//! Long text with runs of ink, from which any window of rows can be laid out at any width.

use super::row::{Ink, Row, Span};
use super::width;
use super::wrap::Index;

/// Text and its styles. It may be megabytes long; only requested rows are laid out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    text: String,
    /// The end of each run and its ink, without gaps.
    runs: Vec<(usize, Ink)>,
}

#[cfg(test)]
thread_local! {
    static PUSHED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Returns the number of bytes pushed to documents, for tests that count work.
#[cfg(test)]
pub fn pushed() -> usize {
    PUSHED.with(std::cell::Cell::get)
}

impl Document {
    /// Returns a document of text in one style, made visible.
    pub fn plain(text: &str, ink: impl Into<Ink>) -> Self {
        let mut document = Self::default();
        document.push(&width::visible(text), ink.into());
        document
    }

    /// Appends text that has passed [`super::width::visible`].
    pub fn push(&mut self, text: &str, ink: Ink) {
        if text.is_empty() {
            return;
        }
        #[cfg(test)]
        PUSHED.with(|pushed| pushed.set(pushed.get() + text.len()));
        self.text.push_str(text);
        match self.runs.last_mut() {
            Some((end, last)) if *last == ink => *end = self.text.len(),
            _ => self.runs.push((self.text.len(), ink)),
        }
    }

    /// Removes everything from `byte` on, which must be a character boundary.
    pub fn truncate(&mut self, byte: usize) {
        self.text.truncate(byte);
        let keep = self.runs.partition_point(|(end, _)| *end < byte);
        self.runs.truncate(keep + 1);
        if let Some((end, _)) = self.runs.last_mut() {
            *end = byte.min(*end);
        }
        if byte == 0 {
            self.runs.clear();
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the number of rows, but counts no further than `enough`.
    pub fn count_to(&self, index: &mut Index, enough: usize) -> usize {
        index.count_to(&self.text, enough)
    }

    /// Returns up to `count` rows, starting at row `from`. `index` caches the layout between calls.
    pub fn rows(&self, index: &mut Index, from: usize, count: usize) -> Vec<Row> {
        let pieces = index.rows(&self.text, from, count);
        let row = |piece: super::wrap::Piece| {
            let mut row = Row { end: piece.end, ..Row::default() };
            self.inks(piece.range.start, piece.range.end, |text, ink| row.push(Span::new(text.to_owned(), ink)));
            row
        };
        pieces.into_iter().map(row).collect()
    }

    /// Returns every character from `byte` on with its ink.
    pub fn cells_from(&self, byte: usize) -> Vec<(char, Ink)> {
        let mut cells = Vec::new();
        self.inks(byte, self.text.len(), |text, ink| cells.extend(text.chars().map(|c| (c, ink))));
        cells
    }

    /// Calls `each` with every run between two bytes.
    fn inks(&self, from: usize, to: usize, mut each: impl FnMut(&str, Ink)) {
        let mut at = from;
        let first = self.runs.partition_point(|(end, _)| *end <= from);
        for (end, ink) in &self.runs[first..] {
            let stop = (*end).min(to);
            if at >= stop {
                break;
            }
            each(&self.text[at..stop], *ink);
            at = stop;
        }
    }
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;

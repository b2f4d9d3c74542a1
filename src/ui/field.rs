//! A text that is being written: the one buffer behind the composer and every small input of the screen.
//!
//! Invariants: the cursor stands between two graphemes and never inside a pasted block; what [`Field::content`] gives
//! is exactly what was typed and pasted. A large paste is shown as a short label and kept whole beside the text.
//! Draws nothing and knows no key.

mod rows;

use unicode_segmentation::UnicodeSegmentation;

pub use rows::{Row, Rows};

/// How many lines a paste may have before it is shown as a label.
const PASTE_LINES: usize = 12;
/// How many bytes a paste may have before it is shown as a label.
const PASTE_BYTES: usize = 1_200;
/// How many steps can be undone.
const UNDO_DEPTH: usize = 200;

/// A change of the text or a move of the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    Start,
    Finish,
    Backspace,
    Delete,
    DeleteWord,
    DeleteToStart,
    DeleteToEnd,
    Newline,
    Undo,
    Redo,
}

/// A paste that stands in the text as its label.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Block {
    label: String,
    content: String,
}

/// What undo goes back to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Moment {
    text: String,
    cursor: usize,
}

/// Whether two edits in a row are one step of undo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Streak {
    #[default]
    None,
    Typing,
    Erasing,
}

/// A text with a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    text: String,
    cursor: usize,
    blocks: Vec<Block>,
    pasted: usize,
    undo: Vec<Moment>,
    redo: Vec<Moment>,
    streak: Streak,
}

impl Field {
    /// Returns a field that holds `text`, with the cursor at its end.
    pub fn with(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { cursor: text.len(), text, ..Self::default() }
    }

    /// Returns what is shown: pasted blocks as their labels.
    pub fn shown(&self) -> &str {
        &self.text
    }

    /// Returns what was written: pasted blocks in full.
    pub fn content(&self) -> String {
        let mut out = String::with_capacity(self.text.len());
        let mut at = 0;
        while let Some((start, block)) = self.next_block(at) {
            out.push_str(&self.text[at..start]);
            out.push_str(&block.content);
            at = start + block.label.len();
        }
        out.push_str(&self.text[at..]);
        out
    }

    pub fn cursor(&self) -> usize {
        self.cursor
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Tells whether nothing but white space has been written.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Returns where pasted blocks stand in what is shown.
    pub fn block_ranges(&self) -> Vec<std::ops::Range<usize>> {
        let mut ranges = Vec::new();
        let mut at = 0;
        while let Some((start, block)) = self.next_block(at) {
            at = start + block.label.len();
            ranges.push(start..at);
        }
        ranges
    }

    /// Replaces everything. The old text can be brought back with undo.
    pub fn set(&mut self, text: impl Into<String>) {
        self.remember(Streak::None);
        self.text = text.into();
        self.cursor = self.text.len();
    }

    /// Empties the field and returns what was written in it.
    pub fn take(&mut self) -> String {
        let content = self.content();
        *self = Self::default();
        content
    }

    pub fn type_char(&mut self, typed: char) {
        let streak = if typed.is_whitespace() { Streak::None } else { Streak::Typing };
        self.put(typed.encode_utf8(&mut [0; 4]), streak);
    }

    pub fn insert(&mut self, text: &str) {
        self.put(text, Streak::None);
    }

    /// Inserts pasted text; a large one becomes a label.
    pub fn paste(&mut self, text: &str) {
        let lines = text.lines().count();
        if lines <= PASTE_LINES && text.len() <= PASTE_BYTES {
            return self.insert(text);
        }
        self.pasted += 1;
        let size = if lines > 1 { format!("{lines} lines") } else { crate::base::text::size(text.len() as u64) };
        let label = format!("[paste {}: {size}]", self.pasted);
        self.blocks.push(Block { label: label.clone(), content: text.to_owned() });
        self.put(&label, Streak::None);
    }

    /// Replaces the bytes from `start` to the cursor, as a completion does.
    pub fn replace_before(&mut self, start: usize, with: &str) {
        let start = self.text.floor_char_boundary(start.min(self.cursor));
        self.remember(Streak::None);
        self.text.replace_range(start..self.cursor, with);
        self.cursor = start + with.len();
    }

    /// Applies `edit`. Tells whether anything changed.
    pub fn apply(&mut self, edit: Edit) -> bool {
        let before = (self.cursor, self.text.len());
        match edit {
            Edit::Left => self.go(self.before(self.cursor)),
            Edit::Right => self.go(self.after(self.cursor)),
            Edit::WordLeft => self.go(self.word_before()),
            Edit::WordRight => self.go(self.word_after()),
            Edit::Home => self.go(self.line_start()),
            Edit::End => self.go(self.line_end()),
            Edit::Start => self.go(0),
            Edit::Finish => self.go(self.text.len()),
            Edit::Backspace => self.erase(self.before(self.cursor), self.cursor),
            Edit::Delete => self.erase(self.cursor, self.after(self.cursor)),
            Edit::DeleteWord => self.erase(self.word_before(), self.cursor),
            Edit::DeleteToStart => {
                let start = self.line_start();
                let start = if start == self.cursor { self.before(start) } else { start };
                self.erase(start, self.cursor);
            }
            Edit::DeleteToEnd => {
                let end = self.line_end();
                let end = if end == self.cursor { self.after(end) } else { end };
                self.erase(self.cursor, end);
            }
            Edit::Newline => self.put("\n", Streak::None),
            Edit::Undo => return self.travel(Travel::Back),
            Edit::Redo => return self.travel(Travel::Forth),
        }
        before != (self.cursor, self.text.len())
    }

    /// Lays the text out in `width` columns.
    pub fn rows(&self, width: usize) -> Rows {
        Rows::new(&self.text, width)
    }

    /// Moves the cursor up (`-1`) or down (`1`) on the screen. Tells whether there was a row to go to.
    pub fn move_row(&mut self, by: isize, width: usize) -> bool {
        let rows = self.rows(width);
        let (row, column) = rows.place(&self.text, self.cursor);
        let Some(target) = row.checked_add_signed(by).filter(|target| *target < rows.len()) else { return false };
        let at = rows.offset(&self.text, target, column);
        self.go(self.outside_blocks(at));
        true
    }

    fn go(&mut self, to: usize) {
        self.cursor = to;
        self.streak = Streak::None;
    }

    fn put(&mut self, text: &str, streak: Streak) {
        if text.is_empty() {
            return;
        }
        self.remember(streak);
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        // A combining mark may have joined what stands before it: the cursor must not end up inside.
        self.cursor = self.on_boundary(self.cursor);
    }

    fn erase(&mut self, from: usize, to: usize) {
        if from >= to {
            return;
        }
        self.remember(Streak::Erasing);
        self.text.replace_range(from..to, "");
        self.cursor = self.on_boundary(from);
    }

    fn remember(&mut self, streak: Streak) {
        let goes_on = streak != Streak::None && streak == self.streak;
        self.streak = streak;
        self.redo.clear();
        if goes_on {
            return;
        }
        self.undo.push(Moment { text: self.text.clone(), cursor: self.cursor });
        if self.undo.len() > UNDO_DEPTH {
            self.undo.remove(0);
        }
    }

    fn travel(&mut self, direction: Travel) -> bool {
        let now = Moment { text: self.text.clone(), cursor: self.cursor };
        let (from, to) = match direction {
            Travel::Back => (&mut self.undo, &mut self.redo),
            Travel::Forth => (&mut self.redo, &mut self.undo),
        };
        let Some(moment) = from.pop() else { return false };
        to.push(now);
        self.text = moment.text;
        self.cursor = moment.cursor;
        self.streak = Streak::None;
        true
    }

    fn next_block(&self, from: usize) -> Option<(usize, &Block)> {
        let found = self
            .blocks
            .iter()
            .filter_map(|block| self.text[from..].find(&block.label).map(|position| (from + position, block)));
        found.min_by_key(|(start, _)| *start)
    }

    /// Returns `at`, or the nearer end of the block that it stands in.
    fn outside_blocks(&self, at: usize) -> usize {
        let inside = self.block_ranges().into_iter().find(|range| range.start < at && at < range.end);
        inside.map_or(at, |range| if at - range.start < range.end - at { range.start } else { range.end })
    }

    fn on_boundary(&self, at: usize) -> usize {
        let boundary = self.text.grapheme_indices(true).map(|(start, _)| start).find(|start| *start >= at);
        boundary.unwrap_or(self.text.len())
    }

    fn before(&self, at: usize) -> usize {
        if let Some(block) = self.block_ranges().into_iter().find(|range| range.end == at) {
            return block.start;
        }
        self.text[..at].grapheme_indices(true).next_back().map_or(0, |(start, _)| start)
    }

    fn after(&self, at: usize) -> usize {
        if let Some(block) = self.block_ranges().into_iter().find(|range| range.start == at) {
            return block.end;
        }
        self.text[at..].graphemes(true).next().map_or(at, |grapheme| at + grapheme.len())
    }

    fn word_before(&self) -> usize {
        let before = self.before(self.cursor);
        if self.cursor - before > 1 && self.block_ranges().iter().any(|range| range.end == self.cursor) {
            return before;
        }
        let words = self.text[..self.cursor].split_word_bound_indices().rev();
        words.clone().find(|(_, word)| !word.trim().is_empty()).map_or(0, |(start, _)| self.outside_blocks(start))
    }

    fn word_after(&self) -> usize {
        let mut words = self.text[self.cursor..].split_word_bound_indices();
        let found = words.find(|(_, word)| !word.trim().is_empty());
        found.map_or(self.text.len(), |(start, word)| self.outside_blocks(self.cursor + start + word.len()))
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }
}

#[derive(Clone, Copy)]
enum Travel {
    Back,
    Forth,
}

#[cfg(test)]
#[path = "field_tests.rs"]
mod tests;

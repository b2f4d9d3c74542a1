//! The text buffer behind the composer and every other input of the screen.
//!
//! The text area holds text, cursor, undo history and atomic ranges. This module adds graphemes, pasted blocks, words
//! and undo grouping. Invariants: the cursor is on a grapheme boundary and never inside a pasted block;
//! [`Field::content`] returns exactly what was typed and pasted, with lines ended by a line feed. It draws nothing and
//! knows no keys.

mod graphemes;
mod rows;
mod steps;

use std::cell::OnceCell;
use std::ops::Range;

use tui_textarea::{AtomicDeleteDirection, AtomicRange, CursorMove, TextArea};
use unicode_segmentation::UnicodeSegmentation;

use graphemes::{boundary_after, boundary_before};
pub use rows::{Row, Rows};
use steps::{Steps, Streak};

/// The number of lines from which a paste is shown as a label.
const PASTE_LINES: usize = 12;
/// The number of bytes from which a paste is shown as a label.
const PASTE_BYTES: usize = 1_200;

/// A text edit or a cursor movement.
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
    /// Pastes the last killed text.
    Yank,
    Newline,
    Undo,
    Redo,
}

/// A paste that is shown as its label.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Block {
    label: String,
    content: String,
}

/// A text with a cursor.
#[derive(Clone, Debug)]
pub struct Field {
    area: TextArea<'static>,
    /// The joined lines of the area. Cached until the next edit.
    joined: OnceCell<String>,
    blocks: Vec<Block>,
    pasted: usize,
    steps: Steps,
}

impl Default for Field {
    fn default() -> Self {
        let mut area = TextArea::default();
        area.set_max_histories(steps::HISTORY);
        Self { area, joined: OnceCell::new(), blocks: Vec::new(), pasted: 0, steps: Steps::default() }
    }
}

/// Fields are equal if they show and hold the same text; the undo history does not count.
impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        self.area.lines() == other.area.lines()
            && self.area.cursor() == other.area.cursor()
            && self.blocks == other.blocks
    }
}

impl Eq for Field {}

impl Field {
    /// Returns a field with `text` and the cursor at its end.
    pub fn with(text: impl AsRef<str>) -> Self {
        let mut field = Self::default();
        let lines = text.as_ref().split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned());
        field.area.set_lines(lines.collect(), (usize::MAX, usize::MAX));
        field
    }

    /// Returns the visible text, with pasted blocks as labels.
    pub fn shown(&self) -> &str {
        self.joined.get_or_init(|| self.area.lines().join("\n"))
    }

    /// Returns the full text, with pasted blocks expanded.
    pub fn content(&self) -> String {
        let shown = self.shown();
        let mut out = String::with_capacity(shown.len());
        let mut at = 0;
        for range in self.block_ranges() {
            out.push_str(&shown[at..range.start]);
            let label = &shown[range.clone()];
            let block = self.blocks.iter().find(|block| label.contains(&block.label));
            out.push_str(&block.map_or(label.into(), |block| label.replace(&block.label, &block.content)));
            at = range.end;
        }
        out.push_str(&shown[at..]);
        out
    }

    pub fn cursor(&self) -> usize {
        let (row, column) = self.area.cursor();
        self.offset(row, column)
    }

    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Returns true if the text is only white space.
    pub fn is_blank(&self) -> bool {
        self.area.lines().iter().all(|line| line.trim().is_empty())
    }

    /// Returns the ranges of pasted blocks in the visible text.
    pub fn block_ranges(&self) -> Vec<Range<usize>> {
        let offsets = |it: &AtomicRange| self.offset(it.row, it.start_col)..self.offset(it.row, it.end_col);
        self.area.atomic_ranges().iter().map(offsets).collect()
    }

    /// Replaces everything. The old text can be restored with undo.
    pub fn set(&mut self, text: impl AsRef<str>) {
        self.replace(0..self.shown().len(), text.as_ref(), Streak::None);
    }

    /// Clears the field and returns its content.
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

    /// Inserts pasted text. A large paste becomes a label.
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
        let cursor = self.cursor();
        let start = self.shown().floor_char_boundary(start.min(cursor));
        self.replace(start..cursor, with, Streak::None);
    }

    /// Applies `edit`. Returns true if something changed.
    pub fn apply(&mut self, edit: Edit) -> bool {
        let cursor = self.cursor();
        let before = (cursor, self.shown().len());
        match edit {
            Edit::Left => self.go(self.before()),
            Edit::Right => self.go(self.after()),
            Edit::WordLeft => self.go(self.word_before()),
            Edit::WordRight => self.go(self.word_after()),
            Edit::Home => self.go(self.line_start()),
            Edit::End => self.go(self.line_end()),
            Edit::Start => self.go(0),
            Edit::Finish => self.go(self.shown().len()),
            Edit::Backspace => self.erase(self.before()..cursor),
            Edit::Delete => self.erase(cursor..self.after()),
            Edit::DeleteWord => self.kill(self.word_before()..cursor),
            Edit::DeleteToStart => {
                let start = self.line_start();
                self.kill(if start == cursor { self.before() } else { start }..cursor);
            }
            Edit::DeleteToEnd => {
                let end = self.line_end();
                self.kill(cursor..if end == cursor { self.after() } else { end });
            }
            Edit::Yank => {
                let edits = usize::from(self.area.paste());
                self.edited(edits, Streak::None);
            }
            Edit::Newline => self.put("\n", Streak::None),
            Edit::Undo => return self.apply_history(Steps::back, TextArea::undo),
            Edit::Redo => return self.apply_history(Steps::forward, TextArea::redo),
        }
        before != (self.cursor(), self.shown().len())
    }

    /// Wraps the text to `width` columns.
    pub fn rows(&self, width: usize) -> Rows {
        Rows::new(self.shown(), width)
    }

    /// Moves the cursor up (`-1`) or down (`1`) one visual row. Returns false if there is no such row.
    pub fn move_row(&mut self, by: isize, width: usize) -> bool {
        let rows = self.rows(width);
        let (row, column) = rows.place(self.shown(), self.cursor());
        let Some(target) = row.checked_add_signed(by).filter(|target| *target < rows.len()) else { return false };
        let at = rows.offset(self.shown(), target, column);
        self.go(self.outside_blocks(at));
        true
    }

    fn go(&mut self, to: usize) {
        self.steps.interrupt();
        self.jump(to);
    }

    fn put(&mut self, text: &str, streak: Streak) {
        let cursor = self.cursor();
        self.replace(cursor..cursor, text, streak);
    }

    fn erase(&mut self, range: Range<usize>) {
        self.replace(range, "", Streak::Erasing);
    }

    /// Deletes `range` and keeps it for [`Edit::Yank`].
    fn kill(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            let killed = self.shown()[range.clone()].to_owned();
            self.erase(range);
            self.area.set_yank_text(killed);
        }
    }

    /// Replaces `range` with `text` as one undo step or as part of one.
    fn replace(&mut self, range: Range<usize>, text: &str, streak: Streak) {
        let erased = self.shown()[range.clone()].chars().count();
        self.jump(range.start);
        let mut edits = 0;
        if erased > 0 {
            // The area treats every deletion as a kill.
            let killed = self.area.yank_text();
            edits += usize::from(self.area.delete_str(erased));
            self.area.set_yank_text(killed);
        }
        edits += usize::from(self.area.insert_str(text));
        self.edited(edits, streak);
    }

    fn edited(&mut self, edits: usize, streak: Streak) {
        self.steps.record(edits, streak);
        self.after_edit();
    }

    fn apply_history(
        &mut self,
        step: fn(&mut Steps) -> Option<usize>,
        edit: fn(&mut TextArea<'static>) -> bool,
    ) -> bool {
        let Some(edits) = step(&mut self.steps) else { return false };
        (0..edits).for_each(|_| {
            edit(&mut self.area);
        });
        self.after_edit();
        true
    }

    /// Restores the block ranges, which the area drops with every edit, and moves the cursor to a valid position.
    fn after_edit(&mut self) {
        self.joined.take();
        self.mark_blocks();
        // A combining mark may have joined the character before it: the cursor must not end up inside.
        self.jump(boundary_after(self.shown(), self.cursor()));
    }

    fn mark_blocks(&mut self) {
        if self.blocks.is_empty() {
            return;
        }
        let mut ranges = Vec::new();
        for (row, line) in self.area.lines().iter().enumerate() {
            for block in &self.blocks {
                ranges.extend(line.match_indices(&block.label).map(|(at, label)| {
                    // A mark that joins a bracket of the label belongs to the block.
                    let (start, end) = (boundary_before(line, at), boundary_after(line, at + label.len()));
                    let start_col = line[..start].chars().count();
                    AtomicRange { row, start_col, end_col: start_col + line[start..end].chars().count() }
                }));
            }
        }
        // Labels have brackets around them and none inside, so they cannot overlap.
        let marked = self.area.try_set_atomic_ranges(ranges);
        debug_assert!(marked.is_ok(), "{marked:?}");
    }

    fn jump(&mut self, to: usize) {
        let (row, column) = self.place(to);
        if (row, column) == self.area.cursor() {
            return;
        }
        if let (Ok(row), Ok(column)) = (u16::try_from(row), u16::try_from(column)) {
            return self.area.move_cursor(CursorMove::Jump(row, column));
        }
        // Beyond the range of a jump. Setting the lines works, but drops the undo history.
        let lines = self.area.lines().to_vec();
        self.area.set_lines(lines, (row, column));
        self.steps = Steps::default();
        self.mark_blocks();
    }

    /// Converts a row and character column of the area to a byte offset of the visible text.
    fn offset(&self, row: usize, column: usize) -> usize {
        let lines = self.area.lines();
        let above: usize = lines[..row].iter().map(|line| line.len() + 1).sum();
        let line = &lines[row];
        above + line.char_indices().nth(column).map_or(line.len(), |(at, _)| at)
    }

    fn place(&self, at: usize) -> (usize, usize) {
        let above = &self.shown()[..at];
        let start = above.rfind('\n').map_or(0, |end| end + 1);
        (above.matches('\n').count(), above[start..].chars().count())
    }

    /// Returns `at`, or the nearer end of the block around it.
    fn outside_blocks(&self, at: usize) -> usize {
        let inside = self.block_ranges().into_iter().find(|range| range.start < at && at < range.end);
        inside.map_or(at, |range| if at - range.start < range.end - at { range.start } else { range.end })
    }

    fn before(&self) -> usize {
        if let Some(block) = self.area.atomic_range_at_cursor(AtomicDeleteDirection::Backward) {
            return self.offset(block.row, block.start_col);
        }
        self.shown()[..self.cursor()].grapheme_indices(true).next_back().map_or(0, |(start, _)| start)
    }

    fn after(&self) -> usize {
        if let Some(block) = self.area.atomic_range_at_cursor(AtomicDeleteDirection::Forward) {
            return self.offset(block.row, block.end_col);
        }
        let cursor = self.cursor();
        self.shown()[cursor..].graphemes(true).next().map_or(cursor, |grapheme| cursor + grapheme.len())
    }

    fn word_before(&self) -> usize {
        if self.area.atomic_range_at_cursor(AtomicDeleteDirection::Backward).is_some() {
            return self.before();
        }
        let mut words = self.shown()[..self.cursor()].split_word_bound_indices().rev();
        let found = words.find(|(_, word)| !word.trim().is_empty());
        found.map_or(0, |(start, _)| boundary_before(self.shown(), self.outside_blocks(start)))
    }

    fn word_after(&self) -> usize {
        let (cursor, shown) = (self.cursor(), self.shown());
        let mut words = shown[cursor..].split_word_bound_indices();
        let found = words.find(|(_, word)| !word.trim().is_empty());
        found.map_or(shown.len(), |(start, word)| {
            boundary_after(shown, self.outside_blocks(cursor + start + word.len()))
        })
    }

    fn line_start(&self) -> usize {
        self.offset(self.area.cursor().0, 0)
    }

    fn line_end(&self) -> usize {
        self.offset(self.area.cursor().0, usize::MAX)
    }
}

#[cfg(test)]
#[path = "field_tests.rs"]
mod tests;

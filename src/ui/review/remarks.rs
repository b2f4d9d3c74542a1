//! Comments in a review: writing, deleting, sending and laying them out.

use std::borrow::Cow;

use crate::base::{TaskId, Timestamp};
use crate::engine::review::DiffSide;
use crate::text::diff::{DiffRows, RowContent};
use crate::text::wrap::{self, Break};
use crate::text::{Row, Span, width};
use crate::theme::{Glyphs, Role};
use crate::ui::field::Field;
use crate::ui::review::comment::{Comment, number};
use crate::ui::review::comparison::ChangedFile;
use crate::ui::review::layout::{Insert, Place, ReviewLayout, ReviewPosition};
use crate::ui::review::state::{CommentEditor, State};

/// The columns before a comment: indent and line numbers.
const INDENT: usize = 8;

impl State {
    pub fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Returns the text of the comment being written.
    pub fn field(&mut self) -> Option<&mut Field> {
        self.writing.as_mut().map(|writing| &mut writing.field)
    }

    /// Returns the text width of a comment in `columns`.
    pub fn text_width(columns: usize) -> usize {
        columns.saturating_sub(INDENT + 4).max(1)
    }

    /// Starts a comment on the selected lines, or edits the one under the cursor.
    pub fn comment(&mut self, layout: &ReviewLayout) {
        let Some(task) = self.task else { return };
        self.finish_writing();
        if let Place::Comment { comment, .. } = self.cursor.place {
            return self.write(task, comment);
        }
        let Some(new_comment) = self.new_comment(layout) else { return };
        self.anchor = None;
        let comments = &mut self.notes.of_mut(task).comments;
        comments.push(new_comment);
        let last = comments.len() - 1;
        self.write(task, last);
    }

    fn write(&mut self, task: TaskId, comment: usize) {
        let Some(found) = self.notes.of_mut(task).comments.get_mut(comment) else { return };
        found.sent = None;
        self.writing = Some(CommentEditor { comment, field: Field::with(&found.text) });
        self.cursor.place = Place::Comment { comment, row: 0 };
    }

    /// Returns an empty comment on the selected lines.
    fn new_comment(&self, layout: &ReviewLayout) -> Option<Comment> {
        let file = layout.comparison.files.get(self.cursor.file)?;
        let (from, to) = self.chosen(layout);
        let mut lines: Vec<(usize, usize)> = Vec::new();
        for row in from..=to {
            let mark = layout.mark(row);
            match mark.place {
                Place::Line { hunk, line, .. } if mark.file == self.cursor.file => lines.push((hunk, line)),
                // The heading of a hunk stands for all of it.
                Place::Head(hunk) if mark.file == self.cursor.file && from == to => {
                    let count = file.diff.hunks.get(hunk).map_or(0, |hunk| hunk.lines.len());
                    lines.extend((0..count).map(|line| (hunk, line)));
                }
                _ => {}
            }
        }
        lines.dedup();
        let lines: Vec<_> =
            lines.into_iter().filter_map(|(hunk, line)| file.diff.hunks.get(hunk)?.lines.get(line)).collect();
        let gone = !lines.is_empty() && lines.iter().all(|line| line.new.is_none());
        let side = if gone { DiffSide::Old } else { DiffSide::New };
        let on_side = || lines.iter().filter_map(move |line| Some((number(line, side)?, line.shown().into_owned())));
        let numbers = || on_side().map(|(number, _)| number);
        Some(Comment {
            path: file.name.clone(),
            side,
            lines: numbers().min().zip(numbers().max()),
            quote: on_side().map(|(_, text)| text).collect(),
            text: String::new(),
            sent: None,
        })
    }

    /// Called after the text has changed.
    pub fn on_text_changed(&mut self) {
        if let (Some(task), Some(writing)) = (self.task, &self.writing)
            && let Some(comment) = self.notes.of_mut(task).comments.get_mut(writing.comment)
        {
            comment.text = writing.field.content();
            self.unsaved = true;
        }
    }

    /// Replaces the text of the comment being written.
    pub fn rewrite(&mut self, text: &str) {
        if let Some(writing) = &mut self.writing {
            writing.field.set(text.trim_end());
        }
        self.on_text_changed();
    }

    /// Stops editing. A blank comment is dropped.
    pub fn finish_writing(&mut self) {
        let (Some(task), Some(writing)) = (self.task, self.writing.take()) else { return };
        let comment = self.notes.of(task).and_then(|notes| notes.comments.get(writing.comment));
        if comment.is_some_and(|comment| comment.text.trim().is_empty()) {
            self.drop_comment(task, writing.comment);
        }
        self.unsaved = true;
    }

    fn drop_comment(&mut self, task: TaskId, comment: usize) {
        let gone = self.notes.of_mut(task).comments.remove(comment);
        let here = self.comparison();
        if let Place::Comment { comment: at, .. } = &mut self.cursor.place {
            if *at == comment {
                let file = here.as_ref().and_then(|it| it.files.get(self.cursor.file));
                let place = file.and_then(|file| gone.place(&file.diff));
                self.cursor.place = place.map_or(Place::Name, |(hunk, line)| Place::Line { hunk, line, part: 0 });
            } else if *at > comment {
                *at -= 1;
            }
        }
        self.unsaved = true;
    }

    /// Deletes the comment under the cursor. Returns true if there is one.
    pub fn remove_comment(&mut self) -> bool {
        let (Some(task), Place::Comment { comment, .. }) = (self.task, self.cursor.place) else { return false };
        self.writing = None;
        self.drop_comment(task, comment);
        true
    }

    /// Marks all drafts as sent and drops the comments sent before.
    pub fn mark_sent(&mut self, task: TaskId, at: Timestamp) {
        let notes = self.notes.of_mut(task);
        notes.comments.retain(|comment| comment.sent.is_none());
        notes.comments.iter_mut().for_each(|comment| comment.sent = Some(at));
        if self.task == Some(task) && matches!(self.cursor.place, Place::Comment { .. }) {
            self.cursor.place = Place::Name;
        }
        self.unsaved = true;
    }

    /// Returns the comments of a file as rows below their lines.
    pub(super) fn inserts(
        &self,
        file: &ChangedFile,
        rows: &DiffRows,
        columns: usize,
        glyphs: &'static Glyphs,
    ) -> Vec<Insert> {
        let Some(notes) = self.notes() else { return Vec::new() };
        let here = notes.comments.iter().enumerate().filter(|(_, comment)| comment.path == file.name);
        here.map(|(at, comment)| {
            let below = comment.place(&file.diff).map(|(hunk, line)| {
                let row = rows.row_of(hunk, line);
                // After all rows of a wrapped line.
                let same =
                    |row: &usize| matches!(rows.at(*row), Some(RowContent::Line { line: it, hunk: h, .. }) if (h, it) == (hunk, line));
                (row + 1..rows.len()).take_while(same).last().unwrap_or(row)
            });
            let writing = self.writing.as_ref().filter(|writing| writing.comment == at);
            let (rows, cursor) = self::rows(comment, below.is_none(), writing, columns, glyphs);
            Insert { below, comment: at, rows, cursor }
        })
        .collect()
    }

    /// Returns the first and the last selected row.
    pub fn chosen(&self, layout: &ReviewLayout) -> (usize, usize) {
        let here = layout.row(self.cursor);
        let other = self.anchor.filter(|anchor| anchor.file == self.cursor.file).map_or(here, |mark| layout.row(mark));
        (here.min(other), here.max(other))
    }

    pub fn is_selecting(&self) -> bool {
        self.anchor.is_some()
    }

    pub fn start_select(&mut self) {
        self.anchor = Some(self.cursor);
    }

    pub fn stop_select(&mut self) -> bool {
        self.anchor.take().is_some()
    }

    /// Returns the text of the selected lines.
    pub fn chosen_text(&self, layout: &ReviewLayout) -> String {
        let (from, to) = self.chosen(layout);
        let mut lines: Vec<(ReviewPosition, Cow<'_, str>)> = Vec::new();
        for row in from..=to {
            let mark = layout.mark(row);
            if let Place::Line { hunk, line, .. } = mark.place {
                let mark = ReviewPosition { place: Place::Line { hunk, line, part: 0 }, ..mark };
                let found =
                    layout.comparison.files.get(mark.file).and_then(|file| file.diff.hunks.get(hunk)?.lines.get(line));
                if let Some(found) = found.filter(|_| lines.last().is_none_or(|(last, _)| *last != mark)) {
                    lines.push((mark, found.shown()));
                }
            }
        }
        lines.into_iter().flat_map(|(_, text)| [text, Cow::Borrowed("\n")]).collect()
    }
}

/// Returns a comment as rows, and the position of its cursor.
fn rows(
    comment: &Comment,
    is_orphaned: bool,
    writing: Option<&CommentEditor>,
    columns: usize,
    glyphs: &'static Glyphs,
) -> (Vec<Row>, Option<(usize, usize)>) {
    let role = match (writing, comment.sent) {
        (Some(_), _) => Role::Accent,
        (None, None) => Role::Ask,
        (None, Some(_)) => Role::Muted,
    };
    let bar = || Span::decoration(format!("{}{} ", " ".repeat(INDENT), glyphs.selected), role);
    let state = match (writing, comment.sent) {
        (Some(_), _) => "writing",
        (None, None) => "draft",
        (None, Some(_)) => "sent",
    };
    let gone = if is_orphaned && comment.lines.is_some() { " (no longer in the diff)" } else { "" };
    let head = format!("{}{gone} {} {state}", comment.about(), glyphs.dot);
    let mut rows = vec![Row::new(vec![bar(), Span::decoration(head, Role::Muted)])];
    let room = State::text_width(columns);
    let Some(writing) = writing else {
        let text = width::visible(comment.text.trim());
        for line in text.lines() {
            let line = [Span::new(line.to_owned(), if comment.sent.is_some() { Role::Muted } else { Role::Text })];
            rows.extend(wrap::spans(&line, room, &[], &[], Break::Words).into_iter().map(|mut row| {
                row.spans.insert(0, bar());
                row
            }));
        }
        return (rows, None);
    };
    let field = &writing.field;
    let layout = field.rows(room);
    let (cursor_row, column) = layout.place(field.shown(), field.cursor());
    let cursor = (rows.len() + cursor_row, INDENT + 2 + column);
    for range in layout.iter() {
        let shown = field.shown()[range.clone()].trim_end_matches('\n').replace('\t', " ");
        rows.push(Row::new(vec![bar(), Span::new(width::visible(&shown).into_owned(), Role::Text)]));
    }
    (rows, Some(cursor))
}

#[cfg(test)]
#[path = "remarks_tests.rs"]
mod tests;

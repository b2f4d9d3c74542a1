//! Movement in a transcript: scrolling, jumping, unfolding, selecting and copying.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use crate::text::{markdown, row};
use crate::ui::transcript::entry::{Entry, EntryId, EntryKind};
use crate::ui::transcript::layout::Page;
use crate::ui::transcript::search::Direction;
use crate::ui::transcript::state::{Anchor, Measured, Transcript};
use crate::ui::transcript::viewport::{self, Measure as _, RowPosition};

/// Older events are loaded when fewer entries than this are above.
const NEAR: usize = 20;

/// The target of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JumpTarget {
    Entry,
    Turn,
    Error,
    UserMessage,
}

impl Transcript {
    /// Returns the first visible row.
    pub fn top(&self, page: &Page<'_>, height: usize) -> RowPosition {
        let measured = Measured { transcript: self, page };
        match self.anchor.filter(|_| !self.follow) {
            Some(anchor) => viewport::clamp(&measured, self.row_position(anchor, page), height),
            None => viewport::end(&measured, height),
        }
    }

    /// Returns true if the whole transcript is visible.
    pub fn fits(&self, page: &Page<'_>, height: usize) -> bool {
        let measured = Measured { transcript: self, page };
        viewport::end(&measured, height) == RowPosition::default()
    }

    /// Scrolls by rows. Scrolling up leaves follow mode; reaching the end by scrolling down resumes it.
    pub fn scroll(&mut self, by: isize, page: &Page<'_>, height: usize) {
        let top = self.top(page, height);
        let measured = Measured { transcript: self, page };
        let last = viewport::end(&measured, height);
        let to = viewport::move_by(&measured, top, by);
        if to >= last && by > 0 {
            return self.follow();
        }
        if to == top && self.follow {
            // Everything fits: stay in follow mode.
            return;
        }
        self.follow = false;
        self.anchor = self.anchor_at(to.min(last), page);
        self.keep_cursor_in_sight(page, height);
    }

    pub fn follow(&mut self) {
        self.follow = true;
        self.anchor = None;
        self.cursor = None;
        self.unseen = 0;
    }

    pub fn go_to_top(&mut self, page: &Page<'_>, height: usize) {
        let measured = Measured { transcript: self, page };
        if viewport::end(&measured, height) == RowPosition::default() {
            return;
        }
        self.follow = false;
        self.anchor = self.anchor_at(RowPosition::default(), page);
        self.cursor = self.entry(0).map(|entry| entry.id);
    }

    /// Returns true if older events should be loaded. Measures nothing, because it runs for every delta.
    pub fn is_near_top(&self) -> bool {
        match self.anchor.filter(|_| !self.follow) {
            Some(anchor) => self.index_near(anchor.id) < NEAR,
            None => self.entry_count() < NEAR,
        }
    }

    /// Returns true if an entry is selected, so that keys act on it and not on the last visible one.
    pub fn has_cursor(&self) -> bool {
        self.cursor.is_some()
    }

    /// Returns the selected entry, if there is one.
    pub fn cursor_entry(&self) -> Option<&Entry> {
        self.cursor.and_then(|id| self.index_of(id)).and_then(|index| self.entry(index))
    }

    /// Returns the entry that keys act on.
    pub fn current(&self, page: &Page<'_>, height: usize) -> Option<usize> {
        match self.cursor.and_then(|id| self.index_of(id)) {
            Some(index) => Some(index),
            None => self.last_in_sight(page, height),
        }
    }

    fn last_in_sight(&self, page: &Page<'_>, height: usize) -> Option<usize> {
        let measured = Measured { transcript: self, page };
        let bottom = viewport::move_by(&measured, self.top(page, height), isize::try_from(height).ok()? - 1);
        (!measured.is_empty()).then_some(bottom.entry)
    }

    /// Moves the cursor to the nearest visible entry.
    fn keep_cursor_in_sight(&mut self, page: &Page<'_>, height: usize) {
        let Some(cursor) = self.cursor.and_then(|id| self.index_of(id)) else { return };
        let top = self.top(page, height).entry;
        let bottom = self.last_in_sight(page, height).unwrap_or(top);
        self.cursor = self.entry(cursor.clamp(top, bottom)).map(|entry| entry.id);
    }

    /// Jumps to the next or previous entry of a kind. Returns true if there is one.
    pub fn jump(&mut self, target: JumpTarget, direction: Direction, page: &Page<'_>, height: usize) -> bool {
        let Some(from) = self.current(page, height) else { return false };
        let turn = self.entry(from).map(|entry| entry.turn);
        let fits = |entry: &Entry| match target {
            JumpTarget::Entry => true,
            JumpTarget::Turn => Some(entry.turn) != turn,
            JumpTarget::Error => entry.kind.is_error(),
            JumpTarget::UserMessage => matches!(entry.kind, EntryKind::UserMessage { .. }),
        };
        let found = match direction {
            Direction::Forward => (from + 1..self.entry_count()).find(|at| self.entry(*at).is_some_and(fits)),
            // Without a cursor the first step shows the current entry.
            Direction::Backward if self.cursor.is_none() && target == JumpTarget::Entry => Some(from),
            Direction::Backward => (0..from).rev().find(|at| self.entry(*at).is_some_and(fits)),
        };
        let Some(index) = found else {
            if direction == Direction::Forward && target == JumpTarget::Entry {
                self.follow();
            }
            return false;
        };
        // Go to the first entry of the turn.
        let index = match target {
            JumpTarget::Turn => {
                let turn = self.entry(index).map(|entry| entry.turn);
                (0..=index)
                    .rev()
                    .take_while(|at| self.entry(*at).map(|entry| entry.turn) == turn)
                    .last()
                    .unwrap_or(index)
            }
            JumpTarget::Entry | JumpTarget::Error | JumpTarget::UserMessage => index,
        };
        let Some(id) = self.entry(index).map(|entry| entry.id) else { return false };
        self.cursor = Some(id);
        self.reveal(Anchor { id, row: 0 }, page, height);
        true
    }

    /// Scrolls a row into view, as little as needed.
    pub fn reveal(&mut self, anchor: Anchor, page: &Page<'_>, height: usize) {
        let measured = Measured { transcript: self, page };
        let top = self.top(page, height);
        let bottom = viewport::move_by(&measured, top, isize::try_from(height.saturating_sub(1)).unwrap_or(0));
        let spot = self.row_position(anchor, page);
        if spot >= top && spot <= bottom {
            // Leave follow mode, or new entries would push the selected one away.
            if self.follow && spot.entry + 1 < self.entry_count() {
                self.anchor = self.anchor_at(top, page);
                self.follow = false;
            }
            return;
        }
        let third = isize::try_from(height / 3).unwrap_or(0);
        let to = viewport::clamp(&measured, viewport::move_by(&measured, spot, -third), height);
        self.follow = false;
        self.anchor = self.anchor_at(to, page);
    }

    /// Folds or unfolds the current entry, keeping its first row in place.
    pub fn toggle(&mut self, page: &Page<'_>, height: usize) -> Option<EntryId> {
        let id = self.current(page, height).and_then(|index| self.entry(index)).map(|entry| entry.id)?;
        let following = self.follow;
        let top = self.top(page, height);
        if !self.unfolded.remove(&id) {
            self.unfolded.insert(id);
        }
        self.cursor = Some(id);
        if self.search.is_written() {
            self.recount_entry(self.index_near(id), page);
        }
        if following {
            // Keep the start of the unfolded entry visible.
            let head = self.row_position(Anchor { id, row: 0 }, page);
            let last = Measured { transcript: self, page }.height(head.entry).saturating_sub(1);
            self.leave_end(top, head..=RowPosition { row: last, ..head }, page, height);
        }
        Some(id)
    }

    /// Leaves the end for `top`, or further down if needed to show `rows`, preferring the first of them.
    fn leave_end(&mut self, top: RowPosition, rows: RangeInclusive<RowPosition>, page: &Page<'_>, height: usize) {
        let measured = Measured { transcript: self, page };
        // The last row shows the "not following" note.
        let above = isize::try_from(height.saturating_sub(2)).unwrap_or(0);
        let lowest = viewport::move_by(&measured, *rows.end(), -above);
        let to = top.max(lowest).min(*rows.start());
        self.anchor = self.anchor_at(to, page);
        self.follow = false;
    }

    pub fn unfold_all(&mut self) {
        self.unfolded = self.entries().map(|entry| entry.id).collect();
        self.recount();
    }

    pub fn fold_all(&mut self) {
        self.unfolded.clear();
        self.recount();
    }

    /// Selects the entry at a row of the screen. Returns true if it was selected already.
    pub fn point_at(&mut self, row: usize, page: &Page<'_>, height: usize) -> bool {
        let measured = Measured { transcript: self, page };
        let spot = viewport::move_by(&measured, self.top(page, height), isize::try_from(row).unwrap_or(0));
        let id = self.entry(spot.entry).map(|entry| entry.id);
        let same = id.is_some() && id == self.cursor;
        self.cursor = id;
        same
    }

    /// Starts a line selection at the current entry.
    pub fn start_select(&mut self, page: &Page<'_>, height: usize) {
        let Some(index) = self.current(page, height) else { return };
        let top = self.top(page, height);
        let row =
            if index == top.entry { top.row.max(self.lead(index, page).len()) } else { self.lead(index, page).len() };
        let spot = RowPosition { entry: index, row };
        if let Some(anchor) = self.anchor_at(spot, page) {
            if self.follow {
                self.leave_end(top, spot..=spot, page, height);
            }
            self.select = Some((anchor, anchor));
        }
    }

    pub fn is_selecting(&self) -> bool {
        self.select.is_some()
    }

    pub fn stop_select(&mut self) {
        self.select = None;
    }

    pub fn extend_select(&mut self, by: isize, page: &Page<'_>, height: usize) {
        let Some((from, to)) = self.select else { return };
        let measured = Measured { transcript: self, page };
        let spot = viewport::move_by(&measured, self.row_position(to, page), by);
        if let Some(to) = self.anchor_at(spot, page) {
            self.select = Some((from, to));
            self.reveal(to, page, height);
        }
    }

    /// Returns the first and the last selected row.
    pub fn selection(&self, page: &Page<'_>) -> Option<(RowPosition, RowPosition)> {
        let (from, to) = self.select.map(|(from, to)| (self.row_position(from, page), self.row_position(to, page)))?;
        Some((from.min(to), from.max(to)))
    }

    /// Returns the source text of the selected rows: without decoration, and with wrapped lines joined.
    pub fn selected_text(&self, page: &Page<'_>) -> Option<String> {
        let (from, to) = self.selection(page)?;
        let mut rows = Vec::new();
        for index in from.entry..=to.entry {
            let Some(entry) = self.entry(index) else { continue };
            let lead = self.lead(index, page);
            let own = self.rows(entry, page);
            let all = lead.iter().chain(own.iter()).cloned();
            let first = if index == from.entry { from.row } else { 0 };
            let last = if index == to.entry { to.row } else { usize::MAX };
            rows.extend(all.enumerate().filter(|(at, _)| (first..=last).contains(at)).map(|(_, row)| row));
        }
        Some(row::copied(&rows))
    }

    /// Returns the source text of the current entry.
    pub fn entry_text(&self, page: &Page<'_>, height: usize) -> Option<String> {
        let entry = self.current(page, height).and_then(|index| self.entry(index))?;
        Some(source(entry))
    }

    /// Returns the code blocks of the current entry.
    pub fn entry_code(&self, page: &Page<'_>, height: usize) -> Option<String> {
        let entry = self.current(page, height).and_then(|index| self.entry(index))?;
        match &entry.kind {
            EntryKind::Tool(_) => Some(source(entry)),
            _ => {
                let blocks = markdown::code_blocks(&source(entry));
                (!blocks.is_empty()).then(|| blocks.join("\n"))
            }
        }
    }

    /// Returns the whole transcript as text, for a pager.
    pub fn whole_text(&self) -> String {
        self.entries().map(source).collect::<Vec<_>>().join("\n\n")
    }
}

/// Returns the source text of an entry.
fn source(entry: &Entry) -> String {
    match &entry.kind {
        EntryKind::UserMessage { text, .. }
        | EntryKind::Text { text }
        | EntryKind::Thinking { text, .. }
        | EntryKind::Separator { text } => text.clone(),
        EntryKind::Tool(tool) => {
            let asked = crate::ui::transcript::layout::subject(tool);
            let output = match (&tool.full, &tool.result) {
                (Some(full), _) => full.clone(),
                (None, Some(result)) => match &result.content {
                    crate::model::Content::Text { text } => text.clone(),
                    crate::model::Content::Blob(_) => String::new(),
                },
                (None, None) => tool.output.text.clone(),
            };
            format!("{asked}\n{output}").trim().to_owned()
        }
        EntryKind::TaskMessage { text, .. } | EntryKind::Completion { text, .. } | EntryKind::Done { text, .. } => {
            text.clone()
        }
        EntryKind::Ask { ask, answer, .. } => {
            let mut text = format!("{}\n{}", ask.question, ask.detail).trim_end().to_owned();
            for (at, choice) in ask.choices.iter().enumerate() {
                let _ = write!(text, "\n{}. {choice}", at + 1);
            }
            if let Some(answer) = answer {
                let _ = write!(text, "\n> {}", answer.text);
            }
            text
        }
        EntryKind::Compaction { done, .. } => done.as_ref().map_or_else(String::new, |done| done.text.clone()),
        EntryKind::Error(note) => note.message.clone(),
        EntryKind::Notice { text, more, .. } => format!("{text}\n{more}").trim_end().to_owned(),
        EntryKind::Writing { name, .. } => name.clone(),
    }
}

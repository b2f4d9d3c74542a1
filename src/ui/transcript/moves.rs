//! Moving about in a transcript: by rows, by entries, to turns, errors and what the person said; unfolding; choosing
//! rows; and what is copied.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use crate::text::{markdown, row};
use crate::ui::transcript::entry::{Entry, Id, Kind};
use crate::ui::transcript::lay::Page;
use crate::ui::transcript::search::Direction;
use crate::ui::transcript::state::{Anchor, Measured, Transcript};
use crate::ui::transcript::viewport::{self, Measure as _, Spot};

/// So close to the oldest entry the ones before it are read.
const NEAR: usize = 20;

/// What can be jumped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Entry,
    Turn,
    Error,
    Said,
}

impl Transcript {
    /// Returns the topmost row that is seen.
    pub fn top(&self, page: &Page<'_>, height: usize) -> Spot {
        let measured = Measured { transcript: self, page };
        match self.anchor.filter(|_| !self.follow) {
            Some(anchor) => viewport::clamp(&measured, self.spot(anchor, page), height),
            None => viewport::end(&measured, height),
        }
    }

    /// Tells whether all of it can be seen at once.
    pub fn fits(&self, page: &Page<'_>, height: usize) -> bool {
        let measured = Measured { transcript: self, page };
        viewport::end(&measured, height) == Spot::default()
    }

    /// Scrolls by rows. Up leaves follow mode; reaching the end by going down brings it back.
    pub fn scroll(&mut self, by: isize, page: &Page<'_>, height: usize) {
        let top = self.top(page, height);
        let measured = Measured { transcript: self, page };
        let last = viewport::end(&measured, height);
        let to = viewport::travel(&measured, top, by);
        if to >= last && by > 0 {
            return self.follow();
        }
        if to == top && self.follow {
            // Everything fits: there is nothing to leave.
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
        if viewport::end(&measured, height) == Spot::default() {
            return;
        }
        self.follow = false;
        self.anchor = self.anchor_at(Spot::default(), page);
        self.cursor = self.entry(0).map(|entry| entry.id);
    }

    /// Tells whether older events should be at hand by now. Measures nothing: it is asked at every delta.
    pub fn is_near_top(&self) -> bool {
        match self.anchor.filter(|_| !self.follow) {
            Some(anchor) => self.index_near(anchor.id) < NEAR,
            None => self.entry_count() < NEAR,
        }
    }

    /// Tells whether an entry was gone to, so that keys act on it and not on whatever is last.
    pub fn has_cursor(&self) -> bool {
        self.cursor.is_some()
    }

    /// Returns the entry that was gone to, if one was.
    pub fn gone_to(&self) -> Option<&Entry> {
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
        let bottom = viewport::travel(&measured, self.top(page, height), isize::try_from(height).ok()? - 1);
        (!measured.is_empty()).then_some(bottom.entry)
    }

    /// The entry that keys act on is always one that can be seen.
    fn keep_cursor_in_sight(&mut self, page: &Page<'_>, height: usize) {
        let Some(cursor) = self.cursor.and_then(|id| self.index_of(id)) else { return };
        let top = self.top(page, height).entry;
        let bottom = self.last_in_sight(page, height).unwrap_or(top);
        self.cursor = self.entry(cursor.clamp(top, bottom)).map(|entry| entry.id);
    }

    /// Goes to the next or previous thing of a kind. Tells whether there is one.
    pub fn jump(&mut self, target: Target, direction: Direction, page: &Page<'_>, height: usize) -> bool {
        let Some(from) = self.current(page, height) else { return false };
        let turn = self.entry(from).map(|entry| entry.turn);
        let fits = |entry: &Entry| match target {
            Target::Entry => true,
            Target::Turn => Some(entry.turn) != turn,
            Target::Error => entry.kind.is_error(),
            Target::Said => matches!(entry.kind, Kind::Said { .. }),
        };
        let found = match direction {
            Direction::Forward => (from + 1..self.entry_count()).find(|at| self.entry(*at).is_some_and(fits)),
            // Without a cursor the first step shows where one is.
            Direction::Backward if self.cursor.is_none() && target == Target::Entry => Some(from),
            Direction::Backward => (0..from).rev().find(|at| self.entry(*at).is_some_and(fits)),
        };
        let Some(index) = found else {
            if direction == Direction::Forward && target == Target::Entry {
                self.follow();
            }
            return false;
        };
        // The first entry of a turn says where it begins.
        let index = match target {
            Target::Turn => {
                let turn = self.entry(index).map(|entry| entry.turn);
                (0..=index)
                    .rev()
                    .take_while(|at| self.entry(*at).map(|entry| entry.turn) == turn)
                    .last()
                    .unwrap_or(index)
            }
            Target::Entry | Target::Error | Target::Said => index,
        };
        let Some(id) = self.entry(index).map(|entry| entry.id) else { return false };
        self.cursor = Some(id);
        self.reveal(Anchor { id, row: 0 }, page, height);
        true
    }

    /// Brings a row into sight, moving no more than needed.
    pub fn reveal(&mut self, anchor: Anchor, page: &Page<'_>, height: usize) {
        let measured = Measured { transcript: self, page };
        let top = self.top(page, height);
        let bottom = viewport::travel(&measured, top, isize::try_from(height.saturating_sub(1)).unwrap_or(0));
        let spot = self.spot(anchor, page);
        if spot >= top && spot <= bottom {
            // Going to an entry is reading it: what comes after it must not push it away.
            if self.follow && spot.entry + 1 < self.entry_count() {
                self.anchor = self.anchor_at(top, page);
                self.follow = false;
            }
            return;
        }
        let third = isize::try_from(height / 3).unwrap_or(0);
        let to = viewport::clamp(&measured, viewport::travel(&measured, spot, -third), height);
        self.follow = false;
        self.anchor = self.anchor_at(to, page);
    }

    /// Unfolds the current entry, or folds it again, and keeps its first row where it is.
    pub fn toggle(&mut self, page: &Page<'_>, height: usize) -> Option<Id> {
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
            // What is unfolded is to be read: its beginning stays in sight.
            let head = self.spot(Anchor { id, row: 0 }, page);
            let last = Measured { transcript: self, page }.height(head.entry).saturating_sub(1);
            self.stay(top, head..=Spot { row: last, ..head }, page, height);
        }
        Some(id)
    }

    /// Leaves the end for `top`, or for what lies so far below it that `rows` are in sight, the first of them above all.
    fn stay(&mut self, top: Spot, rows: RangeInclusive<Spot>, page: &Page<'_>, height: usize) {
        let measured = Measured { transcript: self, page };
        // The last row will say that this is not the end.
        let above = isize::try_from(height.saturating_sub(2)).unwrap_or(0);
        let lowest = viewport::travel(&measured, *rows.end(), -above);
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

    /// Makes the entry at a row of the screen the current one. Tells whether it was already.
    pub fn point_at(&mut self, row: usize, page: &Page<'_>, height: usize) -> bool {
        let measured = Measured { transcript: self, page };
        let spot = viewport::travel(&measured, self.top(page, height), isize::try_from(row).unwrap_or(0));
        let id = self.entry(spot.entry).map(|entry| entry.id);
        let same = id.is_some() && id == self.cursor;
        self.cursor = id;
        same
    }

    /// Begins to choose rows at the current entry.
    pub fn start_select(&mut self, page: &Page<'_>, height: usize) {
        let Some(index) = self.current(page, height) else { return };
        let top = self.top(page, height);
        let row =
            if index == top.entry { top.row.max(self.lead(index, page).len()) } else { self.lead(index, page).len() };
        let spot = Spot { entry: index, row };
        if let Some(anchor) = self.anchor_at(spot, page) {
            if self.follow {
                self.stay(top, spot..=spot, page, height);
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
        let spot = viewport::travel(&measured, self.spot(to, page), by);
        if let Some(to) = self.anchor_at(spot, page) {
            self.select = Some((from, to));
            self.reveal(to, page, height);
        }
    }

    /// Returns the chosen rows, from the upper to the lower.
    pub fn selection(&self, page: &Page<'_>) -> Option<(Spot, Spot)> {
        let (from, to) = self.select.map(|(from, to)| (self.spot(from, page), self.spot(to, page)))?;
        Some((from.min(to), from.max(to)))
    }

    /// Returns the text of the chosen rows as it was said: without decoration, wrapped lines whole again.
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

    /// Returns what copying the current entry gives: its source, not its look.
    pub fn entry_text(&self, page: &Page<'_>, height: usize) -> Option<String> {
        let entry = self.current(page, height).and_then(|index| self.entry(index))?;
        Some(source(entry))
    }

    /// Returns the last block of code in the current entry.
    pub fn entry_code(&self, page: &Page<'_>, height: usize) -> Option<String> {
        let entry = self.current(page, height).and_then(|index| self.entry(index))?;
        match &entry.kind {
            Kind::Tool(_) => Some(source(entry)),
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

/// Returns what an entry says, as it was written.
fn source(entry: &Entry) -> String {
    match &entry.kind {
        Kind::Said { text, .. } | Kind::Text { text } | Kind::Thinking { text, .. } | Kind::Separator { text } => {
            text.clone()
        }
        Kind::Tool(tool) => {
            let asked = crate::ui::transcript::lay::subject(tool);
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
        Kind::Letter { text, .. } | Kind::Completion { text, .. } | Kind::Done { text, .. } => text.clone(),
        Kind::Ask { ask, answer, .. } => {
            let mut text = format!("{}\n{}", ask.question, ask.detail).trim_end().to_owned();
            for (at, choice) in ask.choices.iter().enumerate() {
                let _ = write!(text, "\n{}. {choice}", at + 1);
            }
            if let Some(answer) = answer {
                let _ = write!(text, "\n> {}", answer.text);
            }
            text
        }
        Kind::Compaction { done, .. } => done.as_ref().map_or_else(String::new, |done| done.text.clone()),
        Kind::Error(note) => note.message.clone(),
        Kind::Notice { text, more, .. } => format!("{text}\n{more}").trim_end().to_owned(),
        Kind::Writing { name, .. } => name.clone(),
    }
}

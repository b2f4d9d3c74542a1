//! Finding text in a transcript, also in what is folded away.

use crate::base::EventId;
use crate::text::Row;
use crate::theme::Role;
use crate::ui::field::Field;
use crate::ui::transcript::entry::{Entry, Id, Kind};
use crate::ui::transcript::lay::{Page, shown_name, subject};
use crate::ui::transcript::state::{Anchor, Measured, Transcript};
use crate::ui::transcript::viewport::Measure as _;

/// So many calls may be made together, each answered further down.
const CALLS: usize = 64;

/// Which way to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// What is being looked for.
#[derive(Clone, Debug, Default)]
pub struct Search {
    pub field: Field,
    /// Whether it is being written.
    pub writing: bool,
    /// The row that was found last.
    pub current: Option<Anchor>,
}

impl Search {
    /// Returns what to look for. Capital letters matter only if there are some.
    pub fn needle(&self) -> Option<Needle> {
        let text = self.field.shown();
        (!text.is_empty()).then(|| Needle { exact: text.contains(char::is_uppercase), text: text.to_owned() })
    }
}

/// A text to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needle {
    text: String,
    exact: bool,
}

impl Needle {
    /// Returns where it stands in `hay`, as bytes of `hay`.
    pub fn find_all(&self, hay: &str) -> Vec<std::ops::Range<usize>> {
        if self.exact {
            return hay.match_indices(&self.text).map(|(at, found)| at..at + found.len()).collect();
        }
        // ASCII folding keeps byte positions; other scripts are compared as they are.
        let (hay, needle) = (hay.to_ascii_lowercase(), self.text.to_ascii_lowercase());
        hay.match_indices(&needle).map(|(at, found)| at..at + found.len()).collect()
    }

    fn is_in(&self, hay: &str) -> bool {
        !self.find_all(hay).is_empty()
    }
}

/// Marks every place in a row where `needle` stands.
pub fn mark(row: &mut Row, needle: &Needle, current: bool) {
    let role = if current { Role::SearchCurrent } else { Role::SearchMatch };
    for range in needle.find_all(&row.shown()) {
        row.mark(range, role);
    }
}

impl Transcript {
    pub fn search(&self) -> &Search {
        &self.search
    }

    pub fn search_mut(&mut self) -> &mut Search {
        &mut self.search
    }

    /// Goes to the next place that was found. Tells whether there is one.
    pub fn find(&mut self, direction: Direction, page: &Page<'_>, height: usize) -> bool {
        let Some(needle) = self.search.needle() else { return false };
        let count = self.entry_count();
        if count == 0 {
            return false;
        }
        let here = self.search.current.map(|anchor| (self.index_near(anchor.id), Some(anchor.row)));
        let (start, row) = here.unwrap_or_else(|| (self.top_index(page, height), None));
        // Once round, and the entry one starts from a second time for what lies on its other side.
        for step in 0..=count {
            let index = match direction {
                Direction::Forward => (start + step) % count,
                Direction::Backward => (start + count - step % count) % count,
            };
            let Some(entry) = self.entry(index) else { continue };
            if !holds(entry, &needle) {
                continue;
            }
            let id = entry.id;
            if !self.rows_with(index, &needle, page).iter().any(|_| true) {
                self.unfolded.insert(id);
            }
            let found = self.rows_with(index, &needle, page);
            let past = |candidate: &&isize| match (step, row, direction) {
                (0, Some(row), Direction::Forward) => **candidate > row,
                (0, Some(row), Direction::Backward) => **candidate < row,
                _ => true,
            };
            let hit = match direction {
                Direction::Forward => found.iter().find(past),
                Direction::Backward => found.iter().rev().find(past),
            };
            if let Some(row) = hit.copied() {
                let anchor = Anchor { id, row };
                self.search.current = Some(anchor);
                self.cursor = Some(id);
                self.reveal(anchor, page, height);
                return true;
            }
        }
        false
    }

    /// Goes to the entry that an event became part of: its own, or for the answer to a call that of the call. Tells
    /// whether there is one.
    pub fn go_to_event(&mut self, event: EventId, page: &Page<'_>, height: usize) -> bool {
        let wanted = Id::Event(event);
        let count = self.entry_count();
        let near = self.index_near(wanted);
        let at_or_before = |index: usize| self.entry(index).is_some_and(|entry| entry.id <= wanted);
        let Some(last) = (0..=near.min(count.saturating_sub(1))).rev().find(|index| at_or_before(*index)) else {
            return false;
        };
        let needle = self.search.needle();
        let says = |index: &usize| match (&needle, self.entry(*index)) {
            (Some(needle), Some(entry)) => holds(entry, needle),
            _ => true,
        };
        let index = match self.entry(last) {
            Some(entry) if entry.id == wanted => last,
            _ => (last.saturating_sub(CALLS)..=last).rev().find(says).unwrap_or(last),
        };
        let Some(id) = self.entry(index).map(|entry| entry.id) else { return false };
        let row = |it: &Self| needle.as_ref().and_then(|needle| it.rows_with(index, needle, page).first().copied());
        let first = row(self).or_else(|| {
            self.unfolded.insert(id);
            row(self)
        });
        let anchor = Anchor { id, row: first.unwrap_or(0) };
        self.search.current = first.map(|_| anchor);
        self.cursor = Some(id);
        self.reveal(anchor, page, height);
        true
    }

    /// Returns the rows of an entry, without what stands above it, in which `needle` can be seen.
    fn rows_with(&self, index: usize, needle: &Needle, page: &Page<'_>) -> Vec<isize> {
        let Some(entry) = self.entry(index) else { return Vec::new() };
        let rows = self.rows(entry, page);
        rows.iter().enumerate().filter(|(_, row)| needle.is_in(&row.shown())).map(|(at, _)| at.cast_signed()).collect()
    }

    fn top_index(&self, page: &Page<'_>, height: usize) -> usize {
        let measured = Measured { transcript: self, page };
        debug_assert!(measured.len() > 0);
        self.top(page, height).entry
    }
}

/// Tells whether `needle` stands anywhere in what an entry says, folded or not.
fn holds(entry: &Entry, needle: &Needle) -> bool {
    let any = |texts: &[&str]| texts.iter().any(|text| needle.is_in(text));
    match &entry.kind {
        Kind::Said { text, .. } | Kind::Text { text } | Kind::Thinking { text, .. } | Kind::Separator { text } => {
            any(&[text])
        }
        Kind::Tool(tool) => {
            let input = tool.asked.as_ref().map_or("", |asked| asked.input.as_str());
            let output = match tool.result.as_ref().map(|result| &result.content) {
                Some(crate::model::Content::Text { text }) => text,
                Some(crate::model::Content::Blob(_)) => "",
                None => &tool.output.text,
            };
            any(&[&shown_name(&tool.name), &subject(tool), input, output, tool.full.as_deref().unwrap_or("")])
        }
        Kind::Letter { name, text, .. } => any(&[name, text]),
        Kind::Completion { title, text, .. } => any(&[title, text]),
        Kind::Done { text, .. } => any(&[text]),
        Kind::Ask { ask, answer, .. } => {
            let answer = answer.as_ref().map_or("", |answer| &answer.text);
            any(&[&ask.question, &ask.detail, answer]) || ask.choices.iter().any(|choice| needle.is_in(choice))
        }
        Kind::Compaction { done, .. } => done.as_ref().is_some_and(|done| needle.is_in(&done.text)),
        Kind::Error(note) => any(&[&note.message]),
        Kind::Notice { text, more, .. } => any(&[text, more]),
        Kind::Writing { name, .. } => any(&[name]),
    }
}

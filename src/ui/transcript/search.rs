//! Text search in a transcript, including folded entries.

use std::borrow::Cow;

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::base::EventId;
use crate::text::Row;
use crate::theme::Role;
use crate::ui::field::Field;
use crate::ui::transcript::entry::{Entry, EntryId, EntryKind};
use crate::ui::transcript::layout::{Page, subject, verb};
use crate::ui::transcript::match_count::MatchCounter;
use crate::ui::transcript::state::{Anchor, Measured, Transcript};
use crate::ui::transcript::viewport::Measure as _;

/// The maximum number of parallel calls, whose results follow further down.
pub(super) const CALLS: usize = 64;
/// The bytes searched per step. More would delay the next frame.
pub(super) const CHUNK: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// The search of a transcript.
#[derive(Clone, Debug, Default)]
pub struct Search {
    pub field: Field,
    /// Whether the user is typing it.
    pub writing: bool,
    /// The current match.
    pub current: Option<Anchor>,
    /// The index of the current match among those of its entry.
    pub(super) rank: usize,
    pub(super) counter: MatchCounter,
    /// The search step in progress.
    pending: Option<IncrementalSearch>,
}

/// A search over the entries that takes more than one step.
#[derive(Clone, Copy, Debug)]
struct IncrementalSearch {
    direction: Direction,
    /// The next entry. Entries may be added and removed meanwhile.
    next: EntryId,
    /// How many entries are left.
    left: usize,
    /// In the first entry, only rows beyond this one count.
    behind: Option<isize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchProgress {
    Found,
    NotFound,
    /// Not found yet, see [`Transcript::continue_search`].
    Pending,
}

impl Search {
    /// Returns the search text as a matcher.
    pub fn needle(&self) -> Option<Needle> {
        Needle::new(self.field.shown())
    }

    /// Returns true if there is a search and the user has finished typing it.
    pub fn is_written(&self) -> bool {
        !self.writing && !self.field.is_empty()
    }

    /// Returns true while the search is running.
    pub fn is_running(&self) -> bool {
        self.pending.is_some()
    }

    /// Cancels a running search.
    pub fn cancel(&mut self) {
        self.pending = None;
    }
}

/// A compiled search text.
#[derive(Clone, Debug)]
pub struct Needle(RegexMatcher);

impl Needle {
    /// Returns `None` if `text` is empty. Smart case: upper case matters only if `text` has some.
    fn new(text: &str) -> Option<Self> {
        let mut builder = RegexMatcherBuilder::new();
        // A text too long to compile matches nothing.
        let matcher = builder.fixed_strings(true).case_smart(true).build(text).ok()?;
        (!text.is_empty()).then_some(Self(matcher))
    }

    /// Returns the byte ranges of all matches in `hay`.
    pub fn find_all(&self, hay: &str) -> Vec<std::ops::Range<usize>> {
        let mut found = Vec::new();
        // The callback cannot fail.
        let _ = self.0.find_iter(hay.as_bytes(), |place| {
            found.push(place.start()..place.end());
            true
        });
        found
    }

    pub(super) fn is_in(&self, hay: &str) -> bool {
        self.0.is_match(hay.as_bytes()).unwrap_or(false)
    }
}

/// Highlights all matches in a row.
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

    /// Goes to the next match, or starts to search for it.
    pub fn find(&mut self, direction: Direction, page: &Page<'_>, height: usize) -> SearchProgress {
        let count = self.entry_count();
        if count == 0 {
            return SearchProgress::NotFound;
        }
        let here = self.search.current.map(|anchor| (self.index_near(anchor.id), Some(anchor.row)));
        let (start, behind) = here.unwrap_or_else(|| (self.top_index(page, height), None));
        // Once around, plus the first entry again for its other side.
        let next = self.entry(start.min(count - 1)).map(|entry| entry.id);
        self.search.pending = next.map(|next| IncrementalSearch { direction, next, left: count + 1, behind });
        self.continue_search(page, height)
    }

    /// Searches the next chunk.
    pub fn continue_search(&mut self, page: &Page<'_>, height: usize) -> SearchProgress {
        let Some((mut pending, needle)) = self.search.pending.take().zip(self.search.needle()) else {
            return SearchProgress::NotFound;
        };
        let mut searched = 0;
        while pending.left > 0 {
            if searched > CHUNK {
                self.search.pending = Some(pending);
                return SearchProgress::Pending;
            }
            let (count, index) = (self.entry_count(), self.index_near(pending.next));
            let Some(entry) = self.entry(index) else { return SearchProgress::NotFound };
            let (found, bytes) = contains(entry, &needle);
            searched += bytes;
            if found && let Some((rank, row)) = self.next_matching_row(index, &needle, &pending, page) {
                self.search.rank = rank;
                self.go_to_match(index, row, page, height);
                return SearchProgress::Found;
            }
            let next = match pending.direction {
                Direction::Forward => (index + 1) % count,
                Direction::Backward => (index + count - 1) % count,
            };
            let Some(next) = self.entry(next) else { return SearchProgress::NotFound };
            pending = IncrementalSearch { next: next.id, left: pending.left - 1, behind: None, ..pending };
        }
        SearchProgress::NotFound
    }

    /// Returns the nearest matching row of an entry and its index among them, unfolding the entry if needed.
    fn next_matching_row(
        &mut self,
        index: usize,
        needle: &Needle,
        pending: &IncrementalSearch,
        page: &Page<'_>,
    ) -> Option<(usize, isize)> {
        let mut rows = self.matching_rows(index, needle, page);
        if rows.is_empty() {
            let id = self.entry(index)?.id;
            self.unfolded.insert(id);
            rows = self.matching_rows(index, needle, page);
        }
        let mut rows = rows.into_iter().enumerate();
        match pending.direction {
            Direction::Forward => rows.find(|(_, row)| pending.behind.is_none_or(|behind| *row > behind)),
            Direction::Backward => rows.rfind(|(_, row)| pending.behind.is_none_or(|behind| *row < behind)),
        }
    }

    fn go_to_match(&mut self, index: usize, row: isize, page: &Page<'_>, height: usize) {
        let Some(id) = self.entry(index).map(|entry| entry.id) else { return };
        let anchor = Anchor { id, row };
        self.search.current = Some(anchor);
        self.cursor = Some(id);
        self.reveal(anchor, page, height);
    }

    /// Goes to the entry of an event, or for a result to that of its call. Returns true if there is one.
    pub fn go_to_event(&mut self, event: EventId, page: &Page<'_>, height: usize) -> bool {
        let wanted = self.id_of(event);
        let count = self.entry_count();
        let near = self.index_near(wanted);
        let at_or_before = |index: usize| self.entry(index).is_some_and(|entry| entry.id <= wanted);
        let Some(last) = (0..=near.min(count.saturating_sub(1))).rev().find(|index| at_or_before(*index)) else {
            return false;
        };
        let needle = self.search.needle();
        let says = |index: &usize| match (&needle, self.entry(*index)) {
            (Some(needle), Some(entry)) => contains(entry, needle).0,
            _ => true,
        };
        let index = match self.entry(last) {
            Some(entry) if entry.id == wanted => last,
            // A `clarify` call is shown by the entry after it.
            _ => (last.saturating_sub(CALLS)..=(last + 1).min(count - 1)).rev().find(says).unwrap_or(last),
        };
        let Some(id) = self.entry(index).map(|entry| entry.id) else { return false };
        let row = |it: &Self| needle.as_ref().and_then(|needle| it.matching_rows(index, needle, page).first().copied());
        let first = row(self).or_else(|| {
            self.unfolded.insert(id);
            row(self)
        });
        let anchor = Anchor { id, row: first.unwrap_or(0) };
        self.search.current = first.map(|_| anchor);
        self.search.rank = 0;
        self.cursor = Some(id);
        self.reveal(anchor, page, height);
        true
    }

    /// Returns the matching rows of an entry, counted from its own first row.
    fn matching_rows(&self, index: usize, needle: &Needle, page: &Page<'_>) -> Vec<isize> {
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

/// Returns whether an entry contains `needle`, folded or not, and how many bytes were searched.
pub(super) fn contains(entry: &Entry, needle: &Needle) -> (bool, usize) {
    let mut searched = 0;
    let found = texts(entry).iter().any(|text| {
        searched += text.len();
        needle.is_in(text)
    });
    (found, searched)
}

/// Returns all text of an entry.
fn texts(entry: &Entry) -> Vec<Cow<'_, str>> {
    match &entry.kind {
        EntryKind::UserMessage { text, .. }
        | EntryKind::Text { text }
        | EntryKind::Thinking { text, .. }
        | EntryKind::Separator { text }
        | EntryKind::Done { text, .. } => vec![text.into()],
        EntryKind::Tool(tool) => {
            let input = tool.asked.as_ref().map_or("", |asked| asked.input.as_str());
            let output = match tool.result.as_ref().map(|result| &result.content) {
                Some(crate::model::Content::Text { text }) => text,
                Some(crate::model::Content::Blob(_)) => "",
                None => &tool.output.text,
            };
            let full = tool.full.as_deref().unwrap_or("");
            vec![verb(&tool.name), subject(tool).into(), input.into(), output.into(), full.into()]
        }
        EntryKind::TaskMessage { name, text, .. } => vec![name.into(), text.into()],
        EntryKind::Completion { title, text, .. } => vec![title.into(), text.into()],
        EntryKind::Ask { ask, answer, .. } => {
            let mut texts: Vec<Cow<'_, str>> = vec![(&ask.question).into(), (&ask.detail).into()];
            texts.extend(answer.iter().map(|answer| Cow::from(&answer.text)));
            texts.extend(ask.choices.iter().map(|choice| Cow::from(&choice.label)));
            texts
        }
        EntryKind::Compaction { done, .. } => done.iter().map(|done| Cow::from(&done.text)).collect(),
        EntryKind::Error(note) => vec![(&note.message).into()],
        EntryKind::Notice { text, more, .. } => vec![text.into(), more.into()],
        EntryKind::Writing { name, .. } => vec![name.into()],
    }
}

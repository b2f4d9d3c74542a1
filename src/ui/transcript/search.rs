//! Finding text in a transcript, also in what is folded away.

use std::borrow::Cow;

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::base::EventId;
use crate::text::Row;
use crate::theme::Role;
use crate::ui::field::Field;
use crate::ui::transcript::entry::{Entry, Id, Kind};
use crate::ui::transcript::lay::{Page, subject, verb};
use crate::ui::transcript::state::{Anchor, Measured, Transcript};
use crate::ui::transcript::tally::Tally;
use crate::ui::transcript::viewport::Measure as _;

/// So many calls may be made together, each answered further down.
pub(super) const CALLS: usize = 64;
/// How many bytes are looked through at once. More would keep the screen from being drawn.
pub(super) const STRETCH: usize = 1 << 20;

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
    /// Which of the rows with a match in its entry that row is, from zero.
    pub(super) rank: usize,
    pub(super) tally: Tally,
    /// What is still to be looked through for it.
    hunt: Option<Hunt>,
}

/// A way through the entries that takes more than one step.
#[derive(Clone, Copy, Debug)]
struct Hunt {
    direction: Direction,
    /// The entry that comes next. Entries may come and go meanwhile.
    next: Id,
    /// How many entries are left.
    left: usize,
    /// In the entry one starts from, only what lies behind this row counts.
    behind: Option<isize>,
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Found,
    Nowhere,
    /// Not found yet, see [`Transcript::hunt_on`].
    Further,
}

impl Search {
    /// Returns what to look for. Capital letters matter only if there are some.
    pub fn needle(&self) -> Option<Needle> {
        Needle::new(self.field.shown())
    }

    /// Tells whether something is looked for, and no longer being written.
    pub fn is_written(&self) -> bool {
        !self.writing && !self.field.is_empty()
    }

    /// Tells whether it is still being looked for.
    pub fn is_hunting(&self) -> bool {
        self.hunt.is_some()
    }

    /// Looks no further: something else was asked for meanwhile.
    pub fn give_up(&mut self) {
        self.hunt = None;
    }
}

/// A text to look for.
#[derive(Clone, Debug)]
pub struct Needle(RegexMatcher);

impl Needle {
    /// Capital letters matter only if there are some. Nothing: there is nothing to look for.
    fn new(text: &str) -> Option<Self> {
        let mut builder = RegexMatcherBuilder::new();
        // A text that is too long to be looked for is found nowhere, which is what is said then.
        let matcher = builder.fixed_strings(true).case_smart(true).build(text).ok()?;
        (!text.is_empty()).then_some(Self(matcher))
    }

    /// Returns where it stands in `hay`, as bytes of `hay`.
    pub fn find_all(&self, hay: &str) -> Vec<std::ops::Range<usize>> {
        let mut found = Vec::new();
        // It cannot fail, only its signature could.
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

    /// Goes to the next place that was found, or begins to look for it.
    pub fn find(&mut self, direction: Direction, page: &Page<'_>, height: usize) -> Progress {
        let count = self.entry_count();
        if count == 0 {
            return Progress::Nowhere;
        }
        let here = self.search.current.map(|anchor| (self.index_near(anchor.id), Some(anchor.row)));
        let (start, behind) = here.unwrap_or_else(|| (self.top_index(page, height), None));
        // Once round, and the entry one starts from a second time for what lies on its other side.
        let next = self.entry(start.min(count - 1)).map(|entry| entry.id);
        self.search.hunt = next.map(|next| Hunt { direction, next, left: count + 1, behind });
        self.hunt_on(page, height)
    }

    /// Looks through the next stretch.
    pub fn hunt_on(&mut self, page: &Page<'_>, height: usize) -> Progress {
        let Some((mut hunt, needle)) = self.search.hunt.take().zip(self.search.needle()) else {
            return Progress::Nowhere;
        };
        let mut looked_at = 0;
        while hunt.left > 0 {
            if looked_at > STRETCH {
                self.search.hunt = Some(hunt);
                return Progress::Further;
            }
            let (count, index) = (self.entry_count(), self.index_near(hunt.next));
            let Some(entry) = self.entry(index) else { return Progress::Nowhere };
            let (held, bytes) = holds(entry, &needle);
            looked_at += bytes;
            if held && let Some((rank, row)) = self.row_to_go_to(index, &needle, &hunt, page) {
                self.search.rank = rank;
                self.arrive(index, row, page, height);
                return Progress::Found;
            }
            let next = match hunt.direction {
                Direction::Forward => (index + 1) % count,
                Direction::Backward => (index + count - 1) % count,
            };
            let Some(next) = self.entry(next) else { return Progress::Nowhere };
            hunt = Hunt { next: next.id, left: hunt.left - 1, behind: None, ..hunt };
        }
        Progress::Nowhere
    }

    /// Returns the nearest row of an entry in which `needle` can be seen, and which of them it is; unfolded if that is
    /// needed.
    fn row_to_go_to(&mut self, index: usize, needle: &Needle, hunt: &Hunt, page: &Page<'_>) -> Option<(usize, isize)> {
        let mut rows = self.rows_with(index, needle, page);
        if rows.is_empty() {
            let id = self.entry(index)?.id;
            self.unfolded.insert(id);
            rows = self.rows_with(index, needle, page);
        }
        let mut rows = rows.into_iter().enumerate();
        match hunt.direction {
            Direction::Forward => rows.find(|(_, row)| hunt.behind.is_none_or(|behind| *row > behind)),
            Direction::Backward => rows.rfind(|(_, row)| hunt.behind.is_none_or(|behind| *row < behind)),
        }
    }

    fn arrive(&mut self, index: usize, row: isize, page: &Page<'_>, height: usize) {
        let Some(id) = self.entry(index).map(|entry| entry.id) else { return };
        let anchor = Anchor { id, row };
        self.search.current = Some(anchor);
        self.cursor = Some(id);
        self.reveal(anchor, page, height);
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
            (Some(needle), Some(entry)) => holds(entry, needle).0,
            _ => true,
        };
        let index = match self.entry(last) {
            Some(entry) if entry.id == wanted => last,
            // What a call asked the person stands in the entry after it.
            _ => (last.saturating_sub(CALLS)..=(last + 1).min(count - 1)).rev().find(says).unwrap_or(last),
        };
        let Some(id) = self.entry(index).map(|entry| entry.id) else { return false };
        let row = |it: &Self| needle.as_ref().and_then(|needle| it.rows_with(index, needle, page).first().copied());
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

/// Tells whether `needle` stands anywhere in what an entry says, folded or not, and how much there was to look through.
pub(super) fn holds(entry: &Entry, needle: &Needle) -> (bool, usize) {
    let mut looked_at = 0;
    let held = texts(entry).iter().any(|text| {
        looked_at += text.len();
        needle.is_in(text)
    });
    (held, looked_at)
}

/// Returns everything that an entry says.
fn texts(entry: &Entry) -> Vec<Cow<'_, str>> {
    match &entry.kind {
        Kind::Said { text, .. }
        | Kind::Text { text }
        | Kind::Thinking { text, .. }
        | Kind::Separator { text }
        | Kind::Done { text, .. } => vec![text.into()],
        Kind::Tool(tool) => {
            let input = tool.asked.as_ref().map_or("", |asked| asked.input.as_str());
            let output = match tool.result.as_ref().map(|result| &result.content) {
                Some(crate::model::Content::Text { text }) => text,
                Some(crate::model::Content::Blob(_)) => "",
                None => &tool.output.text,
            };
            let full = tool.full.as_deref().unwrap_or("");
            vec![verb(&tool.name), subject(tool).into(), input.into(), output.into(), full.into()]
        }
        Kind::Letter { name, text, .. } => vec![name.into(), text.into()],
        Kind::Completion { title, text, .. } => vec![title.into(), text.into()],
        Kind::Ask { ask, answer, .. } => {
            let mut texts: Vec<Cow<'_, str>> = vec![(&ask.question).into(), (&ask.detail).into()];
            texts.extend(answer.iter().map(|answer| Cow::from(&answer.text)));
            texts.extend(ask.choices.iter().map(|choice| Cow::from(&choice.label)));
            texts
        }
        Kind::Compaction { done, .. } => done.iter().map(|done| Cow::from(&done.text)).collect(),
        Kind::Error(note) => vec![(&note.message).into()],
        Kind::Notice { text, more, .. } => vec![text.into(), more.into()],
        Kind::Writing { name, .. } => vec![name.into()],
    }
}

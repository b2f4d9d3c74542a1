//! Counts the matches of a search in a transcript.
//!
//! A match is a row that contains the search text. Matches are counted from the oldest entry on, one chunk at a time,
//! so that no frame waits for it, and only up to [`MAX_MATCHES`].

use std::collections::BTreeMap;

use crate::ui::transcript::entry::{Entry, EntryId};
use crate::ui::transcript::layout::{self, Page};
use crate::ui::transcript::search::{CALLS, CHUNK, Needle, contains};
use crate::ui::transcript::state::Transcript;

/// The maximum count. Nobody steps through more.
pub const MAX_MATCHES: usize = 9_999;
/// The cost of laying out an entry, in searched bytes.
const LAYOUT: usize = CHUNK / 16;

/// The count so far.
#[derive(Clone, Debug, Default)]
pub struct MatchCounter {
    /// The text and width that were counted. Any other needs a new count.
    text: String,
    width: usize,
    /// The number of matches per entry, without zeros.
    rows: BTreeMap<EntryId, usize>,
    total: usize,
    /// The last counted entry.
    seen: Option<EntryId>,
    whole: bool,
}

/// The position among the matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchPosition {
    /// Counted from one. `None` if unknown or on no match.
    pub at: Option<usize>,
    pub total: usize,
    /// Whether all loaded entries have been counted.
    pub whole: bool,
}

impl MatchCounter {
    /// Drops the counts from `id` on.
    fn drop_from(&mut self, id: EntryId) {
        let gone = self.rows.split_off(&id);
        self.total -= gone.values().sum::<usize>();
        self.whole = false;
    }
}

impl Transcript {
    /// Returns true if entries are still to be counted.
    pub fn is_counting(&self) -> bool {
        self.search.is_written() && !self.search.counter.whole
    }

    /// Restarts or extends the count if the text, the width or the entries have changed.
    pub fn check_count(&mut self, page: &Page<'_>) {
        if !self.search.is_written() {
            return;
        }
        let last = self.log_entry_count().checked_sub(1).and_then(|last| self.entry(last)).map(|entry| entry.id);
        let words = self.search.field.shown();
        if self.search.counter.text != words || self.search.counter.width != page.width {
            self.search.counter = MatchCounter { text: words.to_owned(), width: page.width, ..MatchCounter::default() };
        } else if self.search.counter.seen != last && self.search.counter.total < MAX_MATCHES {
            self.search.counter.whole = false;
        }
    }

    /// Counts the next chunk. Returns true if it was the last one.
    pub fn count_next_chunk(&mut self, page: &Page<'_>) -> bool {
        self.check_count(page);
        let Some(needle) = self.search.needle().filter(|_| self.is_counting()) else { return true };
        let mut counter = std::mem::take(&mut self.search.counter);
        let mut searched = 0;
        let kept = self.log_entry_count();
        let mut index = counter.seen.map_or(0, |seen| self.first_after(seen));
        while index < kept && searched <= CHUNK && counter.total < MAX_MATCHES {
            let Some(entry) = self.entry(index) else { break };
            let (found, bytes) = contains(entry, &needle);
            searched += bytes;
            if found {
                let rows = self.places(entry, &needle, page);
                searched += LAYOUT;
                if rows > 0 {
                    counter.rows.insert(entry.id, rows);
                    counter.total += rows;
                }
            }
            counter.seen = Some(entry.id);
            index += 1;
        }
        counter.whole = index >= kept || counter.total >= MAX_MATCHES;
        let whole = counter.whole;
        self.search.counter = counter;
        whole
    }

    /// Returns the number of matching rows of an entry: the visible ones, or the folded ones if none is visible.
    fn places(&self, entry: &Entry, needle: &Needle, page: &Page<'_>) -> usize {
        let count = |unfolded: bool| {
            let rows = layout::rows(entry, &Page { unfolded, ..*page });
            rows.iter().filter(|row| needle.is_in(&row.shown())).count()
        };
        if self.unfolded.contains(&entry.id) {
            return count(true);
        }
        match count(false) {
            0 => count(true),
            seen => seen,
        }
    }

    /// Returns the position among the matches. `None` if there is no search.
    pub fn match_position(&self) -> Option<MatchPosition> {
        let counter = &self.search.counter;
        if !self.search.is_written() {
            return None;
        }
        let here = self.search.current.filter(|here| counter.rows.contains_key(&here.id));
        let at = here.filter(|_| counter.whole).map(|here| {
            let before: usize = counter.rows.range(..here.id).map(|(_, rows)| rows).sum();
            before + self.search.rank + 1
        });
        Some(MatchPosition {
            at: at.map(|at| at.min(counter.total)),
            total: counter.total.min(MAX_MATCHES),
            whole: counter.whole,
        })
    }

    /// Starts a new count, after entries were loaded or unfolded all over.
    pub(super) fn recount(&mut self) {
        self.search.counter = MatchCounter::default();
    }

    /// Counts one entry again, after it was folded or unfolded.
    pub(super) fn recount_entry(&mut self, index: usize, page: &Page<'_>) {
        let Some((entry, needle)) = self.entry(index).zip(self.search.needle()) else { return };
        let (id, rows) = (entry.id, if contains(entry, &needle).0 { self.places(entry, &needle, page) } else { 0 });
        let counter = &mut self.search.counter;
        if counter.seen.is_none_or(|seen| id > seen) {
            return;
        }
        counter.total -= counter.rows.remove(&id).unwrap_or(0);
        if rows > 0 {
            counter.rows.insert(id, rows);
            counter.total += rows;
        }
    }

    /// Counts the newest entries again, after a result or an answer was added to one of them.
    pub(super) fn recount_newest(&mut self) {
        let from = self.log_entry_count().saturating_sub(CALLS);
        let before = from.checked_sub(1).and_then(|before| self.entry(before)).map(|entry| entry.id);
        let Some(first) = self.entry(from).map(|entry| entry.id) else { return };
        let counter = &mut self.search.counter;
        if counter.seen.is_some_and(|seen| seen >= first) {
            counter.drop_from(first);
            counter.seen = before;
        }
    }

    /// Drops the counts of removed old entries.
    pub(super) fn drop_old_counts(&mut self) {
        let Some(first) = self.entry(0).map(|entry| entry.id) else { return };
        let counter = &mut self.search.counter;
        let kept = counter.rows.split_off(&first);
        counter.total = kept.values().sum();
        counter.rows = kept;
    }
}

#[cfg(test)]
#[path = "match_count_tests.rs"]
mod tests;

//! How many places a search has found, and which of them one is at.
//!
//! A place is what the keys go to: a row in which the words can be seen. They are counted from the oldest entry on, a
//! stretch at a time, so that no frame waits for it, and not beyond [`MOST`].

use std::collections::BTreeMap;

use crate::ui::transcript::entry::{Entry, Id};
use crate::ui::transcript::lay::{self, Page};
use crate::ui::transcript::search::{CALLS, Needle, STRETCH, holds};
use crate::ui::transcript::state::Transcript;

/// Nobody goes through more places one by one.
pub const MOST: usize = 9_999;
/// What laying out an entry counts for, in bytes that are looked through.
const LAYOUT: usize = STRETCH / 16;

/// What has been counted so far.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// What was counted, and at which width: anything else is counted anew.
    text: String,
    width: usize,
    /// The entries with places in them, and how many each has.
    rows: BTreeMap<Id, usize>,
    total: usize,
    /// The last entry that was looked at.
    seen: Option<Id>,
    whole: bool,
}

/// Where one is among the places that were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Counted from one. Nothing: at none of them, or that is not known yet.
    pub at: Option<usize>,
    pub total: usize,
    /// Whether everything that is loaded has been looked through.
    pub whole: bool,
}

impl Tally {
    /// Forgets what was counted of `id` and of everything after it.
    fn step_back(&mut self, id: Id) {
        let gone = self.rows.split_off(&id);
        self.total -= gone.values().sum::<usize>();
        self.whole = false;
    }
}

impl Transcript {
    /// Tells whether places are still to be counted.
    pub fn is_counting(&self) -> bool {
        self.search.is_written() && !self.search.tally.whole
    }

    /// Notices what makes the count out of date: other words, another width, more entries.
    pub fn check_count(&mut self, page: &Page<'_>) {
        if !self.search.is_written() {
            return;
        }
        let last = self.kept_count().checked_sub(1).and_then(|last| self.entry(last)).map(|entry| entry.id);
        let words = self.search.field.shown();
        if self.search.tally.text != words || self.search.tally.width != page.width {
            self.search.tally = Tally { text: words.to_owned(), width: page.width, ..Tally::default() };
        } else if self.search.tally.seen != last && self.search.tally.total < MOST {
            self.search.tally.whole = false;
        }
    }

    /// Counts on through the next stretch. Tells whether that was the last one.
    pub fn count_on(&mut self, page: &Page<'_>) -> bool {
        self.check_count(page);
        let Some(needle) = self.search.needle().filter(|_| self.is_counting()) else { return true };
        let mut tally = std::mem::take(&mut self.search.tally);
        let mut looked_at = 0;
        let kept = self.kept_count();
        let mut index = tally.seen.map_or(0, |seen| self.first_after(seen));
        while index < kept && looked_at <= STRETCH && tally.total < MOST {
            let Some(entry) = self.entry(index) else { break };
            let (held, bytes) = holds(entry, &needle);
            looked_at += bytes;
            if held {
                let rows = self.places(entry, &needle, page);
                looked_at += LAYOUT;
                if rows > 0 {
                    tally.rows.insert(entry.id, rows);
                    tally.total += rows;
                }
            }
            tally.seen = Some(entry.id);
            index += 1;
        }
        tally.whole = index >= kept || tally.total >= MOST;
        let whole = tally.whole;
        self.search.tally = tally;
        whole
    }

    /// Returns how many rows of an entry the keys go to: those that are seen, or those behind it if none is.
    fn places(&self, entry: &Entry, needle: &Needle, page: &Page<'_>) -> usize {
        let count = |unfolded: bool| {
            let rows = lay::rows(entry, &Page { unfolded, ..*page });
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

    /// Returns where one is among the places. Nothing: nothing is looked for.
    pub fn standing(&self) -> Option<Standing> {
        let tally = &self.search.tally;
        if !self.search.is_written() {
            return None;
        }
        let here = self.search.current.filter(|here| tally.rows.contains_key(&here.id));
        let at = here.filter(|_| tally.whole).map(|here| {
            let before: usize = tally.rows.range(..here.id).map(|(_, rows)| rows).sum();
            before + self.search.rank + 1
        });
        Some(Standing { at: at.map(|at| at.min(tally.total)), total: tally.total.min(MOST), whole: tally.whole })
    }

    /// Counts anew: what is loaded, or what is unfolded, has changed all over.
    pub(super) fn recount(&mut self) {
        self.search.tally = Tally::default();
    }

    /// Counts one entry anew, after it was folded or unfolded.
    pub(super) fn recount_entry(&mut self, index: usize, page: &Page<'_>) {
        let Some((entry, needle)) = self.entry(index).zip(self.search.needle()) else { return };
        let (id, rows) = (entry.id, if holds(entry, &needle).0 { self.places(entry, &needle, page) } else { 0 });
        let tally = &mut self.search.tally;
        if tally.seen.is_none_or(|seen| id > seen) {
            return;
        }
        tally.total -= tally.rows.remove(&id).unwrap_or(0);
        if rows > 0 {
            tally.rows.insert(id, rows);
            tally.total += rows;
        }
    }

    /// Entries that were there have got more words: a result, an answer. They are among the newest.
    pub(super) fn recount_newest(&mut self) {
        let from = self.kept_count().saturating_sub(CALLS);
        let before = from.checked_sub(1).and_then(|before| self.entry(before)).map(|entry| entry.id);
        let Some(first) = self.entry(from).map(|entry| entry.id) else { return };
        let tally = &mut self.search.tally;
        if tally.seen.is_some_and(|seen| seen >= first) {
            tally.step_back(first);
            tally.seen = before;
        }
    }

    /// The oldest entries were let go of.
    pub(super) fn forget_counted(&mut self) {
        let Some(first) = self.entry(0).map(|entry| entry.id) else { return };
        let tally = &mut self.search.tally;
        let kept = tally.rows.split_off(&first);
        tally.total = kept.values().sum();
        tally.rows = kept;
    }
}

#[cfg(test)]
#[path = "tally_tests.rs"]
mod tests;

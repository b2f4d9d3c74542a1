//! The state of the search over all tasks: query, results and selection.

use jiff::tz::TimeZone;

use crate::base::{TaskId, Timestamp};
use crate::model::search::{Hit, SearchQuery, SearchResults, moment};
use crate::ui::field::Field;
use crate::ui::list::Cursor;

/// The maximum number of results.
const MAX_RESULTS: usize = 60;

#[derive(Clone, Debug, Default)]
pub struct Find {
    pub field: Field,
    /// The query of the pending or shown results.
    asked: Option<SearchQuery>,
    waiting: bool,
    /// Whether to open the best result as soon as it arrives.
    open_when_ready: bool,
    found: SearchResults,
    /// Why the search failed.
    pub problem: Option<String>,
    pub cursor: Cursor,
}

impl Find {
    pub fn with(words: &str) -> Self {
        Self { field: Field::with(words), ..Self::default() }
    }

    /// Takes over the typed text. Returns the query to run, if any.
    pub fn ask(
        &mut self,
        now: Timestamp,
        zone: &TimeZone,
        task: impl Fn(&str) -> Option<TaskId>,
    ) -> Option<SearchQuery> {
        let question = question(self.field.shown(), now, zone, task);
        if question.words.trim().is_empty() {
            *self = Self { field: std::mem::take(&mut self.field), ..Self::default() };
            return None;
        }
        self.asked = Some(question.clone());
        self.waiting = true;
        self.open_when_ready = false;
        Some(question)
    }

    /// Takes in results. Returns false if they belong to an older query.
    pub fn answer(&mut self, asked: &SearchQuery, found: Result<SearchResults, String>) -> bool {
        if self.asked.as_ref() != Some(asked) {
            return false;
        }
        self.waiting = false;
        self.cursor = Cursor::default();
        (self.found, self.problem) = match found {
            Ok(found) => (found, None),
            Err(problem) => (SearchResults::default(), Some(problem)),
        };
        true
    }

    /// Requests that the best result opens as soon as it arrives. Returns false if no results are pending.
    pub fn open_when_ready(&mut self) -> bool {
        self.open_when_ready = self.waiting;
        self.waiting
    }

    /// Returns true, once, if the best result should open now.
    pub fn take_open_request(&mut self) -> bool {
        std::mem::take(&mut self.open_when_ready) && !self.found.hits.is_empty()
    }

    pub fn hits(&self) -> &[Hit] {
        &self.found.hits
    }

    pub fn chosen(&self) -> Option<&Hit> {
        self.found.hits.get(self.cursor.chosen)
    }

    /// Returns a note about the results.
    pub fn state(&self) -> &'static str {
        match (&self.asked, self.waiting, self.found.hits.is_empty()) {
            (None, ..) => "matches all words; task:ID and since:2d narrow it",
            (Some(_), true, true) => "searching…",
            (Some(_), false, true) => "no matches",
            (Some(_), _, false) if self.found.more => "more matches: add a word to narrow it",
            (Some(_), _, false) => "",
        }
    }
}

/// Parses the typed text into words and filters. An invalid filter counts as a word.
fn question(text: &str, now: Timestamp, zone: &TimeZone, task: impl Fn(&str) -> Option<TaskId>) -> SearchQuery {
    let mut question = SearchQuery { limit: MAX_RESULTS, ..SearchQuery::default() };
    let mut words = Vec::new();
    for word in text.split(' ') {
        let narrowed = match word.split_once(':') {
            Some(("since", value)) => moment(value, now, zone).map(|since| question.since = Some(since)),
            Some(("until", value)) => moment(value, now, zone).map(|until| question.until = Some(until)),
            Some(("task", value)) => task(value).map(|task| question.below = Some(task)),
            _ => None,
        };
        if narrowed.is_none() {
            words.push(word);
        }
    }
    question.words = words.join(" ");
    question
}

#[cfg(test)]
#[path = "find_tests.rs"]
mod tests;

//! Search over everything, while it is being written: the words, what was found for them, and which of it is chosen.

use jiff::tz::TimeZone;

use crate::base::{TaskId, Timestamp};
use crate::model::search::{Found, Hit, Question, moment};
use crate::ui::field::Field;
use crate::ui::list::Cursor;

/// How many places are shown.
const MOST: usize = 60;

/// A search.
#[derive(Clone, Debug, Default)]
pub struct Find {
    pub field: Field,
    /// What the answer that is waited for, or that is shown, was asked with.
    asked: Option<Question>,
    waiting: bool,
    /// Whether the best place is to be gone to as soon as it is found.
    hurried: bool,
    found: Found,
    /// Why nothing could be looked for.
    pub problem: Option<String>,
    pub cursor: Cursor,
}

impl Find {
    /// A search that begins with these words.
    pub fn with(words: &str) -> Self {
        Self { field: Field::with(words), ..Self::default() }
    }

    /// Takes up what is written now. Returns what has to be asked, if it is anything.
    pub fn ask(&mut self, now: Timestamp, zone: &TimeZone, task: impl Fn(&str) -> Option<TaskId>) -> Option<Question> {
        let question = question(self.field.shown(), now, zone, task);
        if question.words.trim().is_empty() {
            *self = Self { field: std::mem::take(&mut self.field), ..Self::default() };
            return None;
        }
        self.asked = Some(question.clone());
        self.waiting = true;
        self.hurried = false;
        Some(question)
    }

    /// Takes in an answer. One to an older question is of no use any more. Tells whether it was of use.
    pub fn answer(&mut self, asked: &Question, found: Result<Found, String>) -> bool {
        if self.asked.as_ref() != Some(asked) {
            return false;
        }
        self.waiting = false;
        self.cursor = Cursor::default();
        (self.found, self.problem) = match found {
            Ok(found) => (found, None),
            Err(problem) => (Found::default(), Some(problem)),
        };
        true
    }

    /// Takes note that the person did not wait for the answer. Tells whether there is one to be waited for.
    pub fn hurry(&mut self) -> bool {
        self.hurried = self.waiting;
        self.waiting
    }

    /// Tells, once, whether the best place that was found is to be gone to.
    pub fn is_hurried(&mut self) -> bool {
        std::mem::take(&mut self.hurried) && !self.found.hits.is_empty()
    }

    pub fn hits(&self) -> &[Hit] {
        &self.found.hits
    }

    pub fn chosen(&self) -> Option<&Hit> {
        self.found.hits.get(self.cursor.chosen)
    }

    /// Returns what there is to say about the list.
    pub fn state(&self) -> &'static str {
        match (&self.asked, self.waiting, self.found.hits.is_empty()) {
            (None, ..) => "all words must be there; task:ID and since:2d narrow it",
            (Some(_), true, true) => "looking…",
            (Some(_), false, true) => "nothing was found",
            (Some(_), _, false) if self.found.more => "there is more: another word narrows it",
            (Some(_), _, false) => "",
        }
    }
}

/// Takes what is written apart: words, and what narrows the search. What narrows nothing is a word.
fn question(text: &str, now: Timestamp, zone: &TimeZone, task: impl Fn(&str) -> Option<TaskId>) -> Question {
    let mut question = Question { limit: MOST, ..Question::default() };
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

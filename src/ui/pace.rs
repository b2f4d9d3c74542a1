//! How fast tokens are used: the last few counts of each task, and what they come to per minute.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::base::{TaskId, Timestamp};

/// How far back it looks.
const WINDOW: Duration = Duration::from_secs(300);
/// How many counts of a task are kept.
const KEPT: usize = 32;

/// Counts over time, by task.
#[derive(Clone, Debug, Default)]
pub struct Pace(BTreeMap<TaskId, VecDeque<(Timestamp, u64)>>);

impl Pace {
    /// Takes down how many tokens a task has used by now.
    pub fn note(&mut self, task: TaskId, tokens: u64, now: Timestamp) {
        let counts = self.0.entry(task).or_default();
        if counts.back().is_some_and(|(_, known)| *known == tokens) {
            return;
        }
        counts.push_back((now, tokens));
        if counts.len() > KEPT {
            counts.pop_front();
        }
    }

    pub fn forget(&mut self, task: TaskId) {
        self.0.remove(&task);
    }

    /// Returns the tokens per minute over the last minutes, or nothing if too little is known to say.
    pub fn per_minute(&self, task: TaskId, now: Timestamp) -> Option<u64> {
        let counts = self.0.get(&task)?;
        let (_, last) = counts.back()?;
        let recent = |at: Timestamp| at.later(WINDOW) >= now;
        let (since, first) = counts.iter().find(|(at, _)| recent(*at))?;
        let used = last.checked_sub(*first).filter(|used| *used > 0)?;
        // Less than a minute is no measure: the first answer would look like a flood.
        let millis = u64::try_from(now.as_millis() - since.as_millis()).unwrap_or(0).max(60_000);
        Some(used.saturating_mul(60_000) / millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::testing::task;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn the_pace_is_that_of_the_last_minutes() {
        let mut pace = Pace::default();
        pace.note(task(1), 1_000_000, at(0));
        assert_eq!(pace.per_minute(task(1), at(1)), None, "one count is no pace");
        pace.note(task(1), 1_006_000, at(60));
        pace.note(task(1), 1_012_000, at(120));
        assert_eq!(pace.per_minute(task(1), at(120)), Some(6_000));
        assert_eq!(pace.per_minute(task(1), at(1_000)), None, "nothing has been used lately");
        pace.forget(task(1));
        assert_eq!(pace.per_minute(task(1), at(120)), None);
    }

    #[test]
    fn the_first_answer_is_no_flood() {
        let mut pace = Pace::default();
        pace.note(task(1), 0, at(0));
        pace.note(task(1), 9_000, at(1));
        assert_eq!(pace.per_minute(task(1), at(1)), Some(9_000));
    }
}

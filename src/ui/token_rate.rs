//! Token rate per task: keeps the last few counts and computes tokens per minute.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::base::{TaskId, Timestamp};

/// The length of the measured time.
const WINDOW: Duration = Duration::from_secs(300);
/// How many counts are kept for each task.
const MAX_COUNTS: usize = 32;

/// Token counts over time, by task.
#[derive(Clone, Debug, Default)]
pub struct TokenRate(BTreeMap<TaskId, VecDeque<(Timestamp, u64)>>);

impl TokenRate {
    /// Records the total token count of a task.
    pub fn record(&mut self, task: TaskId, tokens: u64, now: Timestamp) {
        let counts = self.0.entry(task).or_default();
        if counts.back().is_some_and(|(_, known)| *known == tokens) {
            return;
        }
        counts.push_back((now, tokens));
        if counts.len() > MAX_COUNTS {
            counts.pop_front();
        }
    }

    pub fn forget(&mut self, task: TaskId) {
        self.0.remove(&task);
    }

    /// Returns the recent tokens per minute, or `None` if too little is known.
    pub fn per_minute(&self, task: TaskId, now: Timestamp) -> Option<u64> {
        let counts = self.0.get(&task)?;
        let (_, last) = counts.back()?;
        let recent = |at: Timestamp| at.later(WINDOW) >= now;
        let (since, first) = counts.iter().find(|(at, _)| recent(*at))?;
        let used = last.checked_sub(*first).filter(|used| *used > 0)?;
        // Less than a minute would exaggerate: the first response would look like a flood.
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
    fn rate_covers_the_last_minutes() {
        let mut rate = TokenRate::default();
        rate.record(task(1), 1_000_000, at(0));
        assert_eq!(rate.per_minute(task(1), at(1)), None, "one count is no rate");
        rate.record(task(1), 1_006_000, at(60));
        rate.record(task(1), 1_012_000, at(120));
        assert_eq!(rate.per_minute(task(1), at(120)), Some(6_000));
        assert_eq!(rate.per_minute(task(1), at(1_000)), None, "nothing has been used lately");
        rate.forget(task(1));
        assert_eq!(rate.per_minute(task(1), at(120)), None);
    }

    #[test]
    fn first_response_does_not_inflate_the_rate() {
        let mut rate = TokenRate::default();
        rate.record(task(1), 0, at(0));
        rate.record(task(1), 9_000, at(1));
        assert_eq!(rate.per_minute(task(1), at(1)), Some(9_000));
    }
}

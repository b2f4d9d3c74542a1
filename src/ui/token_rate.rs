//! Tokens over time, per task and for the project: the rate per minute, and a chart of the last minutes.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::base::{TaskId, Timestamp};

/// The length of the measured time.
const WINDOW: Duration = Duration::from_secs(300);
/// How many counts are kept for each task.
const MAX_COUNTS: usize = 32;

/// The time that one column of a chart stands for, in milliseconds.
const BUCKET: i64 = 15_000;
/// The most columns of a chart.
const MAX_BUCKETS: usize = 40;

/// Token counts over time, by task.
#[derive(Clone, Debug, Default)]
pub struct TokenRate {
    counts: BTreeMap<TaskId, VecDeque<(Timestamp, u64)>>,
    used: BTreeMap<TaskId, Buckets>,
    total: Buckets,
}

/// Tokens by the time at which they were used. The newest bucket is at the end; empty ones are left out.
#[derive(Clone, Debug, Default)]
struct Buckets(VecDeque<(i64, u64)>);

impl Buckets {
    fn add(&mut self, tokens: u64, now: Timestamp) {
        let at = now.as_millis().div_euclid(BUCKET);
        match self.0.back_mut() {
            Some((last, used)) if *last >= at => *used = used.saturating_add(tokens),
            _ => self.0.push_back((at, tokens)),
        }
        if self.0.len() > MAX_BUCKETS {
            self.0.pop_front();
        }
    }

    fn chart(&self, columns: usize, now: Timestamp) -> Vec<u64> {
        let end = now.as_millis().div_euclid(BUCKET);
        let first = end - i64::try_from(columns.min(MAX_BUCKETS)).unwrap_or(0) + 1;
        let used = |at: i64| self.0.iter().find(|(bucket, _)| *bucket == at).map_or(0, |(_, used)| *used);
        (first..=end).map(used).collect()
    }
}

impl TokenRate {
    /// Records the total token count of a task.
    pub fn record(&mut self, task: TaskId, tokens: u64, now: Timestamp) {
        let counts = self.counts.entry(task).or_default();
        // Without a count before it, it is not known when the tokens were used.
        if let Some(used) = counts.back().and_then(|(_, known)| tokens.checked_sub(*known)).filter(|used| *used > 0) {
            self.used.entry(task).or_default().add(used, now);
            self.total.add(used, now);
        }
        if counts.back().is_some_and(|(_, known)| *known == tokens) {
            return;
        }
        counts.push_back((now, tokens));
        if counts.len() > MAX_COUNTS {
            counts.pop_front();
        }
    }

    pub fn forget(&mut self, task: TaskId) {
        self.counts.remove(&task);
        self.used.remove(&task);
    }

    /// Returns the tokens that a task used in each of the last `columns` buckets, the newest last.
    pub fn chart(&self, task: TaskId, columns: usize, now: Timestamp) -> Vec<u64> {
        self.used.get(&task).map(|used| used.chart(columns, now)).unwrap_or_default()
    }

    /// Returns the tokens that all tasks used in each of the last `columns` buckets, the newest last.
    pub fn total_chart(&self, columns: usize, now: Timestamp) -> Vec<u64> {
        self.total.chart(columns, now)
    }

    /// Returns the recent tokens per minute, or `None` if too little is known.
    pub fn per_minute(&self, task: TaskId, now: Timestamp) -> Option<u64> {
        let counts = self.counts.get(&task)?;
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
    fn chart_has_a_column_for_each_quarter_of_a_minute() {
        let mut rate = TokenRate::default();
        rate.record(task(1), 500, at(0));
        rate.record(task(1), 600, at(1));
        rate.record(task(1), 650, at(2));
        rate.record(task(2), 0, at(0));
        rate.record(task(2), 7, at(46));
        assert_eq!(rate.chart(task(1), 4, at(46)), [150, 0, 0, 0]);
        assert_eq!(rate.total_chart(4, at(46)), [150, 0, 0, 7]);
        assert_eq!(rate.total_chart(2, at(46)), [0, 7], "the newest are kept");
        assert!(rate.chart(task(3), 4, at(46)).is_empty(), "nothing is known about it");
        rate.forget(task(1));
        assert!(rate.chart(task(1), 4, at(46)).is_empty());
    }

    #[test]
    fn first_response_does_not_inflate_the_rate() {
        let mut rate = TokenRate::default();
        rate.record(task(1), 0, at(0));
        rate.record(task(1), 9_000, at(1));
        assert_eq!(rate.per_minute(task(1), at(1)), Some(9_000));
    }
}

//! When a server that failed may be started again. Pure: what happened goes in, how long to wait comes out.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// A server that was ready for this long has proved that it works; its end is an accident.
const STABLE: Duration = Duration::from_secs(60);

/// How often a server has failed in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Counts a start that came to nothing.
    pub(super) fn failed(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        pause(self.failures)
    }

    /// Counts an end after `lived`. The first one costs no wait: whoever asks next should not pay for an accident.
    pub(super) fn died(&mut self, lived: Duration) -> Duration {
        if lived >= STABLE {
            self.failures = 0;
            return Duration::ZERO;
        }
        self.failures = self.failures.saturating_add(1);
        pause(self.failures - 1)
    }
}

fn pause(failures: u32) -> Duration {
    match failures {
        0 => Duration::ZERO,
        failures => (FIRST * 2_u32.saturating_pow((failures - 1).min(16))).min(LONGEST),
    }
}

#[cfg(test)]
#[path = "backoff_tests.rs"]
mod tests;

//! Decides when a failed server may be started again. Pure.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// A server that was ready for this long works; its end counts as an accident.
const STABLE: Duration = Duration::from_secs(60);

/// The number of consecutive failures of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Counts a failed start. Returns the delay before the next one.
    pub(super) fn failed(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        pause(self.failures)
    }

    /// Counts an end after `lived`. The first one has no delay: an accident should not slow down the next caller.
    pub(super) fn on_exit(&mut self, lived: Duration) -> Duration {
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

//! Decides whether and when to retry. Pure; the agent's machine is the only caller.
//!
//! | class | retries | first wait at most | longest wait at most |
//! |---|---|---|---|
//! | `rate_limit` | 10 | 2 s | 2 min |
//! | `overloaded` | 8 | 1 s | 1 min |
//! | `server` | 6 | 1 s | 1 min |
//! | `network` | 8 | 1 s | 1 min |
//! | `timeout` | 4 | 2 s | 30 s |
//! | `truncated` | 4 | 1 s | 30 s |
//! | all others | 0 | | |
//!
//! Bounds double, and each wait is random between zero and its bound (full jitter), so that agents that failed together
//! do not retry together. A wait that the API asks for is a minimum. If it is more than an hour, the user decides.

use std::time::Duration;

use crate::provider::error::ErrorClass;

/// The longest wait that the API may ask for without the user being asked.
pub const LONGEST_FLOOR: Duration = Duration::from_secs(60 * 60);

/// The decision after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Wait(Duration),
    GiveUp,
}

/// The retry policy of an error class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of retries.
    pub retries: u32,
    /// Upper bound of the first wait.
    pub first: Duration,
    /// Upper bound of all waits.
    pub longest: Duration,
}

pub fn policy(class: ErrorClass) -> RetryPolicy {
    let (retries, first, longest) = match class {
        ErrorClass::RateLimit => (10, 2, 120),
        ErrorClass::Overloaded | ErrorClass::Network => (8, 1, 60),
        ErrorClass::Server => (6, 1, 60),
        ErrorClass::Timeout => (4, 2, 30),
        ErrorClass::Truncated => (4, 1, 30),
        ErrorClass::Auth
        | ErrorClass::Credit
        | ErrorClass::Runaway
        | ErrorClass::InvalidRequest
        | ErrorClass::ContextOverflow
        | ErrorClass::UnknownModel
        | ErrorClass::Refused
        | ErrorClass::Cancelled => (0, 0, 0),
    };
    RetryPolicy { retries, first: Duration::from_secs(first), longest: Duration::from_secs(longest) }
}

/// Decides what to do after attempt number `attempt` (from 1) failed with `class`. `jitter` is random, from 0 to 1.
pub fn decide(class: ErrorClass, attempt: u32, retry_after: Option<Duration>, jitter: f64) -> Decision {
    let policy = policy(class);
    let floor = retry_after.unwrap_or_default();
    if attempt > policy.retries || floor > LONGEST_FLOOR {
        return Decision::GiveUp;
    }
    let doublings = attempt.saturating_sub(1).min(16);
    let bound = policy.first.saturating_mul(1 << doublings).min(policy.longest);
    let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 1.0 };
    Decision::Wait(bound.mul_f64(jitter).max(floor))
}

#[cfg(test)]
#[path = "retry_tests.rs"]
mod tests;

//! Whether and when to try again: a pure decision, taken by the one owner of retries.
//!
//! | class | tries again | first wait at most | longest wait at most |
//! |---|---|---|---|
//! | `rate_limit` | 10 | 2 s | 2 min |
//! | `overloaded` | 8 | 1 s | 1 min |
//! | `server` | 6 | 1 s | 1 min |
//! | `network` | 8 | 1 s | 1 min |
//! | `timeout` | 4 | 2 s | 30 s |
//! | `truncated` | 4 | 1 s | 30 s |
//! | all others | 0 | | |
//!
//! Waits double and are drawn evenly between nothing and their bound (full jitter), so that agents that failed
//! together do not come back together. What the API asks for is a floor. If it asks for more than an hour, a person
//! has to decide.

use std::time::Duration;

use crate::provider::error::ErrorClass;

/// The longest wait that is kept to without asking anybody.
pub const LONGEST_FLOOR: Duration = Duration::from_secs(60 * 60);

/// What to do after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Wait(Duration),
    GiveUp,
}

/// How a class is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How often a failed request is tried again.
    pub retries: u32,
    /// The bound of the first wait.
    pub first: Duration,
    /// The bound of every wait.
    pub longest: Duration,
}

/// Returns how `class` is retried.
pub fn policy(class: ErrorClass) -> Policy {
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
    Policy { retries, first: Duration::from_secs(first), longest: Duration::from_secs(longest) }
}

/// Decides after the `attempt`-th attempt (from 1) failed with `class`. `jitter` is drawn by the caller, in 0..1.
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

use std::time::Duration;

use proptest::prelude::*;

use super::{Decision, LONGEST_FLOOR, decide, policy};
use crate::provider::error::ErrorClass;

#[test]
fn only_temporary_failures_are_retried() {
    use ErrorClass as Class;
    let retried: Vec<_> = ErrorClass::ALL.into_iter().filter(|class| policy(*class).retries > 0).collect();
    assert_eq!(
        retried,
        [Class::RateLimit, Class::Overloaded, Class::Server, Class::Network, Class::Timeout, Class::Truncated]
    );
    assert_eq!(decide(ErrorClass::Auth, 1, None, 0.5), Decision::GiveUp);
    assert_eq!(decide(ErrorClass::Cancelled, 1, Some(Duration::ZERO), 0.0), Decision::GiveUp);
}

#[test]
fn bounds_double_up_to_the_longest() {
    let waits: Vec<_> = (1..=7)
        .map(|attempt| match decide(ErrorClass::Server, attempt, None, 1.0) {
            Decision::Wait(wait) => wait.as_secs(),
            Decision::GiveUp => 0,
        })
        .collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 0]);
    assert_eq!(decide(ErrorClass::RateLimit, 10, None, 1.0), Decision::Wait(Duration::from_secs(120)));
}

#[test]
fn the_requested_wait_is_a_minimum_unless_it_is_too_long() {
    let minute = Duration::from_secs(60);
    assert_eq!(decide(ErrorClass::RateLimit, 1, Some(minute), 0.9), Decision::Wait(minute));
    assert_eq!(decide(ErrorClass::RateLimit, 1, Some(LONGEST_FLOOR * 2), 0.9), Decision::GiveUp);
}

proptest! {
    #[test]
    fn waits_stay_within_their_bounds(
        class in prop::sample::select(ErrorClass::ALL.to_vec()),
        attempt in 0u32..100,
        floor in prop::option::of(0u64..7200),
        jitter in prop::num::f64::ANY,
    ) {
        let (policy, floor) = (policy(class), floor.map(Duration::from_secs));
        match decide(class, attempt, floor, jitter) {
            Decision::GiveUp => prop_assert!(attempt > policy.retries || floor.is_some_and(|floor| floor > LONGEST_FLOOR)),
            Decision::Wait(wait) => {
                let floor = floor.unwrap_or_default();
                prop_assert!(attempt <= policy.retries);
                prop_assert!(wait >= floor && wait <= floor.max(policy.longest));
            }
        }
    }
}

use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use crate::base::clock::Timestamp;

/// A clock set by the test, also backwards.
#[derive(Default)]
struct ManualClock(AtomicI64);

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

fn at(millis: i64) -> Arc<ManualClock> {
    Arc::new(ManualClock(AtomicI64::new(millis)))
}

#[test]
fn ids_of_one_millisecond_keep_their_order() {
    let source = IdSource::new(at(1_000));
    let ids: Vec<_> = (0..1_000).map(|_| EventId::fresh(&source)).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn short_ids_of_one_millisecond_differ() {
    let source = IdSource::seeded(at(1_000), 5);
    let shown: std::collections::BTreeSet<_> = (0..20).map(|_| TaskId::fresh(&source).short()).collect();
    assert_eq!(shown.len(), 20);
}

#[test]
fn a_clock_that_jumps_back_does_not_change_the_order() {
    let clock = at(5_000_000);
    let source = IdSource::new(clock.clone());
    let before = EventId::fresh(&source);
    clock.0.store(1_000, Ordering::SeqCst);
    let after = EventId::fresh(&source);
    clock.0.store(6_000_000, Ordering::SeqCst);
    let later = EventId::fresh(&source);
    assert!(before < after && after < later);
    assert_eq!(later.ulid().timestamp_ms(), 6_000_000, "a clock that is right again is used again");
}

#[test]
fn observed_ids_are_a_floor() {
    let source = IdSource::new(at(1_000));
    let on_disk = Ulid::from_parts(9_000, 7);
    source.observe(on_disk);
    assert!(EventId::fresh(&source).ulid() > on_disk);
}

#[test]
fn an_exhausted_millisecond_moves_on_instead_of_failing() {
    let source = IdSource::new(at(1_000));
    let last = Ulid::from_parts(2_000, u128::MAX);
    source.observe(last);
    assert!(EventId::fresh(&source).ulid() > last);
}

#[test]
fn a_seed_decides_the_ids() {
    let make = || {
        let source = IdSource::seeded(at(1_000), 42);
        (0..3).map(|_| TaskId::fresh(&source).to_string()).collect::<Vec<_>>()
    };
    assert_eq!(make(), make());
}

#[test]
fn only_the_canonical_spelling_is_an_id() {
    let id = TaskId::fresh(&IdSource::new(at(1_000)));
    assert_eq!(id.to_string().parse::<TaskId>(), Ok(id));
    assert!(id.to_string().to_lowercase().parse::<TaskId>().is_err());
    assert!("short".parse::<TaskId>().is_err());
    let refused = serde_json::from_str::<TaskId>("\"nonsense\"").unwrap_err().to_string();
    assert!(refused.contains("not the id of a task"), "{refused}");
}

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{GateCancelled, RateGate, RateGates};

const MINUTE: Duration = Duration::from_secs(60);

/// Starts `count` callers that increment `passed` when they pass the gate.
fn callers(gate: &Arc<RateGate>, count: usize, passed: &Arc<AtomicUsize>, verdict: fn(super::Permit)) {
    for _ in 0..count {
        let (gate, passed) = (Arc::clone(gate), Arc::clone(passed));
        tokio::spawn(async move {
            let permit = gate.enter(&CancellationToken::new()).await.unwrap();
            passed.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(1)).await;
            verdict(permit);
        });
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_gate_does_not_block() {
    let (gate, passed) = (Arc::new(RateGate::default()), Arc::default());
    callers(&gate, 50, &passed, super::Permit::accepted);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(passed.load(Ordering::SeqCst), 50);
}

#[tokio::test(start_paused = true)]
async fn after_a_limit_a_successful_probe_opens_the_gate() {
    let (gate, passed) = (Arc::new(RateGate::default()), Arc::default());
    let start = Instant::now();
    gate.enter(&CancellationToken::new()).await.unwrap().limited(MINUTE);
    assert_eq!(gate.limited_until(), Some(start + MINUTE));
    callers(&gate, 20, &passed, super::Permit::accepted);
    tokio::time::sleep(Duration::from_millis(59_999)).await;
    assert_eq!(passed.load(Ordering::SeqCst), 0);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(passed.load(Ordering::SeqCst), 1);
    assert_eq!(gate.limited_until(), None);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(passed.load(Ordering::SeqCst), 20);
}

#[tokio::test(start_paused = true)]
async fn a_limited_probe_closes_the_gate_again() {
    let (gate, passed) = (Arc::new(RateGate::default()), Arc::default());
    gate.enter(&CancellationToken::new()).await.unwrap().limited(MINUTE);
    callers(&gate, 3, &passed, |permit| permit.limited(MINUTE));
    // Each probe takes a second and then closes the gate for a minute.
    for probes in 1..=3 {
        tokio::time::sleep(MINUTE + Duration::from_millis(1002)).await;
        assert_eq!(passed.load(Ordering::SeqCst), probes);
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_without_a_verdict_is_replaced() {
    let (gate, passed) = (Arc::new(RateGate::default()), Arc::default());
    gate.enter(&CancellationToken::new()).await.unwrap().limited(MINUTE);
    callers(&gate, 3, &passed, drop);
    tokio::time::sleep(MINUTE + Duration::from_millis(500)).await;
    assert_eq!(passed.load(Ordering::SeqCst), 1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(passed.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn late_reports_neither_open_the_gate_nor_shorten_the_wait() {
    let gate = Arc::new(RateGate::default());
    let cancel = CancellationToken::new();
    let [first, second, third] =
        [gate.enter(&cancel).await.unwrap(), gate.enter(&cancel).await.unwrap(), gate.enter(&cancel).await.unwrap()];
    first.limited(MINUTE);
    second.accepted();
    third.limited(Duration::from_secs(1));
    let until = gate.limited_until().unwrap();
    assert_eq!(until - Instant::now(), MINUTE);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_over_is_not_counted_down() {
    let gate = Arc::new(RateGate::default());
    let cancel = CancellationToken::new();
    gate.enter(&cancel).await.unwrap().limited(Duration::ZERO);
    assert_eq!(gate.limited_until(), None);
    // After a probe without a verdict, the next request may probe at once.
    drop(gate.enter(&cancel).await.unwrap());
    assert_eq!(gate.limited_until(), None);
    gate.enter(&cancel).await.unwrap().limited(MINUTE);
    assert!(gate.limited_until().is_some());
    tokio::time::advance(MINUTE).await;
    assert_eq!(gate.limited_until(), None);
}

#[tokio::test(start_paused = true)]
async fn waiting_can_be_cancelled() {
    let gate = Arc::new(RateGate::default());
    gate.enter(&CancellationToken::new()).await.unwrap().limited(MINUTE);
    let cancel = CancellationToken::new();
    let waiting = tokio::spawn({
        let (gate, cancel) = (Arc::clone(&gate), cancel.clone());
        async move { gate.enter(&cancel).await.map(drop) }
    });
    let start = Instant::now();
    tokio::time::sleep(Duration::from_secs(1)).await;
    cancel.cancel();
    assert_eq!(waiting.await.unwrap(), Err(GateCancelled));
    assert_eq!(start.elapsed(), Duration::from_secs(1));
}

#[test]
fn a_group_has_one_gate() {
    let gates = RateGates::default();
    assert!(Arc::ptr_eq(&gates.of("a"), &gates.of("a")));
    assert!(!Arc::ptr_eq(&gates.of("a"), &gates.of("b")));
}

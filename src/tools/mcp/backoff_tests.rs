use super::*;

const SOON: Duration = Duration::from_secs(3);

#[test]
fn failed_starts_are_retried_with_increasing_delays() {
    let mut backoff = Backoff::default();
    let pauses: Vec<u64> = (0..9).map(|_| backoff.failed().as_secs()).collect();
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
}

#[test]
fn the_first_exit_has_no_delay_and_later_ones_do() {
    let mut backoff = Backoff::default();
    let pauses: Vec<u64> = (0..4).map(|_| backoff.on_exit(SOON).as_secs()).collect();
    assert_eq!(pauses, [0, 1, 2, 4]);
}

#[test]
fn a_long_uptime_resets_the_failures() {
    let mut backoff = Backoff::default();
    for _ in 0..5 {
        backoff.failed();
    }
    assert_eq!(backoff.on_exit(STABLE), Duration::ZERO);
    assert_eq!(backoff.on_exit(SOON), Duration::ZERO);
    assert_eq!(backoff.on_exit(SOON), FIRST);
}

#[test]
fn counting_never_overflows() {
    let mut backoff = Backoff { failures: u32::MAX };
    assert_eq!((backoff.failed(), backoff.on_exit(SOON)), (LONGEST, LONGEST));
}

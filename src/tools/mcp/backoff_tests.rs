use super::*;

const SOON: Duration = Duration::from_secs(3);

#[test]
fn starts_that_fail_are_tried_ever_less_often() {
    let mut backoff = Backoff::default();
    let pauses: Vec<u64> = (0..9).map(|_| backoff.failed().as_secs()).collect();
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
}

#[test]
fn the_first_death_costs_nothing_and_the_next_ones_do() {
    let mut backoff = Backoff::default();
    let pauses: Vec<u64> = (0..4).map(|_| backoff.died(SOON).as_secs()).collect();
    assert_eq!(pauses, [0, 1, 2, 4]);
}

#[test]
fn a_long_life_makes_up_for_earlier_failures() {
    let mut backoff = Backoff::default();
    for _ in 0..5 {
        backoff.failed();
    }
    assert_eq!(backoff.died(STABLE), Duration::ZERO);
    assert_eq!(backoff.died(SOON), Duration::ZERO);
    assert_eq!(backoff.died(SOON), FIRST);
}

#[test]
fn counting_never_overflows() {
    let mut backoff = Backoff { failures: u32::MAX };
    assert_eq!((backoff.failed(), backoff.died(SOON)), (LONGEST, LONGEST));
}

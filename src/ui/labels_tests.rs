use super::*;

#[test]
fn countdown_never_shows_zero_too_early() {
    let at = Timestamp::from_millis;
    assert_eq!(remaining(at(10_001), at(10_000)), "1 s");
    assert_eq!(remaining(at(10_000), at(10_000)), "0 s");
    assert_eq!(remaining(at(0), at(10_000)), "0 s", "a moment that has passed");
}

#[test]
fn times_are_local() {
    let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(2));
    let at = Timestamp::from_millis(1_794_808_920_000);
    assert_eq!(time_of_day(at, &jiff::tz::TimeZone::UTC), "06:02");
    assert_eq!(time_of_day(at, &zone), "08:02");
}

use super::*;

#[test]
fn numbers_are_said_briefly() {
    let said: Vec<_> = [0, 812, 1_200, 41_300, 999_400, 1_234_567].map(tokens).into();
    assert_eq!(said, ["0", "812", "1.2k", "41k", "999k", "1.2M"]);
    let said: Vec<_> = [0, 400, 3_100, 12_345, 119_000, 125_000, 7_500_000, 400_000_000].map(duration).into();
    assert_eq!(said, ["0 s", "0.4 s", "3.1 s", "12 s", "119 s", "2 min", "2 h 05", "4 d"]);
}

#[test]
fn a_countdown_never_says_zero_too_early() {
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

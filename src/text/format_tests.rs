use super::*;

#[test]
fn elapsed_time_is_coarse() {
    let say = |seconds: u64| elapsed(Duration::from_secs(seconds));
    assert_eq!([0, 4, 59].map(say), ["0 s", "4 s", "59 s"]);
    assert_eq!([60, 200, 3599].map(say), ["1 min", "3 min", "59 min"]);
    assert_eq!([3600, 4320, 36_000, 172_800].map(say), ["1 h", "1.2 h", "10 h", "2 d"]);
}

#[test]
fn durations_are_precise() {
    let say = |millis: u64| duration(Duration::from_millis(millis));
    assert_eq!([0, 80, 999].map(say), ["0 ms", "80 ms", "999 ms"]);
    assert_eq!([1000, 3_140, 9_949, 9_950, 59_999].map(say), ["1.0 s", "3.1 s", "9.9 s", "10 s", "59 s"]);
    assert_eq!([60_000, 125_000, 3_600_000, 4_800_000].map(say), ["1 min", "2 min 5 s", "1 h", "1 h 20 min"]);
}

#[test]
fn a_time_in_the_future_counts_as_now() {
    let at = Timestamp::from_millis;
    assert_eq!(ago(at(1_000_000), at(999_000)), "just now");
    assert_eq!(ago(at(1_000_000), at(800_000)), "3 min ago");
    assert_eq!(ago(at(1_000), at(800_000)), "just now");
}

#[test]
fn large_counts_are_short() {
    let cases =
        [(0, "0"), (812, "812"), (999, "999"), (1000, "1k"), (4_120, "4.1k"), (41_200, "41k"), (412_345, "412k")];
    for (n, text) in cases {
        assert_eq!(count(n), text);
    }
    assert_eq!([999_700, 1_000_000, 1_649_999, 12_000_000].map(count), ["1M", "1M", "1.6M", "12M"]);
    assert!(!count(u64::MAX).is_empty());
}

#[test]
fn percentages_are_not_rounded_to_zero_or_full() {
    assert_eq!((percent(0, 10).as_str(), percent(1, 1000).as_str()), ("0%", "<1%"));
    assert_eq!((percent(999, 1000).as_str(), percent(5, 0).as_str()), ("99%", "500%"));
}

#[test]
fn times_and_days_are_local() {
    let at: Timestamp = "2026-11-16T23:30:00Z".parse().unwrap();
    assert_eq!((time_of_day(at, 0), date(at, 0)), ("23:30".to_owned(), "Mon 16 Nov 2026".to_owned()));
    assert_eq!((time_of_day(at, 3600), date(at, 3600)), ("00:30".to_owned(), "Tue 17 Nov 2026".to_owned()));
    assert_eq!(day(at, 3600) - day(at, 0), 1);
}

use proptest::prelude::*;

use super::*;

/// What the library makes of a text.
fn thorough(text: &str) -> Option<Timestamp> {
    let moment = text.parse::<jiff::Timestamp>().ok()?;
    Some(Timestamp::from_millis(moment.as_millisecond()))
}

proptest! {
    #[test]
    fn every_moment_is_read_as_it_was_written(millis in 0..=Timestamp::LATEST_MS) {
        let moment = Timestamp::from_millis(millis);
        let text = moment.to_string();
        prop_assert_eq!(as_written(text.as_bytes()), Some(moment), "{}", text);
        prop_assert_eq!(thorough(&text), Some(moment));
    }

    #[test]
    fn no_text_means_something_else_than_it_means_to_others(
        text in "(19|20|00|99)[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9][.,][0-9]{3}[Zz+]",
    ) {
        prop_assert_eq!(text.parse::<Timestamp>().ok(), thorough(&text), "{}", text);
    }
}

#[test]
fn every_day_of_four_hundred_years_is_the_day_after_the_one_before() {
    let days = jiff::civil::date(1970, 1, 1).series(jiff::Span::new().days(1));
    for (day, number) in days.zip(0..400 * 366) {
        let text = format!("{day}T00:00:00.000Z");
        assert_eq!(as_written(text.as_bytes()), Some(Timestamp::from_millis(number * 86_400_000)), "{text}");
    }
}

#[test]
fn what_is_not_written_here_is_left_to_others() {
    for other in
        ["2026-11-16T06:11:53Z", "2026-02-30T00:00:00.000Z", "2026-11-16T06:11:60.000Z", "1969-12-31T23:59:59.999Z"]
    {
        assert_eq!(as_written(other.as_bytes()), None, "{other}");
        assert_eq!(other.parse::<Timestamp>().ok(), thorough(other), "{other}");
    }
}

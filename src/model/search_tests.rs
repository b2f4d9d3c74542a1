use jiff::tz::{TimeZone, offset};

use super::moment;
use crate::base::Timestamp;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn a_moment_is_relative_a_date_or_a_timestamp() {
    let now = at("2026-11-16T12:00:00Z");
    let zone = TimeZone::fixed(offset(2));
    let moment = |text| moment(text, now, &zone);
    assert_eq!(moment("90m"), Some(at("2026-11-16T10:30:00Z")));
    assert_eq!(moment("3h"), Some(at("2026-11-16T09:00:00Z")));
    assert_eq!(moment(" 2d "), Some(at("2026-11-14T12:00:00Z")));
    assert_eq!(moment("1w"), Some(at("2026-11-09T12:00:00Z")));
    assert_eq!(moment("2026-11-01"), Some(at("2026-10-31T22:00:00Z")));
    assert_eq!(moment("2026-11-01T08:00:00Z"), Some(at("2026-11-01T08:00:00Z")));
    for nonsense in
        ["", "d", "-2d", "2 d", "2y", "yesterday", "2026-13-01", "99999999999999999999d", "9223372036854775807w", "ü"]
    {
        assert_eq!(moment(nonsense), None, "{nonsense}");
    }
}

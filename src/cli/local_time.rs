//! Times as users read them: in their own time zone. Programs get UTC from `--json`.

use jiff::tz::TimeZone;

use crate::base::Timestamp;

/// Returns a moment in the time zone of the machine: `2026-11-18 14:05:12`.
pub fn moment(at: Timestamp) -> String {
    in_zone(at, TimeZone::system())
}

fn in_zone(at: Timestamp, zone: TimeZone) -> String {
    let moment = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    moment.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_shown_in_the_zone() {
        let at: Timestamp = "2026-11-16T23:11:53.900Z".parse().unwrap();
        let zone = |hours| TimeZone::fixed(jiff::tz::offset(hours));
        assert_eq!(in_zone(at, zone(0)), "2026-11-16 23:11:53");
        assert_eq!(in_zone(at, zone(2)), "2026-11-17 01:11:53");
    }
}

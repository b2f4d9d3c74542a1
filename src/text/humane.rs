//! Numbers as people say them: how long, how many, when. Sizes are [`crate::base::text::size`], money says itself.

use std::time::Duration;

use crate::base::Timestamp;

/// Returns how long something has been going on: `4 s`, `3 min`, `1.2 h`, `5 d`. Short, and calm: it changes seldom.
pub fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..36_000 => tenths(seconds, 3600, "h"),
        36_000..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Returns how long something took: `80 ms`, `3.1 s`, `2 min 5 s`, `1 h 20 min`.
pub fn took(time: Duration) -> String {
    let millis = time.as_millis();
    let seconds = time.as_secs();
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..9_950 => format!("{}.{} s", (millis + 50) / 1000, (millis + 50) / 100 % 10),
        9_950..60_000 => format!("{} s", (millis + 500).min(59_999) / 1000),
        60_000..3_600_000 => parts(seconds / 60, "min", seconds % 60, "s"),
        _ => parts(seconds / 3600, "h", seconds / 60 % 60, "min"),
    }
}

fn parts(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    match small {
        0 => format!("{large} {large_unit}"),
        small => format!("{large} {large_unit} {small} {small_unit}"),
    }
}

fn tenths(value: u64, unit: u64, name: &str) -> String {
    let tenths = value.saturating_mul(10) / unit;
    match tenths % 10 {
        0 => format!("{} {name}", tenths / 10),
        rest => format!("{}.{rest} {name}", tenths / 10),
    }
}

/// Returns how long ago something was: `just now`, `3 min ago`. A clock that was set back makes it now.
pub fn ago(now: Timestamp, then: Timestamp) -> String {
    let millis = u64::try_from(now.as_millis() - then.as_millis()).unwrap_or(0);
    match millis {
        0..5_000 => "just now".to_owned(),
        _ => format!("{} ago", elapsed(Duration::from_millis(millis))),
    }
}

/// Returns a large count in few letters: `812`, `4.1k`, `412k`, `1.6M`.
pub fn count(n: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    for (unit, letter) in UNITS {
        // Just below a unit it is said in that unit, not as a thousand of the smaller one.
        if n >= unit - unit / 2000 {
            let tenths = (n.saturating_mul(10).saturating_add(unit / 2)) / unit;
            return match (tenths / 10, tenths % 10) {
                (whole, rest) if whole < 10 && rest > 0 => format!("{whole}.{rest}{letter}"),
                _ => format!("{}{letter}", (n.saturating_add(unit / 2)) / unit),
            };
        }
    }
    n.to_string()
}

/// Returns how full something is: `7%`, `<1%`. Nothing full is called full, nothing used unused.
pub fn percent(part: u64, whole: u64) -> String {
    let percent = u128::from(part) * 100 / u128::from(whole.max(1));
    match (percent, part) {
        (0, 0) => "0%".to_owned(),
        (0, _) => "<1%".to_owned(),
        (percent, _) => format!("{percent}%"),
    }
}

/// Returns the time of day where the clock is `offset` seconds ahead of UTC: `14:02`.
pub fn time_of_day(at: Timestamp, offset: i32) -> String {
    let minutes = local_seconds(at, offset).rem_euclid(86_400) / 60;
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Returns the number of the day where the clock is `offset` seconds ahead of UTC. Equal numbers are the same day.
pub fn day(at: Timestamp, offset: i32) -> i64 {
    local_seconds(at, offset).div_euclid(86_400)
}

/// Returns the date of a moment: `Mon 16 Nov 2026`.
pub fn date(at: Timestamp, offset: i32) -> String {
    let moment = jiff::Timestamp::from_second(local_seconds(at, offset)).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    moment.strftime("%a %-d %b %Y").to_string()
}

fn local_seconds(at: Timestamp, offset: i32) -> i64 {
    at.as_millis().div_euclid(1000).saturating_add(i64::from(offset))
}

#[cfg(test)]
#[path = "humane_tests.rs"]
mod tests;

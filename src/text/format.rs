//! Formats durations, counts, percentages and times. Sizes are formatted by [`crate::base::text::size`].

use std::time::Duration;

use crate::base::Timestamp;

/// Formats the duration of something in progress: `4 s`, `3 min`, `1.2 h`, `5 d`. Coarse, so that it rarely changes.
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

/// Formats the duration of something finished: `80 ms`, `3.1 s`, `2 min 5 s`, `1 h 20 min`.
pub fn duration(time: Duration) -> String {
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

/// Formats a time in the past: `just now`, `3 min ago`. A time in the future counts as now.
pub fn ago(now: Timestamp, then: Timestamp) -> String {
    let millis = u64::try_from(now.as_millis() - then.as_millis()).unwrap_or(0);
    match millis {
        0..5_000 => "just now".to_owned(),
        _ => format!("{} ago", elapsed(Duration::from_millis(millis))),
    }
}

/// Formats a large count: `812`, `4.1k`, `412k`, `1.6M`.
pub fn count(n: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    for (unit, letter) in UNITS {
        // Rounds up to the next unit just below it, instead of showing a thousand of the smaller one.
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

/// Formats a fraction: `7%`, `<1%`. Shows 100% only if full and 0% only if empty.
pub fn percent(part: u64, whole: u64) -> String {
    let percent = u128::from(part) * 100 / u128::from(whole.max(1));
    match (percent, part) {
        (0, 0) => "0%".to_owned(),
        (0, _) => "<1%".to_owned(),
        (percent, _) => format!("{percent}%"),
    }
}

/// Returns the local time of day, `offset` seconds ahead of UTC: `14:02`.
pub fn time_of_day(at: Timestamp, offset: i32) -> String {
    let minutes = local_seconds(at, offset).rem_euclid(86_400) / 60;
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Returns the number of the local day, `offset` seconds ahead of UTC.
pub fn day(at: Timestamp, offset: i32) -> i64 {
    local_seconds(at, offset).div_euclid(86_400)
}

/// Returns the local date: `Mon 16 Nov 2026`.
pub fn date(at: Timestamp, offset: i32) -> String {
    let moment = jiff::Timestamp::from_second(local_seconds(at, offset)).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    moment.strftime("%a %-d %b %Y").to_string()
}

fn local_seconds(at: Timestamp, offset: i32) -> i64 {
    at.as_millis().div_euclid(1000).saturating_add(i64::from(offset))
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;

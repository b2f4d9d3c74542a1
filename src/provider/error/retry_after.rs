//! Parses how long an API asks to wait.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::base::Timestamp;

/// Returns the wait in the headers: `retry-after-ms`, or `retry-after` in seconds or as a date. A date in the past
/// means no wait.
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return duration(millis / 1e3);
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse::<f64>() {
        return duration(seconds);
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    let millis = date.as_millisecond().saturating_sub(now.as_millis());
    Some(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
}

fn duration(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

/// Returns the wait in a message, such as `Please try again in 1m2.5s`.
pub fn retry_after_in_message(message: &str) -> Option<Duration> {
    const LEAD: &str = "try again in ";
    let lower = message.to_ascii_lowercase();
    let mut rest = &lower[lower.find(LEAD)? + LEAD.len()..];
    let mut total = None;
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|end| *end > 0) {
        let (number, after) = rest.split_at(end);
        let after = after.trim_start();
        let unit = &after[..after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len())];
        let seconds = match unit {
            "ms" | "milliseconds" => 1e-3,
            "s" | "sec" | "second" | "seconds" => 1.0,
            "m" | "min" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            _ => break,
        };
        let part = duration(number.parse::<f64>().ok()? * seconds)?;
        total = Some(total.unwrap_or(Duration::ZERO).saturating_add(part));
        rest = &after[unit.len()..];
    }
    total
}

//! Byte ranges of a request: one range, as in `bytes=0-99`, `bytes=100-` or `bytes=-100`.

use std::ops::Range;

/// The range cannot be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsatisfiable;

/// Returns the bytes that a `Range` header names in a content of `length` bytes. Several ranges are not served.
pub fn parse(header: &str, length: usize) -> Result<Range<usize>, Unsatisfiable> {
    let (unit, range) = header.split_once('=').ok_or(Unsatisfiable)?;
    let (first, last) = range.trim().split_once('-').ok_or(Unsatisfiable)?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Err(Unsatisfiable);
    }
    let range = match (number(first)?, number(last)?) {
        (None, None) => return Err(Unsatisfiable),
        (None, Some(count)) => length.saturating_sub(count)..length,
        (Some(first), None) => first..length,
        (Some(first), Some(last)) if last < first => return Err(Unsatisfiable),
        (Some(first), Some(last)) => first..last.saturating_add(1).min(length),
    };
    if range.is_empty() { Err(Unsatisfiable) } else { Ok(range) }
}

fn number(text: &str) -> Result<Option<usize>, Unsatisfiable> {
    if text.is_empty() {
        return Ok(None);
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Unsatisfiable);
    }
    // A number that does not fit is past the end of every content.
    Ok(Some(text.parse().unwrap_or(usize::MAX)))
}

#[cfg(test)]
#[path = "range_tests.rs"]
mod tests;

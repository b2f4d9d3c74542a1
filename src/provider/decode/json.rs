//! Lenient access to JSON. Fields that are missing, null or of another type are `None` or empty.

use serde_json::Value;

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

pub(crate) fn number(value: &Value, key: &str) -> Option<u64> {
    let value = value.get(key)?;
    // Some servers write counts as floats.
    value.as_u64().or_else(|| value.as_f64().and_then(whole))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked first")]
pub(crate) fn whole(value: f64) -> Option<u64> {
    (0.0..=1e15).contains(&value).then_some(value as u64)
}

pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

//! Foreign JSON, asked with care: what is not there, or is of another type, is nothing.

use base64::Engine as _;
use serde_json::Value;

use crate::base::{Json, Timestamp};
use crate::import::item::Picture;

/// No picture is larger; what claims to be is left out.
const LARGEST_PICTURE: usize = 20 << 20;

pub fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// As [`text`], and nothing where there is only white space.
pub fn words<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    text(value, key).filter(|text| !text.trim().is_empty())
}

pub fn is(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

pub fn number(value: &Value, key: &str) -> Option<u64> {
    value.get(key).and_then(Value::as_u64)
}

/// Returns a moment: spelled out, or as milliseconds since 1970.
pub fn moment(value: &Value, key: &str) -> Option<Timestamp> {
    match value.get(key)? {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.as_i64().map(Timestamp::from_millis),
        _ => None,
    }
}

/// Returns the elements of a list; of anything else none.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns a value as exact JSON; as an empty object if it is no object, for nothing else is the input of a call.
pub fn input(value: Option<&Value>) -> Json {
    value.filter(|value| value.is_object()).and_then(|value| Json::of(value).ok()).unwrap_or_default()
}

/// Returns a picture from its base64 text.
pub fn picture(media_type: &str, data: &str) -> Option<Picture> {
    if data.len() / 4 * 3 > LARGEST_PICTURE || !media_type.starts_with("image/") {
        return None;
    }
    let bytes = base64::engine::general_purpose::STANDARD.decode(data.trim()).ok().filter(|bytes| !bytes.is_empty())?;
    Some(Picture { media_type: media_type.to_owned(), bytes })
}

/// Returns a picture from a `data:` address.
pub fn picture_of_url(url: &str) -> Option<Picture> {
    let (kind, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    picture(kind, data)
}

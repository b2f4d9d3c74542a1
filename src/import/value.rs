//! Accessors for foreign JSON. A missing value, or one of another type, is `None`.

use base64::Engine as _;
use serde_json::Value;

use crate::base::{Json, Timestamp};
use crate::import::item::Picture;

/// Larger pictures are skipped.
const MAX_PICTURE: usize = 20 << 20;

pub fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// Like [`text`], but `None` if it is blank.
pub fn non_blank<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    text(value, key).filter(|text| !text.trim().is_empty())
}

pub fn is(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

pub fn number(value: &Value, key: &str) -> Option<u64> {
    value.get(key).and_then(Value::as_u64)
}

/// Returns a timestamp: a string, or milliseconds since 1970.
pub fn timestamp(value: &Value, key: &str) -> Option<Timestamp> {
    match value.get(key)? {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.as_i64().map(Timestamp::from_millis),
        _ => None,
    }
}

/// Returns the elements of a list, or none for any other type.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the input of a tool call. Anything but an object becomes an empty object.
pub fn input(value: Option<&Value>) -> Json {
    value.filter(|value| value.is_object()).and_then(|value| Json::of(value).ok()).unwrap_or_default()
}

/// Decodes a picture from base64.
pub fn picture(media_type: &str, data: &str) -> Option<Picture> {
    if data.len() / 4 * 3 > MAX_PICTURE || !media_type.starts_with("image/") {
        return None;
    }
    let bytes = base64::engine::general_purpose::STANDARD.decode(data.trim()).ok().filter(|bytes| !bytes.is_empty())?;
    Some(Picture { media_type: media_type.to_owned(), bytes })
}

/// Decodes a picture from a `data:` URL.
pub fn picture_of_url(url: &str) -> Option<Picture> {
    let (kind, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    picture(kind, data)
}

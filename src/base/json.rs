//! A JSON value stored as the text in which it arrived.
//!
//! Tool inputs and unknown fields go through the log and back to a model. Parsing and printing them again could
//! change the spelling of a number and with it a prompt prefix, so the text is passed through. One thing changes:
//! line breaks between tokens become spaces, because a value must fit on one line of a log.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// Exact JSON text: valid, without line breaks.
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Parses `text`.
    pub fn parse(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self::from)
    }

    /// Returns `value` as compact JSON.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self::from)
    }

    pub fn object() -> Self {
        Self(RawValue::from_string("{}".to_owned()).unwrap_or_default())
    }

    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Deserializes the text as `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }
}

impl Default for Json {
    fn default() -> Self {
        Self::object()
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        // In valid JSON a raw line break can only be between tokens: in strings it is escaped.
        if !raw.get().contains(['\n', '\r']) {
            return Self(raw);
        }
        RawValue::from_string(raw.get().replace(['\n', '\r'], " ")).map_or_else(|_| Self(raw), Self)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;

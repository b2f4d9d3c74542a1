//! A JSON value kept as the exact text it arrived in.
//!
//! Tool inputs and unknown fields go through the log and back to a model. Parsing and printing them again could
//! change a number's spelling and with it a prompt prefix, so they are carried, not understood.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Exact JSON text, known to be valid.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Returns `text` as JSON, or the parser's complaint.
    pub fn parse(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self)
    }

    /// Returns the value as compact JSON.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// Returns the empty object.
    pub fn object() -> Self {
        Self(RawValue::from_string("{}".to_owned()).unwrap_or_default())
    }

    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Returns the text read as `T`.
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
        Self(raw)
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

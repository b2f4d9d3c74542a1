//! Text and images in events: small text inline, large content as a reference to a blob.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

/// The name of a blob: the BLAKE3 hash of its bytes, in hex.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct BlobId(String);

impl BlobId {
    pub const LEN: usize = 64;

    /// Returns the name for a hash.
    pub fn of_hash(hash: &[u8; Self::LEN / 2]) -> Self {
        let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
        Self(hash.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not the name of a blob: 64 lower-case hex digits")]
pub struct InvalidBlobId(String);

impl FromStr for BlobId {
    type Err = InvalidBlobId;

    /// Accepts only hex: a name becomes a file name, and nothing read from a log may name a path.
    fn from_str(text: &str) -> Result<Self, InvalidBlobId> {
        let valid = text.len() == Self::LEN && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if valid { Ok(Self(text.to_owned())) } else { Err(InvalidBlobId(text.to_owned())) }
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl schemars::JsonSchema for BlobId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BlobId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "pattern": "^[0-9a-f]{64}$"})
    }
}

impl<'de> Deserialize<'de> for BlobId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A reference to a blob, with its size for display.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BlobRef {
    pub blob: BlobId,
    pub bytes: u64,
}

/// The content of a result for the model: the text itself, or its blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    Text { text: String },
    Blob(BlobRef),
}

impl Content {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A picture, stored as a blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Image {
    #[serde(flatten)]
    pub data: BlobRef,
    pub media_type: String,
    /// The original name, for captions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

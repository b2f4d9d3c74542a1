//! Text and images as events carry them: small text inline, everything large as a reference to a blob.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

/// The name of a blob: the BLAKE3 hash of its bytes, in hex.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct BlobId(String);

impl BlobId {
    pub const LEN: usize = 64;

    /// Returns the name that a hash spells.
    pub fn of_hash(hash: &[u8; Self::LEN / 2]) -> Self {
        let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
        Self(hash.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text that should have been a blob's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not the name of a blob: 64 lower-case hex digits")]
pub struct InvalidBlobId(String);

impl FromStr for BlobId {
    type Err = InvalidBlobId;

    /// Only hex is a name: it becomes a file name, and nothing read from a log may name a path.
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

impl<'de> Deserialize<'de> for BlobId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A blob and how large it is, so that a screen can say so without opening it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobRef {
    pub blob: BlobId,
    pub bytes: u64,
}

/// What a model sees of a result: the text itself, or the blob that holds it.
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

/// A picture, kept as a blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    #[serde(flatten)]
    pub data: BlobRef,
    pub media_type: String,
    /// What it was called where it came from, for captions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

//! JSON text with positions: objects as lists of raw members, and the line and column of any part.
//!
//! `serde_json` parses; a part's place is where its borrowed slice lies in the text. Nothing here knows which keys
//! exist.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::base::text;
use crate::config::problem::{Place, Spot, Trouble};

/// A text and where its lines start.
pub(super) struct Document<'a> {
    pub(super) text: &'a str,
    file: String,
    line_starts: Vec<usize>,
}

/// What a file's bytes turned out to be, before any key is looked at.
pub(super) struct Opened<'a> {
    pub(super) text: &'a str,
    pub(super) had_mark: bool,
}

/// Returns the text of a file without its byte order mark.
pub(super) fn open(bytes: &[u8]) -> Result<Opened<'_>, Trouble> {
    let text = std::str::from_utf8(bytes).map_err(|error| Trouble::NotUtf8(error.valid_up_to()))?;
    let stripped = text.strip_prefix('\u{feff}');
    Ok(Opened { text: stripped.unwrap_or(text), had_mark: stripped.is_some() })
}

/// A member of an object, unparsed.
#[derive(Clone, Copy)]
pub(super) struct RawMember<'a> {
    key: &'a RawValue,
    pub(super) value: &'a RawValue,
}

/// A member of an object.
pub(super) struct Member<'a> {
    pub(super) name: String,
    pub(super) value: &'a RawValue,
    /// The slice that is the key, for its place.
    pub(super) key: &'a str,
}

/// The members of an object in the order of the text, repetitions included.
struct Members<'a>(Vec<RawMember<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                    members.push(RawMember { key, value });
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// A part of the text that the parser would not take: its complaint, and where in the text.
pub(super) struct Rejected {
    pub(super) words: String,
    pub(super) at: Option<Spot>,
}

impl<'a> Document<'a> {
    pub(super) fn new(file: impl Into<String>, text: &'a str) -> Self {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, file: file.into(), line_starts }
    }

    /// Returns the whole text as one value, or nothing if there is none.
    pub(super) fn root(&self) -> Result<Option<&'a RawValue>, Rejected> {
        if self.text.trim().is_empty() {
            return Ok(None);
        }
        serde_json::from_str::<&RawValue>(self.text).map(Some).map_err(|error| {
            // Reading it as values stops at the same place with better words: "trailing comma", not "no key".
            let better = serde_json::from_str::<serde_json::Value>(self.text).err();
            let better = better.filter(|other| (other.line(), other.column()) == (error.line(), error.column()));
            self.rejected(self.text, &better.unwrap_or(error))
        })
    }

    /// Returns the members of the object `raw`.
    pub(super) fn members(&self, raw: &'a RawValue) -> Result<Vec<Member<'a>>, Rejected> {
        let Members(members) = serde_json::from_str(raw.get()).map_err(|error| self.rejected(raw.get(), &error))?;
        let named = members.into_iter().map(|RawMember { key, value }| {
            // A key is checked for balance only until it is read: it can still hold half a surrogate pair.
            let name = serde_json::from_str(key.get()).map_err(|error| self.rejected(key.get(), &error))?;
            Ok(Member { name, value, key: key.get() })
        });
        named.collect()
    }

    /// Returns the items of the list `raw`.
    pub(super) fn items(&self, raw: &'a RawValue) -> Result<Vec<&'a RawValue>, Rejected> {
        serde_json::from_str(raw.get()).map_err(|error| self.rejected(raw.get(), &error))
    }

    fn rejected(&self, part: &str, error: &serde_json::Error) -> Rejected {
        let message = error.to_string();
        let words = message.rsplit_once(" at line ").map_or(message.as_str(), |(words, _)| words).to_owned();
        Rejected { words, at: self.spot_of_error(part, error) }
    }

    /// The parser counts lines and bytes within the part it was given.
    fn spot_of_error(&self, part: &str, error: &serde_json::Error) -> Option<Spot> {
        let before: usize = part.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        self.offset_of(part).map(|start| self.spot(start + before + error.column().saturating_sub(1)))
    }

    /// Returns where `part`, a slice of the text, starts in it.
    fn offset_of(&self, part: &str) -> Option<usize> {
        let offset = part.as_ptr().addr().checked_sub(self.text.as_ptr().addr())?;
        (offset + part.len() <= self.text.len()).then_some(offset)
    }

    /// Returns the line and column of `part`, a slice of the text.
    pub(super) fn spot_of(&self, part: &str) -> Option<Spot> {
        self.offset_of(part).map(|offset| self.spot(offset))
    }

    fn spot(&self, offset: usize) -> Spot {
        let offset = text::prefix(self.text, offset).len();
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_starts.get(line.saturating_sub(1)).copied().unwrap_or_default();
        Spot { line, column: self.text[start..offset].chars().count() + 1 }
    }

    pub(super) fn place(&self, at: Option<Spot>) -> Place {
        Place { file: self.file.clone(), at }
    }
}

/// Returns what kind of thing `raw` is, with its article.
pub(super) fn shape(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a text",
        Some(b't') => "true",
        Some(b'f') => "false",
        Some(b'n') => "null",
        _ => "a number",
    }
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;

//! Encodes events as lines of a session, and decodes them.
//!
//! A line is one JSON object and a newline. JSON text contains no raw newline, so a newline always ends a line, and a
//! truncated object never parses.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::base::EventId;
use crate::model::event::{Batch, Event, Header};
use crate::store::StoreError;

/// The largest line that is written and read. Larger content belongs in a blob.
pub const MAX_LINE: usize = 32 << 20;

/// Appends `event` to `out` as a line.
pub fn encode(event: &Event, out: &mut Vec<u8>) -> Result<(), StoreError> {
    let start = out.len();
    serde_json::to_writer(&mut *out, event)?;
    finish(out, start)
}

/// Ends the line that started at `start`, or removes it if it is too long.
fn finish(out: &mut Vec<u8>, start: usize) -> Result<(), StoreError> {
    let bytes = out.len() - start + 1;
    if bytes > MAX_LINE {
        out.truncate(start);
        return Err(StoreError::TooLong { bytes, limit: MAX_LINE });
    }
    out.push(b'\n');
    Ok(())
}

/// The result of parsing the bytes between two newlines.
#[derive(Debug)]
pub enum Parsed<'a> {
    /// A complete line.
    Whole(Header<'a>),
    /// An event after `garbage` bytes that belong to no event: a writer continued a torn line.
    Behind { garbage: usize, header: Header<'a> },
    /// An empty line, which is not damage.
    Blank,
    /// No event can be read from it.
    Bad,
}

impl<'a> Parsed<'a> {
    pub fn header(self) -> Option<Header<'a>> {
        match self {
            Self::Whole(header) | Self::Behind { header, .. } => Some(header),
            Self::Blank | Self::Bad => None,
        }
    }
}

/// The start of every line that this program writes.
const OPENING: &str = "{\"v\":";

/// Parses a line, given without its newline.
pub fn parse(bytes: &[u8]) -> Parsed<'_> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Parsed::Blank;
    }
    if let Some(header) = header(bytes) {
        return Parsed::Whole(header);
    }
    // Inside JSON strings the quotes of the opening are escaped, so it matches only where an object starts. A line
    // has few such openings unless it is an attack; the bound keeps that linear.
    let openings = memchr::memmem::find_iter(bytes, OPENING).filter(|at| *at > 0);
    let candidates = openings.filter(|at| opens_an_event(&bytes[at + OPENING.len()..])).take(8);
    for garbage in candidates {
        if let Some(header) = header(&bytes[garbage..]) {
            return Parsed::Behind { garbage, header };
        }
    }
    Parsed::Bad
}

/// Returns true if the text after an opening continues like an event: the version, then the id.
fn opens_an_event(rest: &[u8]) -> bool {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && rest[digits..].starts_with(b",\"id\":\"")
}

/// Returns the event if `bytes` are a complete line.
pub fn event(bytes: &[u8]) -> Option<Event> {
    std::str::from_utf8(bytes).ok().and_then(|text| Event::parse(text).ok())
}

fn header(bytes: &[u8]) -> Option<Header<'_>> {
    std::str::from_utf8(bytes).ok().and_then(|text| Header::parse(text).ok())
}

/// Appends `line` to `out` with another position in the chain. Every other field, including unknown ones, keeps its
/// exact text and position.
pub fn relink(line: &str, parent: Option<EventId>, batch: Batch, out: &mut Vec<u8>) -> Result<(), StoreError> {
    let start = out.len();
    let mut fields: Fields<'_> = serde_json::from_str(line)?;
    fields.0.retain(|(key, _)| !matches!(key.as_ref(), "run" | "batch"));
    for (key, value) in [("parent", to_raw(&parent)?), ("batch", to_raw(&batch)?)] {
        let value = Cow::Owned(value);
        if let Some((_, old)) = fields.0.iter_mut().find(|(name, _)| name == key) {
            *old = value;
        } else {
            // The envelope comes before the body, so that it is easy to see when reading the file.
            let before_body = fields.0.iter().position(|(name, _)| name == "type").unwrap_or(fields.0.len());
            fields.0.insert(before_body, (Cow::Borrowed(key), value));
        }
    }
    serde_json::to_writer(&mut *out, &fields)?;
    finish(out, start)
}

fn to_raw<T: Serialize>(value: &T) -> Result<Box<RawValue>, StoreError> {
    Ok(serde_json::value::to_raw_value(value)?)
}

/// A JSON object as its fields in order, each value as its exact text.
struct Fields<'a>(Vec<(Cow<'a, str>, Cow<'a, RawValue>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Fields<'de>, M::Error> {
                let mut fields = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                    fields.push((Cow::Owned(key), Cow::Borrowed(value)));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value.as_ref())?;
        }
        map.end()
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;

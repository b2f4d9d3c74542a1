//! One line of a session: how an event becomes bytes, and how bytes become an event again.
//!
//! A line holds one JSON object and ends in a newline. Nothing in JSON text contains a raw newline, so a newline is
//! always the end of a line, and an object that is cut short never parses.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::base::EventId;
use crate::model::event::{Batch, Event, Header};
use crate::store::StoreError;

/// The largest line that is written and read. Content that could be larger belongs in a blob.
pub const MAX_LINE: usize = 32 << 20;

/// Adds `event` to `out` as a line.
pub fn encode(event: &Event, out: &mut Vec<u8>) -> Result<(), StoreError> {
    let start = out.len();
    serde_json::to_writer(&mut *out, event)?;
    finish(out, start)
}

/// Ends the line that started at `start`, or takes it back if it is too long.
fn finish(out: &mut Vec<u8>, start: usize) -> Result<(), StoreError> {
    let bytes = out.len() - start + 1;
    if bytes > MAX_LINE {
        out.truncate(start);
        return Err(StoreError::TooLong { bytes, limit: MAX_LINE });
    }
    out.push(b'\n');
    Ok(())
}

/// What the bytes between two newlines turned out to be.
#[derive(Debug)]
pub enum Parsed<'a> {
    /// A line as it should be.
    Whole(Header<'a>),
    /// An event behind `garbage` bytes that belong to none: what is left when a writer continued a torn line.
    Behind { garbage: usize, header: Header<'a> },
    /// Nothing at all. A line without content is no damage.
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

/// How every line that this program writes begins.
const OPENING: &str = "{\"v\":";

/// Returns what `bytes` (without the newline) hold.
pub fn parse(bytes: &[u8]) -> Parsed<'_> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Parsed::Blank;
    }
    if let Some(header) = header(bytes) {
        return Parsed::Whole(header);
    }
    // Inside JSON strings the quotes of the opening are escaped, so it can only be found where an object starts.
    // Few such openings can be in one line unless it is an attack; the bound keeps that linear.
    let openings = memchr::memmem::find_iter(bytes, OPENING).filter(|at| *at > 0);
    let candidates = openings.filter(|at| opens_an_event(&bytes[at + OPENING.len()..])).take(8);
    for garbage in candidates {
        if let Some(header) = header(&bytes[garbage..]) {
            return Parsed::Behind { garbage, header };
        }
    }
    Parsed::Bad
}

/// Tells whether what stands behind an opening goes on like the start of an event: the version, then the id.
fn opens_an_event(rest: &[u8]) -> bool {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && rest[digits..].starts_with(b",\"id\":\"")
}

/// Returns the event if `bytes` are a whole line that holds it.
pub fn event(bytes: &[u8]) -> Option<Event> {
    std::str::from_utf8(bytes).ok().and_then(|text| Event::parse(text).ok())
}

fn header(bytes: &[u8]) -> Option<Header<'_>> {
    std::str::from_utf8(bytes).ok().and_then(|text| Header::parse(text).ok())
}

/// Adds `line` to `out` with another place in the chain. Every other field, also one that this version does not know,
/// keeps its exact text and its position.
pub fn relink(line: &str, parent: Option<EventId>, batch: Batch, out: &mut Vec<u8>) -> Result<(), StoreError> {
    let start = out.len();
    let mut fields: Fields<'_> = serde_json::from_str(line)?;
    fields.0.retain(|(key, _)| !matches!(key.as_ref(), "run" | "batch"));
    for (key, value) in [("parent", to_raw(&parent)?), ("batch", to_raw(&batch)?)] {
        let value = Cow::Owned(value);
        if let Some((_, old)) = fields.0.iter_mut().find(|(name, _)| name == key) {
            *old = value;
        } else {
            // The envelope comes before the body, so that a person reading the file sees it.
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

//! A file as a tree that prints back what it was parsed from: members in order, repeated ones too, and every number
//! and text in its own spelling.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::config::document::{Document, Rejected};
use crate::config::validate::is;

/// How deep the printed form is laid out. What lies deeper is copied as it stands, so that no file can exhaust the
/// stack.
const LAYOUT_DEPTH: usize = 32;

pub(super) enum Node {
    Object(Vec<(String, Node)>),
    List(Vec<Node>),
    /// Copied letter by letter.
    Exact(Box<RawValue>),
}

impl Node {
    pub(super) fn empty() -> Self {
        Self::Object(Vec::new())
    }

    /// Returns the node of the valid JSON text `json`.
    pub(super) fn exact(json: &str) -> Self {
        let document = Document::new("", json);
        let parsed = document.root().ok().flatten().and_then(|raw| Self::parse(&document, raw).ok());
        parsed.unwrap_or_else(|| Self::Exact(RawValue::NULL.to_owned()))
    }

    pub(super) fn parse<'a>(document: &Document<'a>, raw: &'a RawValue) -> Result<Self, Rejected> {
        Self::parse_at(document, raw, 0)
    }

    fn parse_at<'a>(document: &Document<'a>, raw: &'a RawValue, depth: usize) -> Result<Self, Rejected> {
        if depth >= LAYOUT_DEPTH {
            return Ok(Self::Exact(raw.to_owned()));
        }
        if is(raw, b'{') {
            let members = document.members(raw)?.into_iter();
            let nodes = members.map(|member| Ok((member.name, Self::parse_at(document, member.value, depth + 1)?)));
            return nodes.collect::<Result<_, _>>().map(Self::Object);
        }
        if is(raw, b'[') {
            let items = document.items(raw)?.into_iter();
            return items
                .map(|item| Self::parse_at(document, item, depth + 1))
                .collect::<Result<_, _>>()
                .map(Self::List);
        }
        Ok(Self::Exact(raw.to_owned()))
    }

    /// Puts `value` at `path`, making objects on the way. Fails with the depth at which something is in the way.
    pub(super) fn set(&mut self, path: &[String], value: Self) -> Result<(), usize> {
        let mut node = self;
        for (depth, part) in path.iter().enumerate() {
            // An object that was reset with null is made anew; any other value is somebody's and stays.
            if matches!(node, Self::Exact(raw) if is(raw, b'n')) {
                *node = Self::empty();
            }
            let Self::Object(members) = node else { return Err(depth) };
            // Of a repeated key the last one counts, so that is the one to change.
            let index = members.iter().rposition(|(name, _)| name == part).unwrap_or_else(|| {
                members.push((part.clone(), Self::empty()));
                members.len() - 1
            });
            node = &mut members[index].1;
        }
        *node = value;
        Ok(())
    }

    /// Removes what is at `path`, repetitions included, and tells whether there was anything.
    pub(super) fn unset(&mut self, path: &[String]) -> bool {
        let Some((last, above)) = path.split_last() else { return false };
        let mut node = self;
        for part in above {
            let Self::Object(members) = node else { return false };
            let Some((_, next)) = members.iter_mut().rfind(|(name, _)| name == part) else { return false };
            node = next;
        }
        let Self::Object(members) = node else { return false };
        let count = members.len();
        members.retain(|(name, _)| name != last);
        members.len() < count
    }

    /// Returns the text of a file that holds this.
    pub(super) fn print(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                members.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
                map.end()
            }
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Self::Exact(raw) => raw.serialize(serializer),
        }
    }
}

//! Parses a line in one pass: the envelope, and the body straight into its type.
//!
//! Only for lines as this version writes them: `type` before `body`, a known type, a valid body. Anything else is an
//! error here, and is parsed in two steps, which preserve the exact text of an unknown body.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::model::event::{Body, Event};

/// An event that was parsed in one pass.
pub(super) struct Plain(pub(super) Event);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Line)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Field {
    V,
    Id,
    Parent,
    Ts,
    Run,
    Batch,
    Type,
    Body,
    #[serde(other)]
    Other,
}

struct Line;

impl<'de> Visitor<'de> for Line {
    type Value = Plain;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Plain, M::Error> {
        let (mut v, mut id, mut parent, mut ts, mut run, mut batch) = (None, None, None, None, None, None);
        let mut kind: Option<Word<'de>> = None;
        let mut body = None;
        while let Some(field) = map.next_key()? {
            match field {
                Field::V => once(&mut v, &mut map)?,
                Field::Id => once(&mut id, &mut map)?,
                Field::Parent => once(&mut parent, &mut map)?,
                Field::Ts => once(&mut ts, &mut map)?,
                Field::Run => once(&mut run, &mut map)?,
                Field::Batch => once(&mut batch, &mut map)?,
                Field::Type => once(&mut kind, &mut map)?,
                Field::Body => {
                    let kind = kind.as_ref().ok_or_else(|| M::Error::custom("the type must come first"))?;
                    if body.replace(map.next_value_seed(BodyOf(&kind.0))?).is_some() {
                        return Err(M::Error::custom("two bodies"));
                    }
                }
                Field::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Plain(Event {
            v: v.ok_or_else(|| M::Error::missing_field("v"))?,
            id: id.ok_or_else(|| M::Error::missing_field("id"))?,
            parent: parent.flatten(),
            ts: ts.ok_or_else(|| M::Error::missing_field("ts"))?,
            run: run.flatten(),
            batch: batch.flatten(),
            body: body.ok_or_else(|| M::Error::missing_field("body"))?,
        }))
    }
}

/// Deserializes a field that may occur once.
fn once<'de, T: Deserialize<'de>, M: MapAccess<'de>>(field: &mut Option<T>, map: &mut M) -> Result<(), M::Error> {
    match field.replace(map.next_value()?) {
        None => Ok(()),
        Some(_) => Err(M::Error::custom("a field is there twice")),
    }
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Word<'a>(#[serde(borrow)] Cow<'a, str>);

struct BodyOf<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for BodyOf<'_> {
    type Value = Body;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Body, D::Error> {
        Body::read_known(self.0, deserializer)
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;

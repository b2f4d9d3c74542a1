//! JSON as the bytes it arrived in: members and elements as slices, and cache marks cut out without touching the rest.
//!
//! Prefix rules compare bytes, so nothing here parses and prints again. Slices always point into the given text.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

struct Members<'a>(Vec<(String, &'a str)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                    members.push((key, value.get()));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}

/// Returns the members of an object in order, or nothing if `raw` is not an object.
pub fn members(raw: &str) -> Option<Vec<(String, &str)>> {
    serde_json::from_str::<Members<'_>>(raw).ok().map(|members| members.0)
}

/// Returns the member called `key`.
pub fn member<'a>(raw: &'a str, key: &str) -> Option<&'a str> {
    members(raw)?.into_iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

/// Returns the elements of an array, or nothing if `raw` is not an array.
pub fn elements(raw: &str) -> Option<Vec<&str>> {
    let values: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
    Some(values.into_iter().map(RawValue::get).collect())
}

/// Returns `raw` without the cache marks of its blocks. Every other byte stays, and tool inputs are not looked into.
pub fn without_cache_marks(raw: &str) -> String {
    if !raw.contains("\"cache_control\"") {
        return raw.to_owned();
    }
    let mut cuts = Vec::new();
    collect_cuts(raw, raw, &mut cuts);
    let mut out = String::with_capacity(raw.len());
    let mut kept = 0;
    for cut in cuts {
        out.push_str(&raw[kept..cut.start]);
        kept = cut.end;
    }
    out.push_str(&raw[kept..]);
    out
}

/// Tells whether `longer` is `shorter` with blocks, or words, added at the end of its content.
pub fn extends_content(shorter: &str, longer: &str) -> bool {
    let (Some(before), Some(after)) = (members(shorter), members(longer)) else { return false };
    before.len() == after.len()
        && before.iter().zip(&after).all(|((old_key, old), (new_key, new))| {
            old_key == new_key && (old == new || old_key == "content" && grows(old, new))
        })
}

fn grows(old: &str, new: &str) -> bool {
    match (elements(old), elements(new)) {
        (Some(old), Some(new)) => new.starts_with(&old),
        (None, None) => old.strip_suffix('"').is_some_and(|open| new.starts_with(open)),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn collect_cuts(base: &str, raw: &str, cuts: &mut Vec<Range<usize>>) {
    if let Some(items) = elements(raw) {
        for item in items {
            collect_cuts(base, item, cuts);
        }
        return;
    }
    let Some(members) = members(raw) else { return };
    let object = offset(base, raw);
    for (index, (key, value)) in members.iter().enumerate() {
        if key == "content" {
            collect_cuts(base, value, cuts);
        }
        if key != "cache_control" {
            continue;
        }
        let end = offset(base, value) + value.len();
        cuts.push(if index > 0 {
            let before = members[index - 1].1;
            offset(base, before) + before.len()..end
        } else {
            let comma = base[end..].find([',', '}']).map_or(end, |at| end + at);
            object + 1..if base[comma..].starts_with(',') { comma + 1 } else { comma }
        });
    }
}

fn offset(base: &str, slice: &str) -> usize {
    slice.as_ptr() as usize - base.as_ptr() as usize
}

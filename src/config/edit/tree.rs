//! A settings file as a lossless syntax tree: prints exactly what it was parsed from, with comments and whitespace.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::errors::ParseError;
use serde_json::Value;

pub(super) struct Tree {
    root: CstRootNode,
    object: CstObject,
}

impl Tree {
    /// Parses a file that [`LayerFile`](crate::config::LayerFile) has accepted, so it holds an object or nothing.
    pub(super) fn parse(text: &str) -> Result<Self, ParseError> {
        let root = CstRootNode::parse(text.strip_prefix('\u{feff}').unwrap_or(text), &ParseOptions::default())?;
        let object = root.object_value_or_set();
        Ok(Self { root, object })
    }

    /// Sets `path` to `value`, creating objects as needed. Fails with the depth of a value that is not an object.
    pub(super) fn set(&self, path: &[String], value: Value) -> Result<(), usize> {
        let mut object = self.object.clone();
        for (depth, part) in path.iter().enumerate() {
            let below = &path[depth + 1..];
            let nested =
                |value| below.iter().rev().fold(value, |inner, name| Value::from_iter([(name.clone(), inner)]));
            let Some(member) = named(&object, part).next_back() else {
                object.append(part, input(nested(value)));
                return Ok(());
            };
            // Replace an object that was reset with null. Keep any other value.
            let is_null = member.value().is_some_and(|value| value.as_null_keyword().is_some());
            if below.is_empty() || is_null {
                member.set_value(input(nested(value)));
                return Ok(());
            }
            object = member.object_value().ok_or(depth + 1)?;
        }
        Ok(())
    }

    /// Removes `path`, including duplicates. Returns true if it existed.
    pub(super) fn unset(&self, path: &[String]) -> bool {
        let Some((last, above)) = path.split_last() else { return false };
        let below = |object: CstObject, part: &String| named(&object, part).next_back()?.object_value();
        let Some(object) = above.iter().try_fold(self.object.clone(), below) else { return false };
        let members: Vec<_> = named(&object, last).collect();
        let any = !members.is_empty();
        members.into_iter().for_each(CstObjectProp::remove);
        any
    }

    /// Returns the text of the file.
    pub(super) fn print(&self) -> String {
        let text = self.root.to_string();
        if text.ends_with('\n') { text } else { text + "\n" }
    }
}

/// Returns the members with this name. The last one counts.
fn named(object: &CstObject, name: &str) -> impl DoubleEndedIterator<Item = CstObjectProp> {
    let is_it =
        move |member: &CstObjectProp| member.name().and_then(|it| it.decoded_value().ok()).as_deref() == Some(name);
    object.properties().into_iter().filter(is_it)
}

fn input(value: Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text),
        Value::Array(items) => CstInputValue::Array(items.into_iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.into_iter().map(|(name, value)| (name, input(value))).collect())
        }
    }
}

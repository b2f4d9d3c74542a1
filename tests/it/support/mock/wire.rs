//! The three wire formats: how a request is read and how an answer is spelled.

pub mod anthropic;
pub mod anthropic_reply;
pub mod chat;
pub mod chat_reply;
pub mod errors;
pub mod responses;
pub mod responses_reply;
pub mod sse;

use std::sync::Arc;

use serde_json::Value;

use super::raw;
use super::rules::{Findings, Rule};
use super::seen::{CacheBlock, Entry, Part, Seen, Wire};

/// A body on its way to becoming a [`Seen`]: what has been found wrong, and how to say so.
pub struct Reader<'a> {
    pub wire: Wire,
    pub also_known: &'a [String],
    pub tool_error_marker: &'a str,
    pub found: &'a mut Findings,
}

impl Reader<'_> {
    /// Reads a body of this wire.
    pub fn read(&mut self, body: &str, counting: bool) -> Option<Seen> {
        let value: Value = match serde_json::from_str(body) {
            Ok(value @ Value::Object(_)) => value,
            Ok(_) => {
                self.found.add(Rule::NotJson, "The request body is not a JSON object.");
                return None;
            }
            Err(error) => {
                self.found.add(Rule::NotJson, format!("The request body is not valid JSON: {error}"));
                return None;
            }
        };
        let seen = match self.wire {
            Wire::Anthropic => anthropic::read(self, body, value, counting),
            Wire::Responses => responses::read(self, body, value),
            Wire::Chat => chat::read(self, body, value),
        };
        Some(seen)
    }

    /// Complains about members of `object` that are not in `known`.
    pub fn only(&mut self, object: &Value, known: &[&str], path: &str) {
        let Some(object) = object.as_object() else { return };
        for key in object.keys() {
            if known.contains(&key.as_str()) || self.also_known.contains(key) {
                continue;
            }
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            self.found.add(
                Rule::UnknownField,
                match self.wire {
                    Wire::Anthropic => format!("{path}: Extra inputs are not permitted"),
                    Wire::Responses => format!("Unknown parameter: '{path}'."),
                    Wire::Chat => format!("Unrecognized request argument supplied: {path}"),
                },
            );
        }
    }

    /// Returns the text member `key`, or complains.
    pub fn text(&mut self, object: &Value, key: &str, path: &str) -> String {
        match object.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(_) => {
                self.invalid(&format!("{path}.{key}"), "Input should be a valid string");
                String::new()
            }
            None => {
                self.missing(path, key);
                String::new()
            }
        }
    }

    pub fn missing(&mut self, path: &str, key: &str) {
        let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        self.found.add(
            Rule::MissingField,
            match self.wire {
                Wire::Anthropic => format!("{path}: Field required"),
                Wire::Responses | Wire::Chat => format!("Missing required parameter: '{path}'."),
            },
        );
    }

    pub fn invalid(&mut self, path: &str, why: &str) {
        let path = path.trim_start_matches('.');
        self.found.add(
            Rule::InvalidField,
            match self.wire {
                Wire::Anthropic => format!("{path}: {why}"),
                Wire::Responses | Wire::Chat => format!("Invalid value for '{path}': {why}."),
            },
        );
    }

    pub fn role_of_block(&mut self, kind: &str, allowed: &str, path: &str) {
        self.found.add(Rule::BlockRole, format!("{path}: `{kind}` blocks can only be in `{allowed}` messages"));
    }

    /// Holds what a model signed to what it signed.
    pub fn signature(&mut self, text: &str, signature: &str, path: &str) {
        if signature != seal(text) {
            self.found.add(Rule::ThinkingSignature, format!("{path}: Invalid `signature` in `thinking` block"));
        }
    }

    pub fn positive(&mut self, value: &Value, key: &str) -> Option<u64> {
        let field = value.get(key)?;
        if field.is_null() {
            return None;
        }
        let number = field.as_u64();
        if number.is_none() {
            self.invalid(key, "Input should be a valid integer");
        }
        number
    }
}

/// Returns the mock's signature of a thought. It depends on nothing else, so it holds across restarts and forks.
pub fn seal(text: &str) -> String {
    format!("mock-signature-{}", blake3::hash(text.as_bytes()).to_hex())
}

/// Returns the array member `key` as slices of `body`, with the same elements as parsed values.
pub fn items<'a>(body: &'a str, value: &'a Value, key: &str) -> Vec<(&'a str, &'a Value)> {
    let raws = raw::member(body, key).and_then(raw::elements).unwrap_or_default();
    let values = value[key].as_array().map_or(&[][..], Vec::as_slice);
    raws.into_iter().zip(values).collect()
}

/// Returns the member `key` without cache marks, or nothing as the empty text.
pub fn stripped(body: &str, key: &str) -> Arc<str> {
    raw::member(body, key).map(raw::without_cache_marks).unwrap_or_default().into()
}

/// Returns one block for each entry: the wires that cache by themselves cache by item.
pub fn blocks_of(system: &Arc<str>, tools: &Arc<str>, entries: &[Entry]) -> Vec<CacheBlock> {
    let head = [tools, system].into_iter().filter(|raw| !raw.is_empty());
    let all = head.chain(entries.iter().map(|entry| &entry.raw));
    all.map(|raw| CacheBlock { raw: raw.to_string(), mark: None, path: String::new() }).collect()
}

/// Returns the text of a content that is a string or a list of parts with a text.
pub fn plain_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// Returns the texts of `parts` joined.
pub fn text_of(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Call(_) | Part::Result(_) | Part::Thinking | Part::Media => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

pub fn is_true(value: &Value, key: &str) -> bool {
    value.get(key) == Some(&Value::Bool(true))
}

//! What may be shown of a value. One rule for every output, and for deciding whether a file holds a secret: it does
//! if masking would change it.

use std::path::Path;

use serde_json::{Map, Value};

use crate::base::Secret;
use crate::base::secret_shape::is_telltale;
use crate::config::document;
use crate::config::layer::Layer;
use crate::config::problem::Trouble;
use crate::config::read::LayerFile;
use crate::config::table::{self, Kind};

/// What stands for a secret of which nothing may be shown.
const HIDDEN: &str = "****";
/// What separates the parameters of an address.
const SEPARATORS: [char; 4] = ['?', '&', ';', '#'];
/// Words in a name that make its value a secret.
const TELLING: [&str; 8] = ["key", "token", "secret", "password", "passwd", "auth", "credential", "signature"];

/// Returns `value`, which is of kind `kind`, as it may be shown.
pub fn masked(kind: &Kind, value: &Value) -> Value {
    match (kind, value) {
        (Kind::Credential | Kind::Header | Kind::Variable, Value::String(secret)) => {
            Value::from(if secret.is_empty() { String::new() } else { Secret::new(secret).masked() })
        }
        (Kind::Map { of, .. }, Value::Object(entries)) => {
            entries.iter().map(|(name, entry)| (name.clone(), masked(of, entry))).collect::<Map<_, _>>().into()
        }
        (Kind::Object { fields, .. }, Value::Object(entries)) => entries
            .iter()
            .map(|(name, entry)| {
                let shown =
                    table::field(fields, name).map_or_else(|| guessed(name, entry), |key| masked(&key.kind, entry));
                (name.clone(), shown)
            })
            .collect::<Map<_, _>>()
            .into(),
        (Kind::List(_) | Kind::OneOrMany, Value::Array(items)) if items.iter().all(Value::is_string) => {
            let texts: Vec<String> = items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect();
            scrub_args(&texts).into()
        }
        (Kind::Hash, value) => value.clone(),
        // Not of the kind that was expected: anything may stand there.
        (_, value) => guessed("", value),
    }
}

/// Returns `value`, of which only the name is known, as it may be shown.
fn guessed(name: &str, value: &Value) -> Value {
    match value {
        Value::String(text) if is_telling(name) && !text.is_empty() => Value::from(Secret::new(text).masked()),
        Value::String(text) => Value::from(scrub(text)),
        Value::Array(items) => items.iter().map(|item| guessed(name, item)).collect::<Vec<_>>().into(),
        Value::Object(entries) => {
            entries.iter().map(|(name, entry)| (name.clone(), guessed(name, entry))).collect::<Map<_, _>>().into()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn is_telling(name: &str) -> bool {
    let name = name.to_lowercase();
    TELLING.iter().any(|word| name.contains(word))
}

/// Tells whether a file with this content must be readable by its owner only. What is not understood might.
pub fn holds_secret(text: &str) -> bool {
    let Ok(opened) = document::open(text.as_bytes()) else { return true };
    // A setting that is commented out is still there to be read.
    let may_tell = |comment: &str| (is_telling(comment) && comment.contains([':', '='])) || scrub(comment) != comment;
    if opened.comments.iter().any(|comment| may_tell(comment)) {
        return true;
    }
    if opened.text.trim().is_empty() {
        return false;
    }
    let Ok(Value::Object(entries)) = serde_json::from_str(&opened.text) else { return true };
    // A repeated key hides an earlier value from the parsed form, but not from a reader of the file.
    let read = LayerFile::read(Layer::Global, Path::new(""), text.as_bytes());
    let repeated = read.problems().iter().any(|problem| matches!(problem.trouble, Trouble::Duplicate { .. }));
    repeated
        || entries.iter().any(|(name, value)| {
            let shown = table::find(name).map_or_else(|| guessed(name, value), |key| masked(&key.kind, value));
            shown != *value
        })
}

/// Returns `text` without passwords in addresses, telling parameters and well-known credentials.
pub fn scrub(text: &str) -> String {
    text.split_inclusive(char::is_whitespace).map(scrub_word).collect()
}

/// Returns arguments without what looks like a secret: `--token=x`, `--token x`, `KEY=x`.
pub fn scrub_args(args: &[String]) -> Vec<String> {
    let mut after_flag = false;
    let scrubbed = args.iter().map(|arg| {
        let hide = after_flag && !arg.starts_with('-');
        after_flag = arg.starts_with('-') && !arg.contains('=') && is_telling(arg);
        if hide && !arg.is_empty() { HIDDEN.to_owned() } else { scrub(arg) }
    });
    scrubbed.collect()
}

fn scrub_word(word: &str) -> String {
    let (word, space) = word.split_at(word.trim_end().len());
    if is_telltale(word) {
        return Secret::new(word).masked() + space;
    }
    // Parameters of an address, or a variable or flag with its value.
    let mut out = String::with_capacity(word.len());
    for part in scrub_address(word).split_inclusive(SEPARATORS) {
        let (part, separator) = part.split_at(part.trim_end_matches(SEPARATORS).len());
        match part.split_once('=') {
            Some((name, value)) if !value.is_empty() && (is_telling(name) || is_telltale(value)) => {
                out.extend([name, "=", HIDDEN]);
            }
            _ => out.push_str(part),
        }
        out.push_str(separator);
    }
    out + space
}

/// Returns an address without its user and password.
fn scrub_address(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return word.to_owned() };
    let end = rest.find(['/', '?', '#', '\\', '"', '\'']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let tail = scrub_address(tail);
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{HIDDEN}@{host}{tail}"),
        None => format!("{scheme}://{authority}{tail}"),
    }
}

#[cfg(test)]
#[path = "mask_tests.rs"]
mod tests;

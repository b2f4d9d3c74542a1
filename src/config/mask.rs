//! Masks secrets in values. Used for all output, and to decide whether a file holds a secret: it does if masking would
//! change it.

use std::path::Path;

use serde_json::{Map, Value};

use crate::base::Secret;
use crate::base::secret_shape::has_token_prefix;
use crate::config::document;
use crate::config::layer::Layer;
use crate::config::problem::ProblemKind;
use crate::config::read::LayerFile;
use crate::config::table::{self, Kind};

/// The mask of a secret.
const HIDDEN: &str = "****";
/// Separators of the parameters of an address.
const SEPARATORS: [char; 4] = ['?', '&', ';', '#'];
/// A name that contains one of these has a secret value.
const SECRET_NAMES: [&str; 8] = ["key", "token", "secret", "password", "passwd", "auth", "credential", "signature"];

/// Masks `value`, which is of kind `kind`.
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
                let shown = table::field(fields, name)
                    .map_or_else(|| mask_by_name(name, entry), |key| masked(&key.kind, entry));
                (name.clone(), shown)
            })
            .collect::<Map<_, _>>()
            .into(),
        // A rule must be shown as it is, and holds no secret.
        (Kind::List(Kind::PermissionRule(_)) | Kind::PermissionRule(_), value) => value.clone(),
        (Kind::List(_) | Kind::OneOrMany, Value::Array(items)) if items.iter().all(Value::is_string) => {
            let texts: Vec<String> = items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect();
            scrub_args(&texts).into()
        }
        (Kind::List(of @ Kind::Object { .. }), Value::Array(items)) => {
            items.iter().map(|item| masked(of, item)).collect::<Vec<_>>().into()
        }
        (Kind::Hash, value) => value.clone(),
        // Not of the expected kind, so it may be anything.
        (_, value) => mask_by_name("", value),
    }
}

/// Masks `value` by its name only.
fn mask_by_name(name: &str, value: &Value) -> Value {
    match value {
        Value::String(text) if is_secret_name(name) && !text.is_empty() => Value::from(Secret::new(text).masked()),
        Value::String(text) => Value::from(scrub(text)),
        Value::Array(items) => items.iter().map(|item| mask_by_name(name, item)).collect::<Vec<_>>().into(),
        Value::Object(entries) => {
            entries.iter().map(|(name, entry)| (name.clone(), mask_by_name(name, entry))).collect::<Map<_, _>>().into()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_NAMES.iter().any(|word| name.contains(word))
}

/// Returns true if a file with this content must be private. A file that cannot be parsed counts as secret.
pub fn holds_secret(text: &str) -> bool {
    let Ok(decoded) = document::decode(text.as_bytes()) else { return true };
    // A commented-out setting can still hold a secret.
    let may_hold_secret =
        |comment: &str| (is_secret_name(comment) && comment.contains([':', '='])) || scrub(comment) != comment;
    if decoded.comments.iter().any(|comment| may_hold_secret(comment)) {
        return true;
    }
    if decoded.text.trim().is_empty() {
        return false;
    }
    let Ok(Value::Object(entries)) = serde_json::from_str(&decoded.text) else { return true };
    // A duplicate key hides an earlier value from the parser, but not from a reader of the file.
    let read = LayerFile::read(Layer::Global, Path::new(""), text.as_bytes());
    let repeated = read.problems().iter().any(|problem| matches!(problem.kind, ProblemKind::Duplicate { .. }));
    repeated
        || entries.iter().any(|(name, value)| {
            let shown = table::find(name).map_or_else(|| mask_by_name(name, value), |key| masked(&key.kind, value));
            shown != *value
        })
}

/// Masks passwords in addresses, secret parameters and known token formats.
pub fn scrub(text: &str) -> String {
    text.split_inclusive(char::is_whitespace).map(scrub_word).collect()
}

/// Masks arguments that look like secrets: `--token=x`, `--token x`, `KEY=x`.
pub fn scrub_args(args: &[String]) -> Vec<String> {
    let mut after_flag = false;
    let scrubbed = args.iter().map(|arg| {
        let hide = after_flag && !arg.starts_with('-');
        after_flag = arg.starts_with('-') && !arg.contains('=') && is_secret_name(arg);
        if hide && !arg.is_empty() { HIDDEN.to_owned() } else { scrub(arg) }
    });
    scrubbed.collect()
}

fn scrub_word(word: &str) -> String {
    let (word, space) = word.split_at(word.trim_end().len());
    if has_token_prefix(word) {
        return Secret::new(word).masked() + space;
    }
    // Parameters of an address, or a variable or flag with its value.
    let mut out = String::with_capacity(word.len());
    for part in scrub_address(word).split_inclusive(SEPARATORS) {
        let (part, separator) = part.split_at(part.trim_end_matches(SEPARATORS).len());
        match part.split_once('=') {
            Some((name, value)) if !value.is_empty() && (is_secret_name(name) || has_token_prefix(value)) => {
                out.extend([name, "=", HIDDEN]);
            }
            _ => out.push_str(part),
        }
        out.push_str(separator);
    }
    out + space
}

/// Masks the user and password of an address.
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

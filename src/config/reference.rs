//! The table of settings as Markdown, for `docs/configuration.md`, and as a summary.

use std::fmt::Write as _;

use crate::config::layer::Layer;
use crate::config::table::{Allowed, KEYS, Key, Kind, Need};

/// Returns Markdown with the kind, default, layers and example of every setting.
pub fn reference() -> String {
    let mut out = String::new();
    for key in KEYS {
        section(&mut out, key);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Returns one line per setting: name and description.
pub fn summary() -> String {
    let width = KEYS.iter().map(|key| key.name.len()).max().unwrap_or_default();
    let mut out = String::new();
    for key in KEYS {
        let _ = writeln!(out, "{:width$}  {}", key.name, key.doc);
    }
    out
}

fn section(out: &mut String, key: &'static Key) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "### `{}`\n\n{}\n", key.name, key.doc);
    let _ = writeln!(out, "- Value: {}{}", value(&key.kind), default(key));
    let layers: Vec<&str> = key.allowed.layers().iter().copied().map(Layer::word).collect();
    let why = match key.allowed {
        Allowed::Everywhere => String::new(),
        Allowed::User(why) | Allowed::Project(why) => format!(" ({why})"),
    };
    let _ = writeln!(out, "- Layers: {}{why}", layers.join(", "));
    let _ = writeln!(out, "- Example: `{}`\n", key.sample());
    let mut rows = Vec::new();
    collect(&mut rows, key.name, &key.kind);
    if !rows.is_empty() {
        let _ = writeln!(out, "| field | value | meaning |\n|---|---|---|");
        for (path, field) in rows {
            let _ = writeln!(out, "| `{path}` | {}{} | {} |", value(&field.kind), default(field), field.doc);
        }
        out.push('\n');
    }
}

fn value(kind: &Kind) -> String {
    match kind {
        Kind::Map { placeholder, .. } => format!("an object with one entry per {placeholder}"),
        other => other.describe(),
    }
}

fn default(key: &Key) -> String {
    match key.need {
        Need::Optional => String::new(),
        Need::Default(json) => format!("; default `{json}`"),
        Need::Required => "; required".to_owned(),
    }
}

/// Collects the declared fields below `path`, with the full path of each.
fn collect(rows: &mut Vec<(String, &'static Key)>, path: &str, kind: &'static Kind) {
    match kind {
        Kind::Map { placeholder, of, .. } => collect(rows, &format!("{path}.<{placeholder}>"), of),
        Kind::List(of @ (Kind::Object { .. } | Kind::List(_))) => collect(rows, &format!("{path}[]"), of),
        Kind::Object { fields, .. } => {
            for field in *fields {
                let path = format!("{path}.{}", field.name);
                rows.push((path.clone(), field));
                collect(rows, &path, &field.kind);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
#[path = "reference_tests.rs"]
mod tests;

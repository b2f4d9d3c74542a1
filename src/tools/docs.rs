//! Generates `docs/tools.md` from the registry, so that it always matches the text that models get.

use std::fmt::Write as _;

use serde_json::Value;

use crate::tools::names;
use crate::tools::registry::Registry;
use crate::tools::tool::ToolEffect;

/// The line before the generated part. Everything above it is written by hand and kept.
pub const MARK: &str =
    "<!-- generated from the registry; change the tools, then run the tests with MXD_UPDATE_DOCS=1 -->";

/// Returns the generated part of the page.
pub fn page(registry: &Registry) -> String {
    let mut out = format!("{MARK}\n");
    for tool in registry.iter() {
        let spec = tool.spec();
        let effect = match tool.effect() {
            ToolEffect::Reads => "reads only",
            ToolEffect::Writes => "writes files in the worktree",
            ToolEffect::Opaque => "can do anything",
        };
        let _ = write!(
            out,
            "\n## {}\n\n`{}` · {effect}\n\n{}\n",
            names::display_name(&spec.name),
            spec.name,
            spec.description
        );
        if let Ok(schema) = spec.schema.read::<Value>()
            && schema["properties"].as_object().is_some_and(|fields| !fields.is_empty())
        {
            out.push_str("\n| field | type | |\n|---|---|---|\n");
            fields(&mut out, &schema, "");
        }
        if let Some(example) = tool.example() {
            let _ = write!(out, "\n```json\n{example}\n```\n");
        }
    }
    out
}

fn fields(out: &mut String, schema: &Value, prefix: &str) {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let Some(properties) = schema["properties"].as_object() else { return };
    for (name, field) in properties {
        let needed = if required.contains(&name.as_str()) { ", required" } else { "" };
        let description = field["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
        let _ = writeln!(out, "| `{prefix}{name}` | {}{needed} | {description} |", kind(field));
        fields(out, &field["items"], &format!("{prefix}{name}[]."));
    }
}

fn kind(field: &Value) -> String {
    let words = words_of(field);
    if !words.is_empty() {
        return words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    match &field["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("any").to_owned()
        }
        _ => "any".to_owned(),
    }
}

/// Returns the values of an enumeration, in either of the two forms that a schema can have.
fn words_of(field: &Value) -> Vec<&str> {
    let listed = field["enum"].as_array().into_iter().flatten();
    let described = field["oneOf"].as_array().into_iter().flatten().map(|choice| &choice["const"]);
    listed.chain(described).filter_map(Value::as_str).collect()
}

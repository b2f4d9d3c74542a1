//! The table of settings as a JSON Schema, for completion and validation in editors.
//!
//! The schema checks less than the program: layers and rules between fields are only described.

use serde_json::{Map, Value, json};

use crate::config::layer::Layer;
use crate::config::table::{FILE_KEYS, KEYS, Key, Kind, Names, Need, Rule};

/// Returns the schema of a settings file.
pub fn schema() -> Value {
    let mut properties = Map::new();
    for key in FILE_KEYS.iter().chain(KEYS) {
        properties.insert(key.name.to_owned(), property(key, true));
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of mxd",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

fn property(key: &Key, is_top: bool) -> Value {
    let mut schema = of(&key.kind);
    let Value::Object(fields) = &mut schema else { return schema };
    // A null unsets the value in this layer, or removes an entry of a map.
    if !matches!(key.need, Need::Required) {
        nullable(fields);
    }
    let mut description = key.doc.to_owned();
    let layers = key.allowed.layers();
    if is_top && layers.len() < Layer::ALL.len() {
        let words: Vec<&str> = layers.iter().copied().map(Layer::word).collect();
        description = format!("{description} Layers: {}.", words.join(", "));
    }
    fields.insert("description".to_owned(), description.into());
    if let Need::Default(default) = key.need
        && let Ok(default) = serde_json::from_str::<Value>(default)
    {
        fields.insert("default".to_owned(), default);
    }
    if let Ok(example) = serde_json::from_str::<Value>(key.example) {
        fields.insert("examples".to_owned(), json!([example]));
    }
    schema
}

/// Allows null as well.
fn nullable(schema: &mut Map<String, Value>) {
    if let Some(kind) = schema.get_mut("type") {
        *kind = match kind.take() {
            Value::Array(mut kinds) => {
                kinds.push("null".into());
                Value::Array(kinds)
            }
            one => json!([one, "null"]),
        };
    }
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.push(Value::Null);
    }
}

fn of(kind: &Kind) -> Value {
    match kind {
        Kind::Text => json!({ "type": "string", "minLength": 1, "pattern": "^[^\\r\\n]*$" }),
        Kind::Free | Kind::Path | Kind::Credential | Kind::Header | Kind::Variable => json!({ "type": "string" }),
        Kind::Url => json!({ "type": "string", "pattern": "^https?://" }),
        Kind::Hash => json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Whole { min, max: u64::MAX } => json!({ "type": "integer", "minimum": min }),
        Kind::Whole { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Dollars { min } => json!({ "type": "number", "minimum": min }),
        Kind::Seconds => json!({ "type": "number", "exclusiveMinimum": 0 }),
        Kind::Matcher => json!({ "type": "string" }),
        Kind::PermissionRule(_) => json!({ "type": "string", "minLength": 1 }),
        Kind::Choice(words) => json!({ "type": "string", "enum": words }),
        Kind::OneOrMany => json!({ "type": ["string", "array"], "items": { "type": "string" } }),
        Kind::List(of_each) => json!({ "type": "array", "items": of(of_each) }),
        Kind::Map { names, of: of_each, .. } => {
            let mut each = of(of_each);
            if let Value::Object(fields) = &mut each {
                nullable(fields);
            }
            let mut schema = json!({ "type": "object", "additionalProperties": each });
            if let (Some(pattern), Value::Object(fields)) = (pattern(*names), &mut schema) {
                fields.insert("propertyNames".to_owned(), json!({ "pattern": pattern }));
            }
            schema
        }
        Kind::Object { fields, rule } => {
            let properties: Map<String, Value> =
                fields.iter().map(|field| (field.name.to_owned(), property(field, false))).collect();
            let required: Vec<&str> =
                fields.iter().filter(|field| field.need == Need::Required).map(|field| field.name).collect();
            let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
            if let Value::Object(entries) = &mut schema {
                if !required.is_empty() {
                    entries.insert("required".to_owned(), json!(required));
                }
                if *rule == Rule::McpServer {
                    // Never both. A server that is only disabled here may have neither.
                    entries.insert("not".to_owned(), json!({ "required": ["command", "url"] }));
                }
            }
            schema
        }
    }
}

/// Returns the pattern of valid names, or `None` if a pattern cannot express it.
fn pattern(names: Names) -> Option<&'static str> {
    match names {
        Names::Any | Names::Variable => None,
        Names::Server => Some("^(?!mxd$)(?!.*__)[A-Za-z0-9_-]{1,32}$"),
        Names::Backend => Some("^(?!native$)[A-Za-z0-9_-]{1,32}$"),
        Names::Header => Some("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"),
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;

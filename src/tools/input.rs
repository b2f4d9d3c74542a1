//! Parses the inputs of models, and explains invalid ones with the field, the expected type, and an example.
//!
//! The parser's own error names a column in text that the model no longer sees. So the input is first compared with
//! the tool's schema, which gives a path such as `edits[1].old`.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::base::{Json, text};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}. Nothing was run. A valid input: {example}")]
pub struct InputError {
    pub problem: String,
    pub example: String,
}

/// Parses an input, or returns why it is invalid.
pub(super) fn read<T: DeserializeOwned>(input: &Json, schema: &Value, example: &str) -> Result<T, InputError> {
    let refuse = |problem: String| InputError { problem, example: example.to_owned() };
    let value: Value = input.read().map_err(|error| refuse(format!("the input is not JSON ({error})")))?;
    if let Some(problem) = mismatch(&value, schema, &Path::root()) {
        return Err(refuse(problem));
    }
    serde_json::from_value(value).map_err(|error| refuse(format!("the input does not fit: {error}")))
}

/// The current position in an input: `edits[1].old`.
struct Path(String);

impl Path {
    fn root() -> Self {
        Self(String::new())
    }

    fn field(&self, name: &str) -> Self {
        Self(if self.0.is_empty() { name.to_owned() } else { format!("{}.{name}", self.0) })
    }

    fn item(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("the input") } else { write!(f, "\"{}\"", self.0) }
    }
}

/// Returns the first mismatch of `value` and `schema`. Knows the part of JSON Schema that our own types use;
/// everything else is left to the parser.
fn mismatch(value: &Value, schema: &Value, path: &Path) -> Option<String> {
    let schema = schema.as_object()?;
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        let words: Vec<String> = allowed.iter().filter(|word| !word.is_null()).map(ToString::to_string).collect();
        return Some(format!("{path} must be one of {}, not {}", words.join(", "), shown(value)));
    }
    if let Some(choices) = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array) {
        let problems: Vec<String> =
            choices.iter().map(|choice| mismatch(value, choice, path)).collect::<Option<Vec<_>>>()?;
        // The branch that got furthest into the value is the intended one.
        return problems.into_iter().max_by_key(|problem| problem.matches(['.', '[']).count());
    }
    if let Some(constant) = schema.get("const")
        && constant != value
    {
        return Some(format!("{path} must be {constant}, not {}", shown(value)));
    }
    let types = type_names(schema);
    if !types.is_empty() && !types.iter().any(|name| is_type(value, name)) {
        let wanted: Vec<&str> = types.iter().filter(|name| **name != "null").map(|name| article(name)).collect();
        return Some(format!("{path} must be {}, not {}", wanted.join(" or "), shown(value)));
    }
    match value {
        Value::Object(fields) => object_mismatch(fields, schema, path),
        Value::Array(items) => {
            let fewest = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
            if (items.len() as u64) < fewest {
                return Some(format!("{path} must have at least {fewest}"));
            }
            let schema = schema.get("items")?;
            items.iter().enumerate().find_map(|(index, item)| mismatch(item, schema, &path.item(index)))
        }
        Value::Number(number) => {
            let least = schema.get("minimum").and_then(Value::as_f64)?;
            (number.as_f64()? < least).then(|| format!("{path} must be at least {least}, not {number}"))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => None,
    }
}

fn object_mismatch(fields: &Map<String, Value>, schema: &Map<String, Value>, path: &Path) -> Option<String> {
    let none = Map::new();
    let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    for name in required {
        if !fields.contains_key(name) {
            let wanted = known.get(name).and_then(Value::as_object).map(type_names).unwrap_or_default();
            let wanted = wanted.first().map(|name| format!(" ({})", article(name))).unwrap_or_default();
            return Some(format!("{} is missing{wanted}", path.field(name)));
        }
    }
    let strict = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in fields {
        match known.get(name) {
            Some(schema) => {
                if let Some(problem) = mismatch(value, schema, &path.field(name)) {
                    return Some(problem);
                }
            }
            None if strict => {
                let names: Vec<&str> = known.keys().map(String::as_str).collect();
                let place = path.field(name);
                return Some(format!("{place} is not a field of this tool; the fields are {}", names.join(", ")));
            }
            None => {}
        }
    }
    None
}

fn type_names(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_type(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "integer" => value.as_i64().is_some() || value.as_u64().is_some(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn article(name: &str) -> &str {
    match name {
        "string" => "a text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "an object",
        other => other,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => text::headline(&value.to_string(), 60),
    }
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;

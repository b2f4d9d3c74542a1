//! Questions of a program to the user: a form with one field or more.
//!
//! The first field with choices becomes the choices of a question; the answer fills that field. A form without fields is
//! confirmed.

use serde_json::{Map, Value, json};

use super::update::text;

/// A question.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The program's id of the request.
    pub id: Value,
    pub message: String,
    fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq)]
struct Field {
    name: String,
    title: String,
    choices: Vec<Choice>,
    kind: FieldKind,
    is_required: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldKind {
    Text,
    Number,
    Flag,
    List,
}

#[derive(Clone, Debug, PartialEq)]
struct Choice {
    value: Value,
    label: String,
}

impl Question {
    pub fn read(id: Value, params: &Value) -> Self {
        let message = text(params, "message").unwrap_or_else(|| "The program has a question.".to_owned());
        let schema = params.get("requestedSchema");
        let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
        let required = schema.and_then(|schema| schema.get("required")?.as_array());
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|required| required.as_str() == Some(name)));
        let fields = properties.into_iter().flatten();
        let fields = fields.map(|(name, schema)| Field::read(name, schema, is_required(name))).collect();
        Self { id, message, fields }
    }

    /// Returns the labels of the choices. Empty for a question in free text.
    pub fn choices(&self) -> Vec<String> {
        self.main().map(|field| field.choices.iter().map(|choice| choice.label.clone()).collect()).unwrap_or_default()
    }

    /// Returns what the form asks beside the main question.
    pub fn detail(&self) -> String {
        let titles: Vec<&str> =
            self.fields.iter().map(|field| field.title.as_str()).filter(|it| !it.is_empty()).collect();
        titles.join("\n")
    }

    fn main(&self) -> Option<&Field> {
        self.fields.iter().find(|field| !field.choices.is_empty()).or(self.fields.first())
    }

    /// Returns the result for the user's words, or a choice's label.
    pub fn answer(&self, words: &str) -> Value {
        let Some(main) = self.main() else { return json!({"action": "accept", "content": {}}) };
        let mut content = Map::new();
        match main.choices.iter().find(|choice| choice.label == words) {
            Some(choice) => {
                let value = if main.kind == FieldKind::List { json!([choice.value]) } else { choice.value.clone() };
                content.insert(main.name.clone(), value);
            }
            // Words of the user's own go into the field that takes them.
            None => {
                let own = self.fields.iter().find(|field| field.choices.is_empty() && field.kind == FieldKind::Text);
                let field = own.unwrap_or(main);
                content.insert(field.name.clone(), field.value(words));
            }
        }
        for field in self.fields.iter().filter(|field| field.is_required) {
            if !content.contains_key(&field.name) {
                let first = field.choices.first().map(|choice| choice.value.clone());
                content.insert(field.name.clone(), first.unwrap_or_else(|| field.value(words)));
            }
        }
        json!({"action": "accept", "content": content})
    }

    pub fn decline() -> Value {
        json!({"action": "decline"})
    }

    pub fn cancel() -> Value {
        json!({"action": "cancel"})
    }
}

impl Field {
    fn read(name: &str, schema: &Value, is_required: bool) -> Self {
        let kind = match schema.get("type").and_then(Value::as_str) {
            Some("boolean") => FieldKind::Flag,
            Some("number" | "integer") => FieldKind::Number,
            Some("array") => FieldKind::List,
            Some(_) | None => FieldKind::Text,
        };
        let of = if kind == FieldKind::List { schema.get("items").unwrap_or(schema) } else { schema };
        let titled = of.get("oneOf").or_else(|| of.get("anyOf")).and_then(Value::as_array).into_iter().flatten();
        let titled = titled.filter_map(|option| {
            let value = option.get("const")?.clone();
            Some(Choice { label: text(option, "title").unwrap_or_else(|| plain(&value)), value })
        });
        let plain_values = of.get("enum").and_then(Value::as_array).into_iter().flatten();
        let plain_values = plain_values.map(|value| Choice { label: plain(value), value: value.clone() });
        let mut choices: Vec<Choice> = titled.chain(plain_values).collect();
        if kind == FieldKind::Flag {
            let choice = |label: &str, value: bool| Choice { label: label.to_owned(), value: json!(value) };
            choices = vec![choice("Yes", true), choice("No", false)];
        }
        Self { name: name.to_owned(), title: text(schema, "title").unwrap_or_default(), choices, kind, is_required }
    }

    fn value(&self, words: &str) -> Value {
        match self.kind {
            FieldKind::Number => words.trim().parse::<f64>().map_or_else(|_| json!(words), |number| json!(number)),
            FieldKind::List => json!([words]),
            FieldKind::Flag => json!(words.trim().eq_ignore_ascii_case("yes")),
            FieldKind::Text => json!(words),
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
#[path = "elicitation_tests.rs"]
mod tests;

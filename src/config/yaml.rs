//! YAML as a tree of nodes, each with its line and column.
//!
//! Scalars keep the text that was written, so `1.50` stays `1.50` and a name of digits stays a name; the reader of a
//! field decides what a text means. Tags are ignored. Aliases are followed up to a limit of nodes.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span};

use crate::config::problem::Position;

/// How many nodes a document may have, with what its aliases stand for.
const MAX_NODES: usize = 20_000;
/// How deep nodes may be nested.
const MAX_DEPTH: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub value: Value,
    pub at: Position,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An empty value, or a plain `null` or `~`.
    Null,
    Text {
        text: String,
        /// Written without quotes and not as a block, so that `true` and `3` are not strings.
        is_plain: bool,
    },
    List(Vec<Node>),
    /// The entries in the order of the file. A key can occur twice.
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: String,
    /// Where the key is.
    pub at: Position,
    pub value: Value,
}

/// Why a text is not YAML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct YamlError {
    pub at: Position,
    pub message: String,
}

/// Parses one document. An empty one is [`Value::Null`].
pub fn parse(text: &str) -> Result<Node, YamlError> {
    let mut builder = Builder { events: Parser::new_from_str(text), anchors: HashMap::new(), nodes: 0 };
    loop {
        match builder.next()? {
            Some((Event::StreamEnd, span)) => return Ok(Node { value: Value::Null, at: position(span) }),
            Some((Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd, _)) => {}
            Some((event, span)) => return builder.node(event, span, 0),
            None => return Ok(Node { value: Value::Null, at: Position { line: 1, column: 1 } }),
        }
    }
}

impl Value {
    /// Returns the value as JSON. Plain scalars become numbers, booleans and `null`, as the core schema of YAML says.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Null => serde_json::Value::Null,
            Self::Text { text, is_plain: false } => text.as_str().into(),
            Self::Text { text, is_plain: true } => match text.as_str() {
                "true" | "True" | "TRUE" => true.into(),
                "false" | "False" | "FALSE" => false.into(),
                text => serde_json::from_str::<serde_json::Number>(text).map_or_else(|_| text.into(), Into::into),
            },
            Self::List(items) => items.iter().map(|item| item.value.to_json()).collect(),
            Self::Map(entries) => {
                let fields = entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json()));
                serde_json::Value::Object(fields.collect())
            }
        }
    }
}

struct Builder<'a, E: Iterator<Item = Result<(Event<'a>, Span), ScanError>>> {
    events: E,
    /// The nodes that aliases can refer to, by the number of the anchor.
    anchors: HashMap<usize, Value>,
    nodes: usize,
}

impl<'a, E: Iterator<Item = Result<(Event<'a>, Span), ScanError>>> Builder<'a, E> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, YamlError> {
        let next = self.events.next().transpose();
        next.map_err(|error| YamlError { at: position_of(error.marker()), message: error.info() })
    }

    /// Builds the node that starts with `event`.
    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, YamlError> {
        let at = position(span);
        self.count(1, at)?;
        if depth > MAX_DEPTH {
            return Err(YamlError { at, message: format!("values are nested more than {MAX_DEPTH} levels deep") });
        }
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => (scalar(&text, style), anchor),
            Event::SequenceStart(_, anchor, _) => (Value::List(self.list(at, depth)?), anchor),
            Event::MappingStart(_, anchor, _) => (Value::Map(self.map(at, depth)?), anchor),
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned();
                let value = value.ok_or_else(|| YamlError { at, message: "this alias refers to itself".to_owned() })?;
                self.count(size(&value), at)?;
                (value, 0)
            }
            _ => return Err(YamlError { at, message: "a value is expected here".to_owned() }),
        };
        if anchor != 0 {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(Node { value, at })
    }

    fn count(&mut self, more: usize, at: Position) -> Result<(), YamlError> {
        self.nodes += more;
        if self.nodes <= MAX_NODES {
            return Ok(());
        }
        Err(YamlError { at, message: format!("there are more than {MAX_NODES} values") })
    }

    /// Returns the next event inside a list or a map.
    fn inner(&mut self, at: Position) -> Result<(Event<'a>, Span), YamlError> {
        self.next()?.ok_or_else(|| YamlError { at, message: "the text ends inside this value".to_owned() })
    }

    fn list(&mut self, at: Position, depth: usize) -> Result<Vec<Node>, YamlError> {
        let mut items = Vec::new();
        loop {
            match self.inner(at)? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, at: Position, depth: usize) -> Result<Vec<Entry>, YamlError> {
        let mut entries = Vec::new();
        loop {
            let (event, span) = self.inner(at)?;
            if event == Event::MappingEnd {
                return Ok(entries);
            }
            let key = self.node(event, span, depth + 1)?;
            let name = match key.value {
                Value::Text { text, .. } => text,
                Value::Null => "null".to_owned(),
                Value::List(_) | Value::Map(_) => {
                    return Err(YamlError { at: key.at, message: "a key must be a plain word".to_owned() });
                }
            };
            let (event, span) = self.inner(at)?;
            let value = self.node(event, span, depth + 1)?;
            entries.push(Entry { key: name, at: key.at, value: value.value });
        }
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    let is_plain = style == ScalarStyle::Plain;
    match text {
        "" | "~" | "null" | "Null" | "NULL" if is_plain => Value::Null,
        text => Value::Text { text: text.to_owned(), is_plain },
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Text { .. } => 1,
        Value::List(items) => 1 + items.iter().map(|item| size(&item.value)).sum::<usize>(),
        Value::Map(entries) => 1 + entries.iter().map(|entry| 1 + size(&entry.value)).sum::<usize>(),
    }
}

fn position(span: Span) -> Position {
    position_of(&span.start)
}

fn position_of(mark: &granit_parser::Marker) -> Position {
    Position { line: mark.line(), column: mark.col() + 1 }
}

#[cfg(test)]
#[path = "yaml_tests.rs"]
mod tests;

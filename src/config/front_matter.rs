//! Front matter: the YAML between two lines `---` at the top of a Markdown file.
//!
//! Many agent files of other programs are not quite YAML: a description in one line contains `: ` without quotes. Such a
//! file is read as those programs read it, each field as the text after its name, and the result says so.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::config::problem::Position;
use crate::config::yaml::{self, Entry, Value, YamlError};

/// The fields and the body of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontMatter<'a> {
    pub entries: Vec<Entry>,
    pub body: &'a str,
    /// Why the front matter is not YAML, if it could be read all the same.
    pub repaired: Option<YamlError>,
}

const NO_START: &str = "the file must start with a line --- and its fields";
const NO_END: &str = "the front matter is not closed: the second line --- is missing";
const NO_FIELDS: &str = "the front matter must consist of fields: write name: value";

/// Splits a file into fields and body.
pub fn parse(text: &str) -> Result<FrontMatter<'_>, YamlError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let error = |line, message: &str| YamlError { at: Position { line, column: 1 }, message: message.to_owned() };
    let mut lines = text.split_inclusive('\n');
    if lines.next().is_none_or(|line| line.trim_end() != "---") {
        return Err(error(1, NO_START));
    }
    let start = text.find('\n').map_or(text.len(), |end| end + 1);
    let (mut end, mut count) = (start, 1);
    let body = loop {
        let line = lines.next().ok_or_else(|| error(count, NO_END))?;
        count += 1;
        if matches!(line.trim_end(), "---" | "...") {
            break &text[end + line.len()..];
        }
        end += line.len();
    };
    let front = &text[start..end];
    let (node, repaired) = match yaml::parse(front) {
        Ok(node) => (node, None),
        Err(error) => match quoted_lines(front).and_then(|repaired| yaml::parse(&repaired).ok()) {
            Some(node) => (node, Some(below_first_line(error))),
            None => return Err(below_first_line(error)),
        },
    };
    let entries = match node.value {
        Value::Map(entries) => entries,
        Value::Null => Vec::new(),
        Value::Text { .. } | Value::List(_) => return Err(error(node.at.line + 1, NO_FIELDS)),
    };
    let entries = entries.into_iter().map(shifted).collect();
    Ok(FrontMatter { entries, body, repaired })
}

/// Moves an error of the fields to its line in the file, where they start in line 2.
fn below_first_line(error: YamlError) -> YamlError {
    YamlError { at: below(error.at), ..error }
}

fn below(at: Position) -> Position {
    Position { line: at.line + 1, ..at }
}

fn shifted(entry: Entry) -> Entry {
    Entry { at: below(entry.at), value: shifted_value(entry.value), ..entry }
}

fn shifted_value(value: Value) -> Value {
    match value {
        Value::Null | Value::Text { .. } => value,
        Value::List(items) => Value::List(
            items.into_iter().map(|item| yaml::Node { value: shifted_value(item.value), at: below(item.at) }).collect(),
        ),
        Value::Map(entries) => Value::Map(entries.into_iter().map(shifted).collect()),
    }
}

/// Returns the fields with quotes around each plain text that has `: ` or ` #` in it, or `None` if there is none. The
/// text may go on in lines that are no fields; the number of lines stays the same.
fn quoted_lines(front: &str) -> Option<String> {
    let mut out = String::with_capacity(front.len() + 64);
    let mut lines = front.lines().peekable();
    let mut changed = false;
    while let Some(line) = lines.next() {
        let Some((key, text)) = plain_field(line) else {
            out.push_str(line);
            out.push('\n');
            continue;
        };
        let mut text = Cow::Borrowed(text);
        let mut taken = 0;
        while let Some(more) = lines.next_if(|next| !is_field(next) && !is_list_item(next)) {
            text = Cow::Owned(format!("{text} {}", more.trim()));
            taken += 1;
        }
        if taken > 0 || text.contains(": ") || text.contains(" #") || text.ends_with(':') {
            changed = true;
            // Claude Code reads \n in such a line as a line break, as between double quotes.
            let text = text.trim().replace("\\n", "\n");
            // Writing to a string cannot fail.
            let _ = write!(out, "{key}: {}", serde_json::Value::from(text));
        } else {
            out.push_str(line);
        }
        out.push_str(&"\n".repeat(taken + 1));
    }
    changed.then_some(out)
}

/// Splits a line into key and plain text. `None` if its value is not a plain text.
fn plain_field(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':').filter(|_| is_field(line))?;
    let text = rest.trim();
    let is_plain = !text.is_empty() && !text.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*', '!', '#']);
    is_plain.then_some((key, text))
}

fn is_field(line: &str) -> bool {
    line.split_once(':').is_some_and(|(key, rest)| {
        key.starts_with(|c: char| c.is_ascii_lowercase())
            && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
            && (rest.is_empty() || rest.starts_with([' ', '\t', '\r']))
    })
}

fn is_list_item(line: &str) -> bool {
    let line = line.trim_start();
    line == "-" || line.starts_with("- ")
}

#[cfg(test)]
#[path = "front_matter_tests.rs"]
mod tests;

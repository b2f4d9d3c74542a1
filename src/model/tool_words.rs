//! Words for tool calls: what an agent does, as users read it. Shared by all front ends.
//!
//! Pure. Values come from a model: they are cut and sanitized, and an unexpected input gives fewer words, never JSON.

use serde_json::Value;

use crate::base::{sanitize, text};
use crate::model::conversation::ToolUse;
use crate::model::tool_names::{self as names, display_name};

/// The longest subject. A command may be megabytes.
const SUBJECT_BYTES: usize = 400;
/// The longest value of an argument of an external tool.
const VALUE_CHARS: usize = 40;
/// How many arguments of an external tool are shown.
const VALUES: usize = 3;

/// Returns what a call does, as a verb and its object: `runs cargo test`.
pub fn sentence(call: &ToolUse) -> String {
    let wire = names::canonical(&call.name);
    let input: Value = serde_json::from_str(call.input.as_str()).unwrap_or_default();
    let words = match names::split(&wire) {
        Some((names::OWN, tool)) => own(tool, &Input(&input)),
        _ => external(&display_name(&call.name), &input),
    };
    sanitize::line(text::prefix(words.trim(), SUBJECT_BYTES)).into_owned()
}

/// Returns the arguments of a call, one name and value per line. Empty if the sentence has said all.
pub fn arguments(call: &ToolUse) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str(call.input.as_str()) else { return String::new() };
    let line = |(name, value): (&String, &Value)| match value {
        Value::String(text) if text.trim_end().contains('\n') => format!("{name}:\n{}", text.trim_end()),
        Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    };
    let mut lines = fields.iter().map(line);
    match (lines.next(), lines.next()) {
        (Some(only), None) if !only.contains('\n') && only.len() < SUBJECT_BYTES / 2 => String::new(),
        (first, second) => first.into_iter().chain(second).chain(lines).collect::<Vec<_>>().join("\n"),
    }
}

/// The arguments of a call. A missing or malformed one is empty.
struct Input<'a>(&'a Value);

impl<'a> Input<'a> {
    fn text(&self, name: &str) -> &'a str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn list(&self, name: &str) -> &'a [Value] {
        self.0.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the first line of a text, with a mark if there are more.
    fn first_line(&self, name: &str) -> String {
        let whole = self.text(name).trim();
        let first = whole.lines().next().unwrap_or_default();
        if whole.lines().count() > 1 { format!("{first} …") } else { first.to_owned() }
    }

    /// Returns a text in quotation marks, or nothing if it is empty.
    fn quoted(&self, name: &str) -> String {
        match self.first_line(name) {
            line if line.is_empty() => line,
            line => format!("\"{line}\""),
        }
    }

    /// Returns the task that a call names. A number is written as one.
    fn task(&self, name: &str) -> String {
        let task = self.text(name).trim();
        match task.parse::<crate::model::address::Address>() {
            Ok(crate::model::address::Address::NumberOrWords(number, _)) => format!("task {number}"),
            _ if task.is_empty() => "a task".to_owned(),
            _ => format!("task {task}"),
        }
    }
}

fn own(tool: &str, input: &Input<'_>) -> String {
    match tool {
        names::BASH => format!("runs {}", input.first_line("command")),
        names::READ_FILE => format!("reads {}", strings(input.list("files"), |file| file.get("path"))),
        names::WRITE_FILE => format!("writes {}", input.text("path")),
        names::EDIT_FILE => format!("edits {}", input.text("path")),
        names::SEARCH => match input.text("path") {
            "" => format!("searches for {}", input.quoted("pattern")),
            path => format!("searches for {} in {path}", input.quoted("pattern")),
        },
        names::LIST_FILES => {
            let globs = strings(input.list("globs"), Some);
            let what = if globs.is_empty() { "files" } else { &globs };
            match input.text("path") {
                "" | "." => format!("lists {what}"),
                path => format!("lists {what} in {path}"),
            }
        }
        names::BACKGROUND => match (input.text("action"), input.text("id")) {
            ("kill", id) => format!("stops background process {id}"),
            ("wait", "") => "waits for a background process".to_owned(),
            ("wait", id) => format!("waits for background process {id}"),
            ("status", id) => format!("checks background process {id}"),
            _ => "lists its background processes".to_owned(),
        },
        names::CLARIFY => format!("asks {}", input.quoted("question")),
        names::DONE => match input.text("status") {
            "" => "finishes".to_owned(),
            verdict => format!("finishes: {verdict}"),
        },
        names::SUBMIT_PLAN => "hands in a plan".to_owned(),
        names::REVIEW_PLAN => format!("decides about the plan of {}", input.quoted("task")),
        names::YIELD => "waits for messages".to_owned(),
        names::GET_TREE => "looks at the task tree".to_owned(),
        names::GET_TASK => format!("looks at {}", input.task("task")),
        names::SEARCH_TASKS => format!("searches the tasks for {}", input.quoted("query")),
        names::CREATE_TASK => format!("creates task {}", input.quoted("title")),
        names::UPDATE_TASK => format!("changes {}", input.task("task")),
        names::CLOSE_TASK => format!("closes {}", input.task("task")),
        names::DELETE_TASK => format!("deletes {}", input.task("task")),
        names::RESET_TASK => format!("resets {}", input.task("task")),
        names::STOP_TASK => format!("stops {}", input.task("task")),
        names::HAND_OVER => format!("hands {} over to {}", input.task("task"), input.text("profile")),
        names::USE_SKILL => format!("reads the skill {}", input.text("name")),
        names::REORDER_TASKS => "reorders its subtasks".to_owned(),
        names::FORK_TASK_CONTEXT => format!("copies its conversation to {}", input.task("task")),
        names::SEND_MESSAGE => format!("writes to {}: {}", input.task("task"), input.first_line("message")),
        names::LIST_PROJECTS => "lists the projects".to_owned(),
        names::SEND_MESSAGE_TO_PROJECT => {
            format!("writes to project {}: {}", input.text("project"), input.first_line("message"))
        }
        other => external(other, input.0),
    }
}

/// Joins the strings that `pick` finds in the values.
fn strings<'a>(values: &'a [Value], pick: impl Fn(&'a Value) -> Option<&'a Value>) -> String {
    values.iter().filter_map(|value| pick(value)?.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns words for a tool that is not known here: its name, and its first simple arguments.
fn external(name: &str, input: &Value) -> String {
    let values = brief_arguments(input);
    if values.is_empty() { format!("calls {name}") } else { format!("calls {name}: {values}") }
}

/// Returns the first simple arguments of a call in one line.
pub fn brief_arguments(input: &Value) -> String {
    let simple = |(name, value): (&String, &Value)| match value {
        Value::String(value) => Some(format!("{name} {}", text::headline(value, VALUE_CHARS))),
        Value::Number(_) | Value::Bool(_) => Some(format!("{name} {value}")),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let values: Vec<String> =
        input.as_object().into_iter().flat_map(|fields| fields.iter().filter_map(simple)).take(VALUES).collect();
    values.join(", ")
}

#[cfg(test)]
#[path = "tool_words_tests.rs"]
mod tests;

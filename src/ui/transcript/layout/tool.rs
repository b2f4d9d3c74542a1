//! Tool calls: one line with subject and result; unfolded, the output or the diff.

use std::borrow::Cow;

use serde_json::Value;

use crate::base::{sanitize, text};
use crate::model::Content;
use crate::model::conversation::ToolUse;
use crate::model::diff::FileDiff;
use crate::model::event::ToolResult;
use crate::model::tool_words;
use crate::text::diff::{self, DiffOptions, DiffRows};
use crate::text::{Row, Span};
use crate::theme::Role;
use crate::ui::labels;
use crate::ui::transcript::entry::ToolEntry;
use crate::ui::transcript::layout::prose::{MAX_ROWS, last_output, long_prose, long_text, markdown_page, tool_output};
use crate::ui::transcript::layout::{Page, ROW, gutter, one_line};
use crate::ui::transcript::result_summary;

/// The rows of live output while a command runs.
const LIVE_ROWS: usize = 12;
/// The columns of a time with the space before it.
const TIME: usize = 9;
/// The maximum bytes of a new file that are laid out.
const CREATED: usize = 64 * 1024;

/// The state of a call without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingCall {
    Running,
    /// The agent waits for a message.
    Waiting,
    /// The call ended the run: no result will come.
    Final,
}

/// Returns the state of a call without a result. Calls that end a turn never get one.
pub fn pending_call(tool: &ToolEntry) -> PendingCall {
    match shown_name(&tool.name).as_ref() {
        "yield" => PendingCall::Waiting,
        "done" => PendingCall::Final,
        _ => PendingCall::Running,
    }
}

pub fn rows(tool: &ToolEntry, page: &Page<'_>) -> Vec<Row> {
    let (sign, role) = match &tool.result {
        None => match pending_call(tool) {
            PendingCall::Running => (page.glyphs.working, Role::Working),
            PendingCall::Waiting => (page.glyphs.sleeping, Role::Waiting),
            PendingCall::Final => (page.glyphs.folded, Role::Tool),
        },
        Some(result) if result.is_error => (page.glyphs.failed, Role::Error),
        Some(_) if shown_name(&tool.name) == "send_message" => (page.glyphs.arrow_right, Role::Message),
        Some(_) if page.unfolded => (page.glyphs.unfolded, Role::Ok),
        Some(_) => (page.glyphs.passed, Role::Ok),
    };
    let mut left = vec![Span::new(verb(&tool.name).into_owned(), Role::ToolName), Span::new("  ", Role::Tool)];
    left.push(Span::new(subject(tool), Role::Tool));
    let mut rows = one_line(sign, role, left, note(tool), page);
    if page.unfolded {
        rows.extend(gutter(body(tool, page), page.glyphs.tree_down, Role::Faint));
        bar(&mut rows, page);
    } else if tool.result.is_none() && !tool.output.text.is_empty() {
        rows.extend(gutter(last_output(&tool.output.text, LIVE_ROWS, page), page.glyphs.tree_down, Role::Faint));
        bar(&mut rows, page);
    } else if let Some(result) = tool.result.as_ref().filter(|result| result.is_error) {
        // Show the last line of an error without unfolding.
        let words = content(result);
        let line = words.trim().lines().next_back().unwrap_or_default();
        rows.extend(one_line(
            " ",
            Role::Text,
            vec![Span::new(sanitize::line(text::prefix(line, ROW)).into_owned(), Role::Error)],
            Vec::new(),
            page,
        ));
    }
    rows
}

/// Draws the guide line beside the rows below a tool call.
fn bar(rows: &mut [Row], page: &Page<'_>) {
    for row in rows.iter_mut().skip(1) {
        if let Some(sign) = row.spans.get_mut(1) {
            *sign = Span::decoration(page.glyphs.tree_down, Role::Faint);
        }
    }
}

fn body(tool: &ToolEntry, page: &Page<'_>) -> Vec<Row> {
    if let Some(diff) = edited(tool) {
        let rows = DiffRows::new(&diff, DiffOptions::new(markdown_page(page)));
        return rows.rows(&diff, 0, rows.len().min(MAX_ROWS));
    }
    let mut rows = Vec::new();
    if let Some(asked) = &tool.asked {
        if let Some(malformed) = &asked.malformed {
            rows.extend(long_text(malformed, Role::Error, page));
        } else if let Some(command) = field(asked.input.as_str(), "command").filter(|command| command.contains('\n')) {
            rows.extend(long_text(&command, Role::Text, page));
        } else if !is_known(&tool.name) {
            rows.extend(long_prose(&arguments(asked.input.as_str()), Role::Muted, page));
        }
    }
    match (&tool.full, &tool.result) {
        (Some(full), _) => rows.extend(tool_output(full, page)),
        (None, Some(result)) => {
            let words = content(result);
            // Matrix's own tools answer in sentences.
            let sentences = !is_known(&tool.name) && !shown_name(&tool.name).contains('/');
            rows.extend(if sentences {
                long_prose(words.trim_end(), Role::Output, page)
            } else {
                tool_output(words.trim_end(), page)
            });
            // The old content of the file is not known here, only the new one.
            let written = tool.asked.as_ref().filter(|_| shown_name(&tool.name) == "write_file" && !result.is_error);
            if let Some(content) = written.and_then(|asked| field(asked.input.as_str(), "content")) {
                rows.extend(long_text(text::prefix(&content, CREATED), Role::Text, page));
            }
            if let Some(blob) = tool.blob() {
                let more =
                    format!("{} {} in all: open the pager to see it", page.glyphs.ellipsis, text::size(blob.bytes));
                rows.push(Row::new(vec![Span::decoration(more, Role::Faint)]));
            }
        }
        (None, None) => {
            if tool.output.dropped > 0 {
                let gone = format!("{} {} earlier", page.glyphs.ellipsis, text::size(tool.output.dropped));
                rows.push(Row::new(vec![Span::decoration(gone, Role::Faint)]));
            }
            rows.extend(tool_output(tool.output.text.trim_end(), page));
        }
    }
    if rows.is_empty() {
        rows.push(Row::new(vec![Span::decoration("no output", Role::Faint)]));
    }
    rows
}

pub fn content(result: &ToolResult) -> Cow<'_, str> {
    match &result.content {
        Content::Text { text } => Cow::Borrowed(text),
        Content::Blob(blob) => Cow::Owned(format!("{} in a separate file", text::size(blob.bytes))),
    }
}

/// Returns the note on the right: the essential result, then the time, which all calls have in the same column.
fn note(tool: &ToolEntry) -> Vec<Span> {
    let Some(result) = &tool.result else { return Vec::new() };
    let mut spans = Vec::new();
    if let Some(diff) = edited(tool) {
        spans.push(Span::decoration(format!("+{}", diff.added), Role::DiffPlus));
        spans.push(Span::decoration(format!(" -{}", diff.removed), Role::DiffMinus));
    } else if let Some(background) = &result.background {
        spans.push(Span::decoration(format!("background {}", background.id), Role::Waiting));
    } else {
        let input = tool.asked.as_ref().map_or("{}", |asked| asked.input.as_str());
        let summary = result_summary::summary(&shown_name(&tool.name), input, &content(result));
        let role = if result.is_error { Role::Error } else { Role::Muted };
        spans.extend(summary.map(|words| Span::decoration(sanitize::line(&words).into_owned(), role)));
    }
    // A call that was answered without running has no time.
    if result.duration_ms > 0 {
        let time = format!("{:>TIME$}", labels::duration(result.duration_ms));
        spans.push(Span::decoration(time, Role::Faint));
    }
    spans
}

/// Returns the diff of an edit: from its result, or all lines of a new file.
fn edited(tool: &ToolEntry) -> Option<FileDiff> {
    let result = tool.result.as_ref().filter(|result| !result.is_error)?;
    let name = shown_name(&tool.name);
    if !matches!(name.as_ref(), "edit_file" | "write_file") {
        return None;
    }
    let words = content(result);
    if name == "write_file" && words.starts_with("Created ") {
        return created(tool);
    }
    let start = words.find("\n--- ")?;
    diff::parse(&words[start + 1..]).into_iter().next()
}

fn created(tool: &ToolEntry) -> Option<FileDiff> {
    let input = tool.asked.as_ref()?.input.as_str();
    let (path, content) = (field(input, "path")?, field(input, "content")?);
    let shown = diff::between(&path, "", text::prefix(&content, CREATED), 0);
    Some(FileDiff { added: content.lines().count(), removed: 0, ..shown })
}

/// Returns the readable part of a tool's name: `bash`, or `server/tool`.
pub fn shown_name(wire: &str) -> Cow<'_, str> {
    let split = wire.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    match split {
        Some(("mxd", name)) => sanitize::line(name),
        Some((server, name)) => Cow::Owned(sanitize::line(&format!("{server}/{name}")).into_owned()),
        None => sanitize::line(wire),
    }
}

/// Returns the verb shown for a tool.
pub fn verb(wire: &str) -> Cow<'_, str> {
    let name = shown_name(wire);
    match name.as_ref() {
        "edit_file" => "edit".into(),
        "write_file" => "write".into(),
        "read_file" => "read".into(),
        "list_files" => "list".into(),
        "create_task" => "new task".into(),
        "send_message" => "to".into(),
        "yield" => "wait".into(),
        _ => name,
    }
}

fn is_known(name: &str) -> bool {
    const KNOWN: [&str; 7] = ["bash", "background", "edit_file", "write_file", "read_file", "search", "list_files"];
    KNOWN.contains(&shown_name(name).as_ref())
}

/// Formats the arguments of a call, one name and value per line.
fn arguments(input: &str) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str(input) else { return input.to_owned() };
    let line = |(name, value): (&String, &Value)| match value {
        Value::String(text) if text.trim_end().contains('\n') => format!("{name}:\n{}", text.trim_end()),
        Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    };
    fields.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn field(input: &str, name: &str) -> Option<String> {
    let value: Value = serde_json::from_str(input).ok()?;
    value.get(name)?.as_str().map(str::to_owned)
}

/// Returns the title of the task that a message was sent to, from the result.
fn recipient(tool: &ToolEntry) -> Option<String> {
    let text = content(tool.result.as_ref()?);
    let (title, _) = text.strip_prefix("Sent to \"")?.rsplit_once("\".")?;
    Some(title.to_owned())
}

/// Returns a call in one line: what it does, and to what.
pub fn call_line(call: &ToolUse) -> String {
    format!("{} {}", verb(&call.name), call_subject(call, None)).trim_end().to_owned()
}

/// Returns the subject of a call in one line.
pub fn subject(tool: &ToolEntry) -> String {
    tool.asked.as_ref().map(|asked| call_subject(asked, recipient(tool))).unwrap_or_default()
}

fn call_subject(asked: &ToolUse, recipient: Option<String>) -> String {
    let Ok(input) = serde_json::from_str::<Value>(asked.input.as_str()) else { return String::new() };
    let text = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default();
    let line = match shown_name(&asked.name).as_ref() {
        "bash" => {
            let command = text("command").trim();
            let first = command.lines().next().unwrap_or_default();
            if command.lines().count() > 1 { format!("{first} …") } else { first.to_owned() }
        }
        "edit_file" | "write_file" => text("path").to_owned(),
        "read_file" => {
            let files = input.get("files").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let paths: Vec<_> = files.iter().filter_map(|file| file.get("path").and_then(Value::as_str)).collect();
            paths.join(", ")
        }
        "search" => match text("path") {
            "" => text("pattern").to_owned(),
            path => format!("{} in {path}", text("pattern")),
        },
        "list_files" => {
            let globs = input.get("globs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let globs: Vec<_> = globs.iter().filter_map(Value::as_str).collect();
            format!("{} {}", text("path"), globs.join(" ")).trim().to_owned()
        }
        "background" => format!("{} {}", text("action"), text("id")),
        "create_task" | "update_task" => text("title").to_owned(),
        "clarify" => text("question").to_owned(),
        "done" => text("status").to_owned(),
        "send_message" => {
            format!("{}  {}", recipient.unwrap_or_else(|| text("task").to_owned()), text("message"))
        }
        _ => tool_words::brief_arguments(&input),
    };
    // A command may be megabytes; only one row of it is visible.
    sanitize::line(text::prefix(&line, ROW)).into_owned()
}

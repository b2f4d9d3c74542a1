//! What a program reports during a session, read leniently: a missing or wrong field loses that field, and a kind that
//! this version does not know becomes [`Update::Unknown`].

use serde_json::Value;

use crate::base::{Json, MicroUsd};
use crate::model::backend::PlanEntry;
use crate::model::usage::Tokens;

/// An update of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// Text of the agent. `message` changes between messages.
    Text {
        text: String,
        message: Option<String>,
    },
    Thought {
        text: String,
        message: Option<String>,
    },
    /// A tool call began or changed.
    Call(Box<CallUpdate>),
    Plan(Vec<PlanEntry>),
    Usage(UsageUpdate),
    Mode(String),
    /// Options of the session, as they are now.
    Options(Value),
    Notice(String),
    /// A kind that says nothing that is kept: repeated user text, commands, titles.
    Ignored,
    Unknown {
        kind: String,
        raw: Json,
    },
}

/// The state of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStatus {
    Pending,
    InProgress,
    Completed,
    Failed,
}

/// What an update says about a call. Absent fields did not change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallUpdate {
    pub id: String,
    pub title: Option<String>,
    pub name: Option<String>,
    /// `read`, `edit`, `execute` …
    pub kind: Option<String>,
    pub status: Option<CallStatus>,
    pub input: Option<Value>,
    pub output: Option<Value>,
    /// Text and diffs, in words.
    pub content: Option<String>,
    /// More output, to be added to what there is.
    pub output_delta: Option<String>,
    /// The files that the call concerns.
    pub paths: Vec<String>,
    /// The command of the call, if a program puts it elsewhere than into the input.
    pub command: Option<String>,
}

/// Size of the context, and what the session has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UsageUpdate {
    pub used: Option<u64>,
    pub size: Option<u64>,
    pub cost: Option<MicroUsd>,
    /// The tokens of one request.
    pub tokens: Option<Tokens>,
}

impl Update {
    /// Reads the `update` of a `session/update`.
    pub fn read(update: &Value) -> Self {
        let kind = text(update, "sessionUpdate").unwrap_or_default();
        let message = text(update, "messageId");
        match kind.as_str() {
            "agent_message_chunk" => match chunk(update) {
                Some(text) if text.is_empty() => {
                    match update.get("_meta").and_then(|meta| tokens(meta.get("usage")?)) {
                        Some(tokens) => Self::Usage(UsageUpdate { tokens: Some(tokens), ..UsageUpdate::default() }),
                        None => Self::Ignored,
                    }
                }
                Some(text) => Self::Text { text, message },
                None => Self::Ignored,
            },
            "agent_thought_chunk" => match chunk(update) {
                Some(text) => Self::Thought { text, message },
                None => Self::Ignored,
            },
            "tool_call" | "tool_call_update" => match CallUpdate::read(update) {
                Some(call) => Self::Call(Box::new(call)),
                None => Self::unknown(&kind, update),
            },
            "plan" => Self::Plan(plan(update)),
            "usage_update" => Self::Usage(UsageUpdate {
                used: update.get("used").and_then(Value::as_u64),
                size: update.get("size").and_then(Value::as_u64),
                cost: cost(update.get("cost")),
                tokens: None,
            }),
            "current_mode_update" => {
                text(update, "currentModeId").map_or_else(|| Self::unknown(&kind, update), Self::Mode)
            }
            "config_option_update" => Self::Options(update.get("configOptions").cloned().unwrap_or_default()),
            "notice" => {
                let said = text(update, "message").or_else(|| text(update, "text")).or_else(|| chunk(update));
                said.map_or_else(|| Self::unknown(&kind, update), Self::Notice)
            }
            "user_message_chunk" | "available_commands_update" | "session_info_update" => Self::Ignored,
            _ => Self::unknown(&kind, update),
        }
    }

    fn unknown(kind: &str, update: &Value) -> Self {
        let kind = if kind.is_empty() { "an update without a kind" } else { kind };
        Self::Unknown { kind: kind.to_owned(), raw: Json::of(update).unwrap_or_default() }
    }
}

/// Returns a string field that is not empty.
pub(super) fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Returns the text of a chunk, which is a content block or a list of them.
fn chunk(update: &Value) -> Option<String> {
    match update.get("content")? {
        Value::Array(blocks) => {
            let texts: Vec<String> = blocks.iter().filter_map(block_text).collect();
            (!texts.is_empty()).then(|| texts.concat())
        }
        block => block_text(block),
    }
}

/// Returns the text of a content block. Other blocks are named.
fn block_text(block: &Value) -> Option<String> {
    match block.get("type").and_then(Value::as_str) {
        Some("text") | None => block.get("text").and_then(Value::as_str).or_else(|| block.as_str()).map(str::to_owned),
        Some("resource_link") => text(block, "uri").map(|uri| format!("[{uri}]")),
        Some("resource") => block.get("resource").and_then(|resource| text(resource, "text")),
        Some(kind) => Some(format!("[{kind}]")),
    }
}

fn plan(update: &Value) -> Vec<PlanEntry> {
    let entries = update.get("entries").and_then(Value::as_array).into_iter().flatten();
    let entry = |entry: &Value| {
        Some(PlanEntry { content: text(entry, "content")?, status: text(entry, "status").unwrap_or_default() })
    };
    entries.filter_map(entry).collect()
}

fn cost(cost: Option<&Value>) -> Option<MicroUsd> {
    let cost = cost?;
    let is_dollars = text(cost, "currency").is_none_or(|currency| currency.eq_ignore_ascii_case("usd"));
    cost.get("amount").and_then(Value::as_f64).filter(|_| is_dollars).and_then(MicroUsd::from_dollars)
}

/// Reads the tokens of a request, a turn or a session. `None` if there are no counts.
pub fn tokens(usage: &Value) -> Option<Tokens> {
    let count = |names: &[&str]| names.iter().find_map(|name| usage.get(*name)?.as_u64());
    let input = count(&["inputTokens", "input_tokens", "promptTokens"]);
    let output = count(&["outputTokens", "output_tokens", "completionTokens"]);
    if input.is_none() && output.is_none() {
        return None;
    }
    let (input, output) = (input.unwrap_or_default(), output.unwrap_or_default());
    let read = count(&["cachedReadTokens", "cached_input_tokens", "cacheReadTokens"]).unwrap_or_default();
    let write = count(&["cachedWriteTokens", "cacheWriteTokens"]).unwrap_or_default();
    // Some programs count cached input twice. Their total gives it away.
    let is_included = count(&["totalTokens", "total_tokens"]).is_some_and(|total| total == input + output);
    let input = if is_included { input.saturating_sub(read + write) } else { input };
    Some(Tokens { input, output, cache_read: read, cache_write_5m: write, cache_write_1h: 0 })
}

impl CallUpdate {
    /// Reads a tool call. `None` if it has no id.
    pub fn read(call: &Value) -> Option<Self> {
        let id = text(call, "toolCallId").or_else(|| Some(call.get("toolCallId")?.as_u64()?.to_string()))?;
        let content = call.get("content").and_then(Value::as_array);
        let mut paths: Vec<String> = Vec::new();
        let locations = call.get("locations").and_then(Value::as_array).into_iter().flatten();
        let diffs = content.into_iter().flatten().filter(|item| text(item, "type").as_deref() == Some("diff"));
        for path in locations.chain(diffs).filter_map(|item| text(item, "path")) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        let meta = call.get("_meta");
        let delta = meta.and_then(|meta| {
            let delta = meta.get("terminal_output_delta").or_else(|| meta.get("terminal_output"))?;
            text(delta, "data").or_else(|| delta.as_str().map(str::to_owned))
        });
        Some(Self {
            id,
            title: text(call, "title"),
            name: text(call, "name").or_else(|| tool_name(meta?)),
            kind: text(call, "kind"),
            status: match call.get("status").and_then(Value::as_str) {
                Some("pending") => Some(CallStatus::Pending),
                Some("in_progress") => Some(CallStatus::InProgress),
                Some("completed") => Some(CallStatus::Completed),
                Some("failed" | "cancelled") => Some(CallStatus::Failed),
                Some(_) | None => None,
            },
            input: call.get("rawInput").filter(|input| !is_blank(input)).cloned(),
            output: call.get("rawOutput").filter(|output| !is_blank(output)).cloned(),
            content: content.map(|items| items.iter().filter_map(item_text).collect::<Vec<_>>().join("\n")),
            output_delta: delta,
            paths,
            command: None,
        })
    }

    /// Takes over what a later update says.
    pub fn merge(&mut self, later: Self) {
        let Self { id: _, title, name, kind, status, input, output, content, output_delta, paths, command } = later;
        take(&mut self.title, title);
        take(&mut self.name, name);
        take(&mut self.kind, kind);
        take(&mut self.status, status);
        take(&mut self.input, input);
        take(&mut self.output, output);
        take(&mut self.content, content.filter(|content| !content.is_empty()));
        take(&mut self.command, command);
        if let Some(delta) = output_delta {
            self.output_delta.get_or_insert_default().push_str(&delta);
        }
        if !paths.is_empty() {
            self.paths = paths;
        }
    }

    /// Returns the command of a call that runs one.
    pub fn command(&self) -> Option<String> {
        if let Some(command) = &self.command {
            return Some(command.clone());
        }
        let input = self.input.as_ref()?;
        match input.get("command").or_else(|| input.get("cmd"))? {
            Value::String(command) => Some(command.clone()),
            Value::Array(words) => {
                let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                // A shell with a script: the script is the command.
                match words.as_slice() {
                    [shell, flag, script] if flag.starts_with('-') && shell.ends_with("sh") => {
                        Some((*script).to_owned())
                    }
                    [] => None,
                    words => Some(words.join(" ")),
                }
            }
            _ => None,
        }
    }

    /// Returns the output of the call as text.
    pub fn result_text(&self) -> String {
        if let Some(content) = self.content.as_ref().filter(|content| !content.trim().is_empty()) {
            return content.clone();
        }
        if let Some(delta) = self.output_delta.as_ref().filter(|delta| !delta.is_empty()) {
            return delta.clone();
        }
        match &self.output {
            Some(Value::String(text)) => text.clone(),
            Some(output) => {
                let known = ["output", "stdout", "formatted_output", "aggregated_output", "content", "text", "error"];
                let found = known.into_iter().find_map(|name| output.get(name)?.as_str());
                found.map_or_else(|| output.to_string(), str::to_owned)
            }
            None => String::new(),
        }
    }
}

fn take<T>(own: &mut Option<T>, later: Option<T>) {
    if later.is_some() {
        *own = later;
    }
}

fn is_blank(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}

/// Returns the name of a tool that a program puts into its own part of `_meta`.
fn tool_name(meta: &Value) -> Option<String> {
    let vendors = meta.as_object()?.values();
    text(meta, "toolName").or_else(|| vendors.into_iter().find_map(|vendor| text(vendor, "toolName")))
}

/// Returns a part of a call's content in words.
fn item_text(item: &Value) -> Option<String> {
    match item.get("type").and_then(Value::as_str)? {
        "content" => block_text(item.get("content")?),
        "diff" => Some(format!("changed {}", text(item, "path").unwrap_or_default())),
        "terminal" => None,
        _ => block_text(item),
    }
}

#[cfg(test)]
#[path = "update_tests.rs"]
mod tests;

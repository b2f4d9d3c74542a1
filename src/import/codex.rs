//! Sessions of Codex: `sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`.
//!
//! Each line is `{timestamp, type, payload}`. The conversation is in the `response_item` lines; the `event_msg` lines
//! repeat it for the UI. The first versions wrote the items without a wrapper, after a line about the session.

use std::path::Path;

use serde_json::Value;

use crate::base::{Json, Timestamp};
use crate::import::claude::title_from_items;
use crate::import::item::{ItemKind, SessionItem};
use crate::import::lines::JsonLines;
use crate::import::value;
use crate::import::{ForeignSession, Origin};

/// Prefixes of texts that the program added to the conversation.
const PREAMBLES: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<turn_aborted>",
    "<skills_instructions>",
    "# AGENTS.md instructions",
];

pub fn session(path: &Path, read: &JsonLines) -> Option<ForeignSession> {
    let mut session = ForeignSession {
        origin: Origin::Codex,
        session: String::new(),
        title: String::new(),
        description: String::new(),
        cwd: None,
        started: Timestamp::EPOCH,
        parent: None,
        path: path.to_owned(),
        bytes: read.bytes,
        items: Vec::new(),
        left_out: read.bad,
    };
    let mut now = Timestamp::EPOCH;
    let own_start = own_start(&read.values);
    for line in read.values.iter().filter(|line| is_own(line, own_start)) {
        now = value::timestamp(line, "timestamp").unwrap_or(now);
        let payload = line.get("payload").unwrap_or(line);
        match value::text(line, "type") {
            Some("session_meta") => read_meta(&mut session, payload, now),
            Some("response_item") => add_item(&mut session, payload, now),
            Some("compacted") => add_compaction(&mut session, payload, now),
            Some("event_msg") => add_event(&mut session, payload, now),
            Some("turn_context") => {
                session.cwd = session.cwd.take().or_else(|| value::non_blank(payload, "cwd").map(Into::into));
            }
            // An item without a wrapper, or an unknown kind.
            Some(_) if line.get("payload").is_none() => add_item(&mut session, line, now),
            None if value::text(line, "record_type").is_some() => {}
            None if session.session.is_empty() && value::text(line, "id").is_some() => {
                read_meta(&mut session, line, now);
            }
            Some(_) | None => session.left_out += 1,
        }
    }
    if session.session.is_empty() {
        session.session = path.file_stem()?.to_string_lossy().into_owned();
    }
    session.title = title_from_items(&session.items).unwrap_or_else(|| "Untitled session".to_owned());
    if session.started == Timestamp::EPOCH {
        session.started = session.items.first().map_or(Timestamp::EPOCH, |item| item.at);
    }
    Some(session)
}

/// Returns the ordinal of the first line of a sub-agent's own session. Earlier lines are a copy of its parent's.
fn own_start(lines: &[Value]) -> Option<u64> {
    let meta = lines.iter().find(|line| value::text(line, "type") == Some("session_meta"))?;
    value::number(meta.get("payload")?, "subagent_history_start_ordinal")
}

fn is_own(line: &Value, from: Option<u64>) -> bool {
    let is_copied = |from| value::number(line, "ordinal").is_some_and(|ordinal| ordinal < from);
    value::text(line, "type") == Some("session_meta") || !from.is_some_and(is_copied)
}

/// Reads the metadata. A resumed session repeats the metadata of the earlier one, so only the first line counts.
fn read_meta(session: &mut ForeignSession, meta: &Value, now: Timestamp) {
    if !session.session.is_empty() {
        return;
    }
    value::non_blank(meta, "id").unwrap_or_default().clone_into(&mut session.session);
    session.started = value::timestamp(meta, "timestamp").unwrap_or(now);
    session.cwd = value::non_blank(meta, "cwd").map(Into::into);
    let spawned = meta.get("source").and_then(|source| source.get("subagent")).and_then(|sub| sub.get("thread_spawn"));
    session.parent = spawned.and_then(|spawn| value::non_blank(spawn, "parent_thread_id")).map(str::to_owned);
}

/// Returns the working directory from the prompt. The first versions stored it nowhere else.
pub fn announced_folder(item: &Value) -> Option<&str> {
    let item = item.get("payload").unwrap_or(item);
    let texts = item.get("content").map_or(&[][..], value::list).iter().filter_map(|part| value::text(part, "text"));
    texts.filter(|text| text.trim_start().starts_with("<environment_context>")).find_map(|text| {
        let tagged = text.split_once("<cwd>").and_then(|(_, rest)| rest.split_once("</cwd>")).map(|(cwd, _)| cwd);
        let named = || text.lines().find_map(|line| line.trim().strip_prefix("Current working directory:"));
        tagged.or_else(named).map(str::trim).filter(|cwd| !cwd.is_empty())
    })
}

fn add_item(session: &mut ForeignSession, item: &Value, at: Timestamp) {
    session.cwd = session.cwd.take().or_else(|| announced_folder(item).map(Into::into));
    let call = || value::non_blank(item, "call_id").or_else(|| value::non_blank(item, "id")).map(str::to_owned);
    let kind = match value::text(item, "type") {
        Some("message") => message(item),
        Some("reasoning") => thinking(item),
        Some("function_call") => call().map(|call| ItemKind::Call {
            call,
            name: value::non_blank(item, "name").unwrap_or("function").to_owned(),
            input: arguments(value::text(item, "arguments").unwrap_or_default()),
        }),
        Some("custom_tool_call") => call().map(|call| ItemKind::Call {
            call,
            name: value::non_blank(item, "name").unwrap_or("tool").to_owned(),
            input: wrapped(value::text(item, "input").unwrap_or_default()),
        }),
        Some("local_shell_call") => call().map(|call| ItemKind::Call {
            call,
            name: "local_shell".to_owned(),
            input: value::input(item.get("action")),
        }),
        Some("function_call_output" | "custom_tool_call_output") => call().map(|call| result(call, item)),
        Some("web_search_call" | "ghost_snapshot" | "compaction" | "compaction_summary" | "other") => None,
        Some(_) | None => {
            session.left_out += 1;
            None
        }
    };
    session.items.extend(kind.map(|kind| SessionItem { at, kind }));
}

fn message(item: &Value) -> Option<ItemKind> {
    let content = item.get("content")?;
    let texts = value::list(content).iter().filter_map(|part| value::non_blank(part, "text"));
    let text = content.as_str().map_or_else(|| texts.collect::<Vec<_>>().join("\n\n"), str::to_owned);
    match value::text(item, "role")? {
        "assistant" => (!text.trim().is_empty()).then_some(ItemKind::AssistantText(text)),
        "user" => {
            if PREAMBLES.iter().any(|preamble| text.trim_start().starts_with(preamble)) {
                return None;
            }
            let pictures = value::list(content).iter().filter_map(|part| value::text(part, "image_url"));
            let pictures: Vec<_> = pictures.filter_map(value::picture_of_url).collect();
            (!text.trim().is_empty() || !pictures.is_empty()).then_some(ItemKind::UserMessage { text, pictures })
        }
        // The program's own instructions.
        _ => None,
    }
}

/// Returns the readable part of the reasoning. The encrypted part is skipped.
fn thinking(item: &Value) -> Option<ItemKind> {
    let parts = |key: &str| item.get(key).map_or(&[][..], value::list);
    let texts = parts("summary").iter().chain(parts("content")).filter_map(|part| value::non_blank(part, "text"));
    let text = texts.collect::<Vec<_>>().join("\n\n");
    (!text.is_empty()).then_some(ItemKind::Thinking(text))
}

/// Returns the arguments of a call. Anything but an object is wrapped in one.
fn arguments(text: &str) -> Json {
    match serde_json::from_str::<Value>(text) {
        Ok(value) if value.is_object() => Json::parse(text).unwrap_or_default(),
        Ok(_) | Err(_) => wrapped(text),
    }
}

fn wrapped(text: &str) -> Json {
    if text.is_empty() { Json::object() } else { Json::of(&serde_json::json!({ "input": text })).unwrap_or_default() }
}

fn result(call: String, item: &Value) -> ItemKind {
    let output = item.get("output").unwrap_or(&Value::Null);
    let (mut text, mut pictures) = (String::new(), Vec::new());
    let is_error = match output {
        Value::String(raw) => match serde_json::from_str::<Value>(raw) {
            // Some versions store the output of a command as JSON text.
            Ok(inner) if inner.get("metadata").is_some() && value::text(&inner, "output").is_some() => {
                value::text(&inner, "output").unwrap_or_default().clone_into(&mut text);
                let code = inner.get("metadata").and_then(|meta| meta.get("exit_code")).and_then(Value::as_i64);
                code.is_some_and(|code| code != 0)
            }
            Ok(_) | Err(_) => {
                // Others start it with the exit code.
                let code =
                    raw.strip_prefix("Exit code: ").and_then(|rest| rest.lines().next()?.trim().parse::<i64>().ok());
                text.clone_from(raw);
                code.is_some_and(|code| code != 0)
            }
        },
        output => {
            let content = output.get("content").unwrap_or(output);
            let parts = value::list(content).iter().filter_map(|part| value::text(part, "text"));
            text = content.as_str().map_or_else(|| parts.collect::<Vec<_>>().join("\n"), str::to_owned);
            let images = value::list(content).iter().filter_map(|part| value::text(part, "image_url"));
            pictures = images.filter_map(value::picture_of_url).collect();
            output.get("success").and_then(Value::as_bool) == Some(false)
        }
    };
    ItemKind::Result { call, text, is_error, pictures }
}

fn add_compaction(session: &mut ForeignSession, payload: &Value, at: Timestamp) {
    let written = value::non_blank(payload, "message").map(str::to_owned);
    let summary = written.or_else(|| {
        let history = payload.get("replacement_history").map_or(&[][..], value::list);
        let texts = history.iter().filter_map(|item| match message(item)? {
            ItemKind::UserMessage { text, .. } | ItemKind::AssistantText(text) => Some(text),
            _ => None,
        });
        Some(texts.collect::<Vec<_>>().join("\n\n")).filter(|text| !text.is_empty())
    });
    session.items.extend(summary.map(|summary| SessionItem { at, kind: ItemKind::Compaction { summary, tokens: 0 } }));
}

fn add_event(session: &mut ForeignSession, event: &Value, at: Timestamp) {
    match value::text(event, "type") {
        // The user rewound this many of their messages.
        Some("thread_rolled_back") => {
            let turns = value::number(event, "num_turns").and_then(|turns| usize::try_from(turns).ok()).unwrap_or(0);
            let messages =
                session.items.iter().enumerate().filter(|(_, item)| matches!(item.kind, ItemKind::UserMessage { .. }));
            let indices: Vec<usize> = messages.map(|(index, _)| index).collect();
            if turns > 0 {
                let keep = indices.len().checked_sub(turns).map_or(0, |first| indices[first]);
                session.items.truncate(keep);
            }
        }
        Some("error" | "stream_error") => {
            let words = value::non_blank(event, "message").map(str::to_owned);
            session.items.extend(words.map(|words| SessionItem { at, kind: ItemKind::Error(words) }));
        }
        _ => {}
    }
}

#[cfg(test)]
#[path = "codex_tests.rs"]
mod tests;

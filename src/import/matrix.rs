//! Sessions of Matrix's first version: `projects/<id>/plugin/matrix/tasks/<task>.jsonl`, with `tree.json` beside the
//! folder.
//!
//! Events form a chain by `eid` and `parentEid`, like ours; older files have no chain and are read from top to bottom.
//! The text between the start of a compaction and its marker is the summary.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use serde_json::Value;

use crate::base::{Timestamp, text};
use crate::import::claude::title_from_items;
use crate::import::item::{ItemKind, SessionItem};
use crate::import::lines::JsonLines;
use crate::import::value;
use crate::import::{ForeignSession, Origin};

/// Events that are not part of the conversation.
const IGNORED: &[&str] = &[
    "messages_consumed",
    "session_config",
    "usage",
    "fork_marker",
    "agent_start",
    "agent_end",
    "status",
    "budget_warning",
    "clarification_timeout",
    "clarification_answered",
    "agent_idle",
    "agent_active",
];

pub fn session(path: &Path, read: &JsonLines) -> Option<ForeignSession> {
    let name = path.file_stem()?.to_string_lossy().into_owned();
    let chain = on_chain(&read.values);
    let mut items = Vec::new();
    let (mut unknown, mut open_summary) = (0, None::<String>);
    // Messages during a compaction are not part of the summary, and follow it.
    let mut pending = Vec::new();
    for event in &chain {
        let at = value::timestamp(event, "ts").unwrap_or(Timestamp::EPOCH);
        let kind = match value::text(event, "type") {
            Some("compact_started") => {
                open_summary = Some(String::new());
                None
            }
            Some("compact_marker") => {
                let summary = open_summary.take().filter(|summary| !summary.trim().is_empty());
                summary.map(|summary| ItemKind::Compaction { summary, tokens: 0 })
            }
            Some("assistant_text") => {
                let words = value::non_blank(event, "content").map(str::to_owned);
                match (open_summary.as_mut(), words) {
                    (Some(summary), Some(words)) => {
                        summary.push_str(&words);
                        None
                    }
                    (None, words) => words.map(ItemKind::AssistantText),
                    (Some(_), None) => None,
                }
            }
            Some("thinking") if open_summary.is_some() || value::is(event, "redacted") => None,
            Some("thinking") => value::non_blank(event, "thinking").map(|words| ItemKind::Thinking(words.to_owned())),
            Some("message") if open_summary.is_some() => {
                pending.extend(message(event).map(|kind| SessionItem { at, kind }));
                None
            }
            Some("message") => message(event),
            Some("tool_call") => call(event),
            Some("tool_result") => result(event),
            Some("error") => value::non_blank(event, "message").map(|words| ItemKind::Error(words.to_owned())),
            Some("clarification_requested") => {
                let parts = ["title", "question", "body"].iter().filter_map(|key| value::non_blank(event, key));
                Some(ItemKind::AssistantText(parts.collect::<Vec<_>>().join("\n\n")))
            }
            Some("done_notified") => {
                value::non_blank(event, "result").map(|words| ItemKind::AssistantText(words.to_owned()))
            }
            Some(kind) if IGNORED.contains(&kind) => None,
            Some(_) | None => {
                unknown += 1;
                None
            }
        };
        items.extend(kind.map(|kind| SessionItem { at, kind }));
        if open_summary.is_none() {
            items.append(&mut pending);
        }
    }
    // An unfinished summary becomes the agent's last text.
    let last = chain.last().and_then(|event| value::timestamp(event, "ts")).unwrap_or(Timestamp::EPOCH);
    let rest = open_summary.filter(|summary| !summary.trim().is_empty());
    items.extend(rest.map(|summary| SessionItem { at: last, kind: ItemKind::AssistantText(summary) }));
    items.append(&mut pending);

    let nodes = nodes_beside(path);
    let node = node_of(&nodes, &name);
    let titled = node.and_then(|node| value::non_blank(node, "title")).map(|title| text::headline(title, 120));
    Some(ForeignSession {
        origin: Origin::Matrix,
        title: titled.or_else(|| title_from_items(&items)).unwrap_or_else(|| format!("Task {name}")),
        description: node.and_then(|node| value::text(node, "description")).unwrap_or_default().to_owned(),
        cwd: node
            .and_then(|node| value::non_blank(node, "worktreePath").or_else(|| value::non_blank(node, "cwd")))
            .map(Into::into),
        started: chain.iter().filter_map(|event| value::timestamp(event, "ts")).min().unwrap_or(Timestamp::EPOCH),
        parent: node.and_then(|node| parent_task(&nodes, node)).map(str::to_owned),
        session: name,
        path: path.to_owned(),
        bytes: read.bytes,
        items,
        left_out: read.bad + unknown,
    })
}

/// Returns the nodes of the project's `tree.json`, or none if there is no such file.
fn nodes_beside(path: &Path) -> Vec<Value> {
    let read = || {
        let tree = path.parent()?.parent()?.join("tree.json");
        let tree: Value = serde_json::from_slice(&std::fs::read(tree).ok()?).ok()?;
        Some(value::list(tree.get("nodes")?).to_vec())
    };
    read().unwrap_or_default()
}

fn node_of<'a>(nodes: &'a [Value], name: &str) -> Option<&'a Value> {
    nodes.iter().find(|node| value::text(node, "id") == Some(name))
}

/// Returns the parent task of a node, skipping folders.
fn parent_task<'a>(nodes: &'a [Value], node: &'a Value) -> Option<&'a str> {
    let mut parent = value::non_blank(node, "parentId")?;
    // Bounded, because the parents may form a cycle.
    for _ in 0..nodes.len() {
        match node_of(nodes, parent).filter(|node| value::text(node, "type").is_some_and(|kind| kind != "task")) {
            Some(folder) => parent = value::non_blank(folder, "parentId")?,
            None => break,
        }
    }
    Some(parent)
}

/// Returns the events on the active chain, including those before compactions, oldest first.
fn on_chain(events: &[Value]) -> Vec<&Value> {
    let indices: HashMap<&str, usize> =
        events.iter().enumerate().filter_map(|(at, event)| Some((value::text(event, "eid")?, at))).collect();
    let mut chain = BTreeSet::new();
    let mut at = events.len().checked_sub(1);
    while let Some(index) = at.filter(|index| chain.insert(*index)) {
        at = match (value::text(&events[index], "parentEid"), index.checked_sub(1)) {
            (Some(parent), before) => indices.get(parent).copied().filter(|parent| *parent < index).or(before),
            // An old file without a chain.
            (None, before) => before.filter(|_| value::text(&events[index], "eid").is_none()),
        };
    }
    chain.into_iter().map(|index| &events[index]).collect()
}

fn message(event: &Value) -> Option<ItemKind> {
    let body = event.get("body")?;
    let pictures = || {
        let images = body.get("images").map_or(&[][..], value::list).iter();
        images
            .filter_map(|image| value::picture(value::text(image, "mediaType")?, value::text(image, "base64")?))
            .collect()
    };
    let relayed = |who: &str, key: &str| {
        let name = value::text(body, who).map(|name| format!("[{name}] ")).unwrap_or_default();
        value::non_blank(body, key)
            .map(|words| ItemKind::UserMessage { text: format!("{name}{words}"), pictures: Vec::new() })
    };
    match value::text(body, "source")? {
        "user" => {
            let text = value::text(body, "content").unwrap_or_default().to_owned();
            let pictures: Vec<_> = pictures();
            (!text.trim().is_empty() || !pictures.is_empty()).then_some(ItemKind::UserMessage { text, pictures })
        }
        "task_message" => relayed("fromTitle", "content"),
        "task_complete" => relayed("title", "output"),
        "cross_project" => relayed("fromProjectName", "content"),
        "clarify_response" => relayed("", "answer"),
        "background_complete" => relayed("command", "content"),
        _ => None,
    }
}

fn call(event: &Value) -> Option<ItemKind> {
    Some(ItemKind::Call {
        call: value::non_blank(event, "toolCallId")?.to_owned(),
        name: value::non_blank(event, "tool")?.to_owned(),
        input: value::input(event.get("input")),
    })
}

fn result(event: &Value) -> Option<ItemKind> {
    let content = event.get("content").unwrap_or(&Value::Null);
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        content => {
            let parts: Vec<_> = value::list(content).iter().filter_map(|part| value::text(part, "text")).collect();
            if parts.is_empty() { content.to_string() } else { parts.join("\n") }
        }
    };
    let images = event.get("images").map_or(&[][..], value::list).iter();
    Some(ItemKind::Result {
        call: value::non_blank(event, "toolCallId")?.to_owned(),
        text,
        is_error: value::is(event, "isError"),
        pictures: images
            .filter_map(|image| value::picture(value::text(image, "mediaType")?, value::text(image, "base64")?))
            .collect(),
    })
}

#[cfg(test)]
#[path = "matrix_tests.rs"]
mod tests;

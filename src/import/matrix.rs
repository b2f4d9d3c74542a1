//! Sessions of Matrix's first version: `projects/<id>/plugin/matrix/tasks/<task>.jsonl`, with `tree.json` beside the
//! folder.
//!
//! Events are a chain by `eid` and `parentEid`, as ours are; older files have none and are read from top to bottom.
//! What lies between the start of a compaction and its marker is the summary.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use serde_json::Value;

use crate::base::{Timestamp, text};
use crate::import::claude::first_words;
use crate::import::item::{Item, What};
use crate::import::lines::Read;
use crate::import::value;
use crate::import::{Foreign, Origin};

/// Events of the program's own life.
const SILENT: &[&str] = &[
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

/// Returns the session in a file.
pub fn session(path: &Path, read: &Read) -> Option<Foreign> {
    let name = path.file_stem()?.to_string_lossy().into_owned();
    let chain = on_chain(&read.values);
    let mut items = Vec::new();
    let (mut unknown, mut summing) = (0, None::<String>);
    // What is said while a summary is made is not in it: it stays, behind the summary.
    let mut meanwhile = Vec::new();
    for event in &chain {
        let at = value::moment(event, "ts").unwrap_or(Timestamp::EPOCH);
        let what = match value::text(event, "type") {
            Some("compact_started") => {
                summing = Some(String::new());
                None
            }
            Some("compact_marker") => {
                let summary = summing.take().filter(|summary| !summary.trim().is_empty());
                summary.map(|summary| What::Compacted { summary, tokens: 0 })
            }
            Some("assistant_text") => {
                let words = value::words(event, "content").map(str::to_owned);
                match (summing.as_mut(), words) {
                    (Some(summary), Some(words)) => {
                        summary.push_str(&words);
                        None
                    }
                    (None, words) => words.map(What::Said),
                    (Some(_), None) => None,
                }
            }
            Some("thinking") if summing.is_some() || value::is(event, "redacted") => None,
            Some("thinking") => value::words(event, "thinking").map(|words| What::Thought(words.to_owned())),
            Some("message") if summing.is_some() => {
                meanwhile.extend(heard(event).map(|what| Item { at, what }));
                None
            }
            Some("message") => heard(event),
            Some("tool_call") => call(event),
            Some("tool_result") => result(event),
            Some("error") => value::words(event, "message").map(|words| What::Failed(words.to_owned())),
            Some("clarification_requested") => {
                let parts = ["title", "question", "body"].iter().filter_map(|key| value::words(event, key));
                Some(What::Said(parts.collect::<Vec<_>>().join("\n\n")))
            }
            Some("done_notified") => value::words(event, "result").map(|words| What::Said(words.to_owned())),
            Some(kind) if SILENT.contains(&kind) => None,
            Some(_) | None => {
                unknown += 1;
                None
            }
        };
        items.extend(what.map(|what| Item { at, what }));
        if summing.is_none() {
            items.append(&mut meanwhile);
        }
    }
    // A summary that was never finished is what the agent said last.
    let last = chain.last().and_then(|event| value::moment(event, "ts")).unwrap_or(Timestamp::EPOCH);
    let rest = summing.filter(|summary| !summary.trim().is_empty());
    items.extend(rest.map(|summary| Item { at: last, what: What::Said(summary) }));
    items.append(&mut meanwhile);

    let nodes = nodes_beside(path);
    let node = node_of(&nodes, &name);
    let titled = node.and_then(|node| value::words(node, "title")).map(|title| text::headline(title, 120));
    Some(Foreign {
        origin: Origin::Matrix,
        title: titled.or_else(|| first_words(&items)).unwrap_or_else(|| format!("Task {name}")),
        description: node.and_then(|node| value::text(node, "description")).unwrap_or_default().to_owned(),
        cwd: node
            .and_then(|node| value::words(node, "worktreePath").or_else(|| value::words(node, "cwd")))
            .map(Into::into),
        started: chain.iter().filter_map(|event| value::moment(event, "ts")).min().unwrap_or(Timestamp::EPOCH),
        above: node.and_then(|node| task_above(&nodes, node)).map(str::to_owned),
        session: name,
        path: path.to_owned(),
        bytes: read.bytes,
        items,
        left_out: read.bad + unknown,
    })
}

/// Returns what the tree of that project has. A session that is alone is read alone.
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

/// Returns the task that a task is below. Folders in between only hold things together.
fn task_above<'a>(nodes: &'a [Value], node: &'a Value) -> Option<&'a str> {
    let mut above = value::words(node, "parentId")?;
    // No further than there are nodes: a circle must not hold anybody up.
    for _ in 0..nodes.len() {
        match node_of(nodes, above).filter(|node| value::text(node, "type").is_some_and(|kind| kind != "task")) {
            Some(folder) => above = value::words(folder, "parentId")?,
            None => break,
        }
    }
    Some(above)
}

/// Returns the events that the conversation goes through, past compactions, oldest first.
fn on_chain(events: &[Value]) -> Vec<&Value> {
    let places: HashMap<&str, usize> =
        events.iter().enumerate().filter_map(|(at, event)| Some((value::text(event, "eid")?, at))).collect();
    let mut chain = BTreeSet::new();
    let mut at = events.len().checked_sub(1);
    while let Some(place) = at.filter(|place| chain.insert(*place)) {
        at = match (value::text(&events[place], "parentEid"), place.checked_sub(1)) {
            (Some(parent), before) => places.get(parent).copied().filter(|above| *above < place).or(before),
            // A file from before there was a chain.
            (None, before) => before.filter(|_| value::text(&events[place], "eid").is_none()),
        };
    }
    chain.into_iter().map(|place| &events[place]).collect()
}

fn heard(event: &Value) -> Option<What> {
    let body = event.get("body")?;
    let pictures = || {
        let images = body.get("images").map_or(&[][..], value::list).iter();
        images
            .filter_map(|image| value::picture(value::text(image, "mediaType")?, value::text(image, "base64")?))
            .collect()
    };
    let told = |who: &str, key: &str| {
        let name = value::text(body, who).map(|name| format!("[{name}] ")).unwrap_or_default();
        value::words(body, key).map(|words| What::Heard { text: format!("{name}{words}"), pictures: Vec::new() })
    };
    match value::text(body, "source")? {
        "user" => {
            let text = value::text(body, "content").unwrap_or_default().to_owned();
            let pictures: Vec<_> = pictures();
            (!text.trim().is_empty() || !pictures.is_empty()).then_some(What::Heard { text, pictures })
        }
        "task_message" => told("fromTitle", "content"),
        "task_complete" => told("title", "output"),
        "cross_project" => told("fromProjectName", "content"),
        "clarify_response" => told("", "answer"),
        "background_complete" => told("command", "content"),
        _ => None,
    }
}

fn call(event: &Value) -> Option<What> {
    Some(What::Call {
        call: value::words(event, "toolCallId")?.to_owned(),
        name: value::words(event, "tool")?.to_owned(),
        input: value::input(event.get("input")),
    })
}

fn result(event: &Value) -> Option<What> {
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
    Some(What::Result {
        call: value::words(event, "toolCallId")?.to_owned(),
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

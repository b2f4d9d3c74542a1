//! Sessions of Claude Code: `projects/<folder>/<session>.jsonl`.
//!
//! Each line names its parent. One response is spread over several lines with the same message id, and the results of
//! parallel calls have different parents, so the walk back from the last line does not reach all of them: the lines of
//! a response on the chain are included as a whole. Rewound lines are skipped.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde_json::Value;

use crate::base::{Timestamp, text};
use crate::import::item::{ItemKind, Picture, SessionItem};
use crate::import::lines::JsonLines;
use crate::import::value;
use crate::import::{ForeignSession, Origin};

/// Lines that are not part of the conversation.
const IGNORED: &[&str] = &[
    "file-history-snapshot",
    "queue-operation",
    "progress",
    "last-prompt",
    "permission-mode",
    "attachment",
    "agent-name",
    "agent-color",
    "agent-setting",
    "pr-link",
    "mode",
    "tag",
    "worktree-state",
    "content-replacement",
    "summary",
    "custom-title",
    "ai-title",
    "system",
];

/// Returns the conversation in a file, and those of its sub-agents in the same file.
pub fn sessions(path: &Path, read: &JsonLines) -> Vec<ForeignSession> {
    let JsonLines { values, bad, bytes } = read;
    let (bad, bytes) = (*bad, *bytes);
    let mut seen = BTreeSet::new();
    let mut unknown = 0;
    let mut lines = Vec::new();
    for value in values {
        match value::text(value, "type") {
            Some("user" | "assistant") => {}
            Some("system") if value::text(value, "subtype") == Some("compact_boundary") => {}
            Some(kind) if IGNORED.contains(&kind) => continue,
            Some(_) | None => {
                unknown += 1;
                continue;
            }
        }
        // A line may be written twice.
        if value::text(value, "uuid").is_none_or(|uuid| seen.insert(uuid)) {
            lines.push(value);
        }
    }
    let links = links(values);
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let (side, main): (Vec<&Value>, Vec<&Value>) = lines.into_iter().partition(|line| value::is(line, "isSidechain"));
    let base = SessionFile { path, bytes, all: values, links };
    if main.is_empty() {
        // The file of a sub-agent: all of it is a side chain of the session that it names.
        let parent = side.iter().find_map(|line| value::text(line, "sessionId")).filter(|parent| *parent != stem);
        let mut session = base.session(stem, &side, unknown + bad);
        session.parent = parent.map(str::to_owned);
        return vec![session];
    }
    let mut all = vec![base.session(stem.clone(), &main, unknown + bad)];
    for (root, lines) in sub_agents(&side) {
        let mut session = base.session(format!("{stem}/{root}"), &lines, 0);
        session.title = title_from_items(&session.items).unwrap_or_else(|| "Sub-agent".to_owned());
        session.parent = Some(stem.clone());
        all.push(session);
    }
    all
}

struct SessionFile<'a> {
    path: &'a Path,
    bytes: u64,
    all: &'a [Value],
    links: Links<'a>,
}

impl SessionFile<'_> {
    fn session(&self, session: String, lines: &[&Value], left_out: usize) -> ForeignSession {
        let chain = on_chain(lines, &self.links);
        let items = items(&chain);
        let moments = lines.iter().filter_map(|line| value::timestamp(line, "timestamp"));
        let title = self.title().or_else(|| title_from_items(&items)).unwrap_or_else(|| "Untitled session".to_owned());
        ForeignSession {
            origin: Origin::Claude,
            session,
            title,
            description: String::new(),
            cwd: lines.iter().find_map(|line| value::non_blank(line, "cwd")).map(Into::into),
            started: moments.min().unwrap_or(Timestamp::EPOCH),
            parent: None,
            path: self.path.to_owned(),
            bytes: self.bytes,
            items,
            left_out,
        }
    }

    /// Returns the user's title, or the last generated one. A summary may be in another session's file: it belongs to
    /// the conversation whose last line it names.
    fn title(&self) -> Option<String> {
        let is_own = |line: &&Value| value::text(line, "leafUuid").is_none_or(|leaf| self.links.contains_key(leaf));
        let last = |kind: &str, key: &str| {
            let named = self.all.iter().filter(|line| value::text(line, "type") == Some(kind)).filter(is_own);
            named.filter_map(|line| value::non_blank(line, key)).next_back().map(|title| text::headline(title, 120))
        };
        last("custom-title", "customTitle")
            .or_else(|| last("ai-title", "aiTitle"))
            .or_else(|| last("summary", "summary"))
    }
}

/// The parent of each line, including ignored lines, which the chain may pass.
type Links<'a> = HashMap<&'a str, Option<&'a str>>;

fn links(lines: &[Value]) -> Links<'_> {
    let parent = |line| value::text(line, "parentUuid").or_else(|| value::text(line, "logicalParentUuid"));
    lines.iter().filter_map(|line| Some((value::text(line, "uuid")?, parent(line)))).collect()
}

/// Groups the lines of sub-agents by the first line of each.
fn sub_agents<'a>(side: &[&'a Value]) -> BTreeMap<String, Vec<&'a Value>> {
    let parents: HashMap<&str, Option<&str>> =
        side.iter().filter_map(|line| Some((value::text(line, "uuid")?, value::text(line, "parentUuid")))).collect();
    let root = |line: &Value| {
        if let Some(agent) = value::non_blank(line, "agentId") {
            return Some(agent.to_owned());
        }
        let mut at = value::text(line, "uuid")?;
        // Bounded, because the parents may form a cycle.
        for _ in 0..parents.len() {
            match parents.get(at).copied().flatten() {
                Some(parent) if parents.contains_key(parent) => at = parent,
                Some(_) | None => break,
            }
        }
        Some(at.to_owned())
    };
    let mut grouped: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for line in side {
        if let Some(root) = root(line) {
            grouped.entry(root).or_default().push(line);
        }
    }
    grouped
}

/// Returns the lines on the active chain, in file order.
fn on_chain<'a>(lines: &[&'a Value], links: &Links<'_>) -> Vec<&'a Value> {
    let places: HashMap<&str, usize> =
        lines.iter().enumerate().filter_map(|(at, line)| Some((value::text(line, "uuid")?, at))).collect();
    let mut chain = BTreeSet::new();
    let mut at = lines.len().checked_sub(1);
    while let Some(place) = at.filter(|place| chain.insert(*place)) {
        let mut parent =
            value::text(lines[place], "parentUuid").or_else(|| value::text(lines[place], "logicalParentUuid"));
        // Skip ignored lines. Bounded, because the parents may form a cycle.
        for _ in 0..links.len() {
            match parent.filter(|parent| !places.contains_key(parent)).and_then(|parent| links.get(parent)) {
                Some(further) => parent = *further,
                None => break,
            }
        }
        at = match parent {
            // If the parent is missing, the previous line in the file is the best guess.
            Some(parent) => places.get(parent).copied().or_else(|| place.checked_sub(1)),
            None => None,
        };
    }
    let message = |line: &'a Value| line.get("message").and_then(|message| value::text(message, "id"));
    let responses: BTreeSet<&str> = chain.iter().filter_map(|place| message(lines[*place])).collect();
    let with_response: BTreeSet<usize> = (0..lines.len())
        .filter(|place| chain.contains(place) || message(lines[*place]).is_some_and(|id| responses.contains(id)))
        .collect();
    let calls: BTreeSet<&str> = with_response
        .iter()
        .flat_map(|place| blocks(lines[*place]))
        .filter(|block| value::text(block, "type") == Some("tool_use"))
        .filter_map(|block| value::text(block, "id"))
        .collect();
    let answers = |line: &Value| {
        blocks(line).iter().any(|block| value::text(block, "tool_use_id").is_some_and(|call| calls.contains(call)))
    };
    (0..lines.len())
        .filter(|place| with_response.contains(place) || answers(lines[*place]))
        .map(|place| lines[place])
        .collect()
}

fn blocks(line: &Value) -> &[Value] {
    line.get("message").and_then(|message| message.get("content")).map_or(&[], value::list)
}

/// Returns the items of the lines. The parts of one response are grouped at the position of the first.
fn items(lines: &[&Value]) -> Vec<SessionItem> {
    let mut groups: Vec<Vec<SessionItem>> = Vec::new();
    let mut responses: HashMap<&str, usize> = HashMap::new();
    for line in lines {
        let at = value::timestamp(line, "timestamp").unwrap_or(Timestamp::EPOCH);
        let message = line.get("message").unwrap_or(&Value::Null);
        let kinds: Vec<ItemKind> = match value::text(line, "type") {
            Some("assistant") if value::is(line, "isApiErrorMessage") => {
                let words: Vec<_> = texts(message);
                words.into_iter().map(ItemKind::Error).collect()
            }
            Some("assistant") => response(message),
            Some("user") => user_message(line, message),
            _ => boundary(line),
        };
        let part = kinds.into_iter().map(|kind| SessionItem { at, kind });
        match value::text(message, "id").and_then(|id| responses.get(id)) {
            Some(group) => groups[*group].extend(part),
            None => {
                if let Some(id) = value::text(message, "id") {
                    responses.insert(id, groups.len());
                }
                groups.push(part.collect());
            }
        }
    }
    groups.into_iter().flatten().collect()
}

/// Returns the texts of a message, which is a string or a list of blocks.
fn texts(message: &Value) -> Vec<String> {
    match message.get("content") {
        Some(Value::String(text)) => vec![text.clone()],
        Some(content) => {
            let blocks = value::list(content).iter().filter(|block| value::text(block, "type") == Some("text"));
            blocks.filter_map(|block| value::non_blank(block, "text")).map(str::to_owned).collect()
        }
        None => Vec::new(),
    }
}

fn response(message: &Value) -> Vec<ItemKind> {
    let Some(content) = message.get("content") else { return Vec::new() };
    if let Some(text) = content.as_str() {
        return vec![ItemKind::AssistantText(text.to_owned())];
    }
    let block = |block: &Value| match value::text(block, "type")? {
        "text" => value::non_blank(block, "text").map(|text| ItemKind::AssistantText(text.to_owned())),
        "thinking" => value::non_blank(block, "thinking").map(|text| ItemKind::Thinking(text.to_owned())),
        "tool_use" => Some(ItemKind::Call {
            call: value::non_blank(block, "id")?.to_owned(),
            name: value::non_blank(block, "name")?.to_owned(),
            input: value::input(block.get("input")),
        }),
        _ => None,
    };
    value::list(content).iter().filter_map(block).collect()
}

fn user_message(line: &Value, message: &Value) -> Vec<ItemKind> {
    if value::is(line, "isCompactSummary") {
        return vec![ItemKind::Compaction { summary: texts(message).join("\n\n"), tokens: 0 }];
    }
    // A text of the program in the name of the user.
    if value::is(line, "isMeta") {
        return Vec::new();
    }
    let content = message.get("content").unwrap_or(&Value::Null);
    let mut items: Vec<ItemKind> = value::list(content).iter().filter_map(result).collect();
    let text = texts(message).join("\n\n");
    let pictures: Vec<_> = value::list(content).iter().filter_map(picture).collect();
    if !text.trim().is_empty() || !pictures.is_empty() {
        items.push(ItemKind::UserMessage { text, pictures });
    }
    items
}

fn result(block: &Value) -> Option<ItemKind> {
    if value::text(block, "type") != Some("tool_result") {
        return None;
    }
    let content = block.get("content").unwrap_or(&Value::Null);
    let text = match content {
        Value::String(text) => text.clone(),
        content => {
            let parts = value::list(content).iter().filter_map(|part| value::text(part, "text"));
            parts.collect::<Vec<_>>().join("\n")
        }
    };
    Some(ItemKind::Result {
        call: value::non_blank(block, "tool_use_id")?.to_owned(),
        text,
        is_error: value::is(block, "is_error"),
        pictures: value::list(content).iter().filter_map(picture).collect(),
    })
}

fn picture(block: &Value) -> Option<Picture> {
    if value::text(block, "type") != Some("image") {
        return None;
    }
    let source = block.get("source")?;
    value::picture(value::text(source, "media_type")?, value::text(source, "data")?)
}

/// Returns the compaction of a boundary line that holds the summary itself.
fn boundary(line: &Value) -> Vec<ItemKind> {
    let summary = value::non_blank(line, "summary").map(str::to_owned);
    let tokens = line.get("compactMetadata").and_then(|meta| value::number(meta, "preTokens")).unwrap_or(0);
    summary.map(|summary| ItemKind::Compaction { summary, tokens }).into_iter().collect()
}

/// Returns the start of the user's first message, as a title.
pub fn title_from_items(items: &[SessionItem]) -> Option<String> {
    items.iter().find_map(|item| match &item.kind {
        // A text that starts with a tag was not typed by the user.
        ItemKind::UserMessage { text, .. } if !text.trim_start().starts_with('<') => {
            Some(text::headline(text, 80)).filter(|title| !title.is_empty())
        }
        _ => None,
    })
}

#[cfg(test)]
#[path = "claude_tests.rs"]
mod tests;

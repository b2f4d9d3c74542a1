//! Sessions of Claude Code: `projects/<folder>/<session>.jsonl`.
//!
//! A line names the one it follows. One response is spread over several lines with the same message id, and the results
//! of calls that ran side by side hang on different lines, so the walk back from the last line does not meet them all:
//! what belongs to a response on the way is taken with it. What was rewound is left out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde_json::Value;

use crate::base::{Timestamp, text};
use crate::import::item::{Item, Picture, What};
use crate::import::lines::Read;
use crate::import::value;
use crate::import::{Foreign, Origin};

/// Lines that belong to the program and not to the conversation.
const SILENT: &[&str] = &[
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

/// Returns the conversation in a file, and those of the helpers it started that are kept in the same file.
pub fn sessions(path: &Path, read: &Read) -> Vec<Foreign> {
    let Read { values, bad, bytes } = read;
    let (bad, bytes) = (*bad, *bytes);
    let mut seen = BTreeSet::new();
    let mut unknown = 0;
    let mut lines = Vec::new();
    for value in values {
        match value::text(value, "type") {
            Some("user" | "assistant") => {}
            Some("system") if value::text(value, "subtype") == Some("compact_boundary") => {}
            Some(kind) if SILENT.contains(&kind) => continue,
            Some(_) | None => {
                unknown += 1;
                continue;
            }
        }
        // A line that was written twice is one line.
        if value::text(value, "uuid").is_none_or(|uuid| seen.insert(uuid)) {
            lines.push(value);
        }
    }
    let links = links(values);
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let (side, main): (Vec<&Value>, Vec<&Value>) = lines.into_iter().partition(|line| value::is(line, "isSidechain"));
    let base = Base { path, bytes, all: values, links };
    if main.is_empty() {
        // A file of a helper's own: all of it is a side chain, of the session that it names.
        let above = side.iter().find_map(|line| value::text(line, "sessionId")).filter(|above| *above != stem);
        let mut session = base.session(stem, &side, unknown + bad);
        session.above = above.map(str::to_owned);
        return vec![session];
    }
    let mut all = vec![base.session(stem.clone(), &main, unknown + bad)];
    for (root, lines) in helpers(&side) {
        let mut session = base.session(format!("{stem}/{root}"), &lines, 0);
        session.title = first_words(&session.items).unwrap_or_else(|| "Helper".to_owned());
        session.above = Some(stem.clone());
        all.push(session);
    }
    all
}

struct Base<'a> {
    path: &'a Path,
    bytes: u64,
    all: &'a [Value],
    links: Links<'a>,
}

impl Base<'_> {
    fn session(&self, session: String, lines: &[&Value], left_out: usize) -> Foreign {
        let taken = on_chain(lines, &self.links);
        let items = items(&taken);
        let moments = lines.iter().filter_map(|line| value::moment(line, "timestamp"));
        let title = self.title().or_else(|| first_words(&items)).unwrap_or_else(|| "Untitled session".to_owned());
        Foreign {
            origin: Origin::Claude,
            session,
            title,
            description: String::new(),
            cwd: lines.iter().find_map(|line| value::words(line, "cwd")).map(Into::into),
            started: moments.min().unwrap_or(Timestamp::EPOCH),
            above: None,
            path: self.path.to_owned(),
            bytes: self.bytes,
            items,
            left_out,
        }
    }

    /// Returns the name that the person gave, or else the one that the program made last. A summary may stand in another
    /// session's file: it is of the conversation whose last line it names.
    fn title(&self) -> Option<String> {
        let is_ours = |line: &&Value| value::text(line, "leafUuid").is_none_or(|leaf| self.links.contains_key(leaf));
        let last = |kind: &str, key: &str| {
            let named = self.all.iter().filter(|line| value::text(line, "type") == Some(kind)).filter(is_ours);
            named.filter_map(|line| value::words(line, key)).next_back().map(|title| text::headline(title, 120))
        };
        last("custom-title", "customTitle")
            .or_else(|| last("ai-title", "aiTitle"))
            .or_else(|| last("summary", "summary"))
    }
}

/// Which line each line follows, those of the program included: a conversation goes through them.
type Links<'a> = HashMap<&'a str, Option<&'a str>>;

fn links(lines: &[Value]) -> Links<'_> {
    let parent = |line| value::text(line, "parentUuid").or_else(|| value::text(line, "logicalParentUuid"));
    lines.iter().filter_map(|line| Some((value::text(line, "uuid")?, parent(line)))).collect()
}

/// Returns the lines of helpers by the line that each began with.
fn helpers<'a>(side: &[&'a Value]) -> BTreeMap<String, Vec<&'a Value>> {
    let parents: HashMap<&str, Option<&str>> =
        side.iter().filter_map(|line| Some((value::text(line, "uuid")?, value::text(line, "parentUuid")))).collect();
    let root = |line: &Value| {
        if let Some(agent) = value::words(line, "agentId") {
            return Some(agent.to_owned());
        }
        let mut at = value::text(line, "uuid")?;
        // No longer than there are lines: a circle must not hold anybody up.
        for _ in 0..parents.len() {
            match parents.get(at).copied().flatten() {
                Some(above) if parents.contains_key(above) => at = above,
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

/// Returns the lines that the conversation goes through, in the order of the file.
fn on_chain<'a>(lines: &[&'a Value], links: &Links<'_>) -> Vec<&'a Value> {
    let places: HashMap<&str, usize> =
        lines.iter().enumerate().filter_map(|(at, line)| Some((value::text(line, "uuid")?, at))).collect();
    let mut chain = BTreeSet::new();
    let mut at = lines.len().checked_sub(1);
    while let Some(place) = at.filter(|place| chain.insert(*place)) {
        let mut parent =
            value::text(lines[place], "parentUuid").or_else(|| value::text(lines[place], "logicalParentUuid"));
        // Over lines of the program, and no further than there are lines: a circle must not hold anybody up.
        for _ in 0..links.len() {
            match parent.filter(|parent| !places.contains_key(parent)).and_then(|parent| links.get(parent)) {
                Some(further) => parent = *further,
                None => break,
            }
        }
        at = match parent {
            // Behind a line that is gone, what stands before it in the file is the best guess.
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

/// Returns what the lines say. The parts of one response stand together, where its first part stood.
fn items(lines: &[&Value]) -> Vec<Item> {
    let mut groups: Vec<Vec<Item>> = Vec::new();
    let mut responses: HashMap<&str, usize> = HashMap::new();
    for line in lines {
        let at = value::moment(line, "timestamp").unwrap_or(Timestamp::EPOCH);
        let message = line.get("message").unwrap_or(&Value::Null);
        let said: Vec<What> = match value::text(line, "type") {
            Some("assistant") if value::is(line, "isApiErrorMessage") => {
                let words: Vec<_> = texts(message);
                words.into_iter().map(What::Failed).collect()
            }
            Some("assistant") => response(message),
            Some("user") => heard(line, message),
            _ => boundary(line),
        };
        let part = said.into_iter().map(|what| Item { at, what });
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

/// Returns the texts of a message, be it one text or a list of blocks.
fn texts(message: &Value) -> Vec<String> {
    match message.get("content") {
        Some(Value::String(text)) => vec![text.clone()],
        Some(content) => {
            let blocks = value::list(content).iter().filter(|block| value::text(block, "type") == Some("text"));
            blocks.filter_map(|block| value::words(block, "text")).map(str::to_owned).collect()
        }
        None => Vec::new(),
    }
}

fn response(message: &Value) -> Vec<What> {
    let Some(content) = message.get("content") else { return Vec::new() };
    if let Some(text) = content.as_str() {
        return vec![What::Said(text.to_owned())];
    }
    let block = |block: &Value| match value::text(block, "type")? {
        "text" => value::words(block, "text").map(|text| What::Said(text.to_owned())),
        "thinking" => value::words(block, "thinking").map(|text| What::Thought(text.to_owned())),
        "tool_use" => Some(What::Call {
            call: value::words(block, "id")?.to_owned(),
            name: value::words(block, "name")?.to_owned(),
            input: value::input(block.get("input")),
        }),
        _ => None,
    };
    value::list(content).iter().filter_map(block).collect()
}

fn heard(line: &Value, message: &Value) -> Vec<What> {
    if value::is(line, "isCompactSummary") {
        return vec![What::Compacted { summary: texts(message).join("\n\n"), tokens: 0 }];
    }
    // What the program told the model, as if the person had said it.
    if value::is(line, "isMeta") {
        return Vec::new();
    }
    let content = message.get("content").unwrap_or(&Value::Null);
    let mut items: Vec<What> = value::list(content).iter().filter_map(result).collect();
    let text = texts(message).join("\n\n");
    let pictures: Vec<_> = value::list(content).iter().filter_map(picture).collect();
    if !text.trim().is_empty() || !pictures.is_empty() {
        items.push(What::Heard { text, pictures });
    }
    items
}

fn result(block: &Value) -> Option<What> {
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
    Some(What::Result {
        call: value::words(block, "tool_use_id")?.to_owned(),
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

/// Returns a boundary of a compaction, where its summary is not a line of its own.
fn boundary(line: &Value) -> Vec<What> {
    let summary = value::words(line, "summary").map(str::to_owned);
    let tokens = line.get("compactMetadata").and_then(|meta| value::number(meta, "preTokens")).unwrap_or(0);
    summary.map(|summary| What::Compacted { summary, tokens }).into_iter().collect()
}

/// Returns the first thing that the person said, for want of a title.
pub fn first_words(items: &[Item]) -> Option<String> {
    items.iter().find_map(|item| match &item.what {
        // What begins like a tag was not typed by a person.
        What::Heard { text, .. } if !text.trim_start().starts_with('<') => {
            Some(text::headline(text, 80)).filter(|title| !title.is_empty())
        }
        _ => None,
    })
}

#[cfg(test)]
#[path = "claude_tests.rs"]
mod tests;

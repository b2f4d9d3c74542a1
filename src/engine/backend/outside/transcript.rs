//! Turns what an outside program reports into events and streamed output. Pure.
//!
//! Text is joined until something else follows. A tool call is recorded once its input is known, and answered exactly
//! once: by its result, or at the end of the turn. Calls of our own tools are left out, because the door records them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::base::{Json, MicroUsd, Timestamp, text};
use crate::model::backend::BackendEvent;
use crate::model::content::Content;
use crate::model::conversation::{Thought, ToolUse, Wire};
use crate::model::event::{AssistantText, Body, PermissionNote, ToolResult};
use crate::model::live::{Channel, Live};
use crate::model::tool_names as names;
use crate::model::usage::Tokens;
use crate::outside::update::UsageUpdate;
use crate::outside::{CallStatus, CallUpdate, Update};

/// The longest text of one event. A longer one becomes several.
const MAX_TEXT: usize = 256 << 10;
/// The longest result in an event. The rest is cut: the program has it.
const MAX_RESULT: usize = 64 << 10;
/// The longest message that is kept raw.
const MAX_RAW: usize = 32 << 10;
/// How many unknown messages are kept in one turn.
const MAX_UNKNOWN: usize = 50;

/// What follows from an update.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Output {
    pub(super) bodies: Vec<Body>,
    pub(super) live: Vec<Live>,
}

/// A turn, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    /// The name of the backend, for tools that are not ours.
    backend: String,
    text: String,
    thought: String,
    message: Option<String>,
    calls: BTreeMap<String, Tracked>,
    /// The beginning of what the agent said in this turn, before any call.
    opening: String,
    has_calls: bool,
    unknown: usize,
    /// The cost of the session so far, as last reported.
    pub(super) cost: Option<MicroUsd>,
    pub(super) window: Option<u64>,
    /// Tokens that were reported for single requests of this turn.
    pub(super) tokens: Option<Tokens>,
}

#[derive(Debug)]
struct Tracked {
    update: CallUpdate,
    state: CallState,
    started: Timestamp,
    permission: Option<PermissionNote>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallState {
    /// Its input is not known yet.
    Announced,
    /// Its event is written.
    Recorded,
    Ended,
    /// A call of our own tools.
    Hidden,
}

impl Transcript {
    pub(super) fn new(backend: &str) -> Self {
        Self { backend: backend.to_owned(), ..Self::default() }
    }

    pub(super) fn on_update(&mut self, now: Timestamp, update: Update) -> Output {
        let mut out = Output::default();
        match update {
            Update::Text { text, message } => {
                if !self.thought.is_empty() || self.is_new_message(message.as_ref()) {
                    self.flush(&mut out);
                }
                self.message = message.or(self.message.take());
                self.text.push_str(&text);
                if !self.has_calls && self.opening.len() < 400 {
                    self.opening.push_str(&text);
                }
                out.live.push(Live::TextDelta { text });
                if self.text.len() > MAX_TEXT {
                    self.flush(&mut out);
                }
            }
            Update::Thought { text, message } => {
                if !self.text.is_empty() || self.is_new_message(message.as_ref()) {
                    self.flush(&mut out);
                }
                self.message = message.or(self.message.take());
                self.thought.push_str(&text);
                out.live.push(Live::ThinkingDelta { text });
                if self.thought.len() > MAX_TEXT {
                    self.flush(&mut out);
                }
            }
            Update::Call(call) => self.on_call(now, *call, &mut out),
            Update::Plan(entries) => {
                self.flush(&mut out);
                out.bodies.push(BackendEvent::Plan { entries }.into());
            }
            Update::Usage(UsageUpdate { used: _, size, cost, tokens }) => {
                self.window = size.or(self.window);
                self.cost = cost.or(self.cost);
                if let Some(tokens) = tokens {
                    *self.tokens.get_or_insert_default() += tokens;
                }
            }
            Update::Notice(text) => out.bodies.push(BackendEvent::Notice { text: headline(&text) }.into()),
            Update::Unknown { kind, raw } => self.on_unknown(&kind, &raw, &mut out),
            Update::Mode(_) | Update::Options(_) | Update::Ignored => {}
        }
        out
    }

    /// Keeps a message that is not understood, as long as there are not too many.
    pub(super) fn on_unknown(&mut self, kind: &str, raw: &Json, out: &mut Output) {
        self.unknown += 1;
        if self.unknown > MAX_UNKNOWN {
            return;
        }
        let kept = text::prefix(raw.as_str(), MAX_RAW).to_owned();
        out.bodies.push(BackendEvent::Update { kind: headline(kind), raw: kept }.into());
    }

    fn is_new_message(&self, message: Option<&String>) -> bool {
        message.is_some() && self.message.is_some() && message != self.message.as_ref()
    }

    fn on_call(&mut self, now: Timestamp, update: CallUpdate, out: &mut Output) {
        self.has_calls = true;
        let id = update.id.clone();
        let delta = update.output_delta.clone();
        let call = self.calls.entry(id.clone()).or_insert_with(|| Tracked {
            update: CallUpdate { id: id.clone(), ..CallUpdate::default() },
            state: CallState::Announced,
            started: now,
            permission: None,
        });
        if matches!(call.state, CallState::Ended | CallState::Hidden) {
            return;
        }
        call.update.merge(update);
        if is_own_tool(&call.update) {
            call.state = CallState::Hidden;
            return;
        }
        let status = call.update.status;
        let runs_command = call.update.kind.as_deref() == Some("execute");
        // Some programs state the folder of a command before the command.
        let is_known = if runs_command { call.update.command().is_some() } else { call.update.input.is_some() };
        let has_begun = status == Some(CallStatus::InProgress) && !runs_command;
        let has_ended = matches!(status, Some(CallStatus::Completed | CallStatus::Failed));
        if call.state == CallState::Announced && (is_known || has_begun || has_ended) {
            self.record(&id, out);
        } else if call.state == CallState::Announced {
            let name = call.update.title.clone().unwrap_or_default();
            out.live.push(Live::CallDelta { call: id.clone(), name, bytes: 0 });
        }
        if let Some(text) = delta {
            out.live.push(Live::OutputChunk { call: id.clone(), channel: Channel::Output, text });
        }
        match status {
            Some(CallStatus::Completed) => self.end_call(now, &id, None, out),
            Some(CallStatus::Failed) => self.end_call(now, &id, Some("It failed."), out),
            Some(CallStatus::Pending | CallStatus::InProgress) | None => {}
        }
    }

    /// Records a call that asks for permission: its Ask must follow it. Returns the call as it is known now.
    pub(super) fn on_permission(&mut self, now: Timestamp, update: &CallUpdate, out: &mut Output) -> CallUpdate {
        let mut update = update.clone();
        // The request states what the call waits for, not that it runs.
        update.status = None;
        self.on_call(now, update.clone(), out);
        if !update.id.is_empty() {
            self.record(&update.id, out);
        }
        self.calls.get(&update.id).map_or(update, |call| call.update.clone())
    }

    /// Notes what decided about a call, for its result.
    pub(super) fn on_decided(&mut self, id: &str, note: Option<PermissionNote>) {
        if let Some(call) = self.calls.get_mut(id) {
            call.permission = note;
        }
    }

    /// Leaves out a call of our own tools.
    pub(super) fn hide(&mut self, now: Timestamp, id: &str) {
        let update = CallUpdate { id: id.to_owned(), ..CallUpdate::default() };
        let call = self.calls.entry(id.to_owned()).or_insert(Tracked {
            update,
            state: CallState::Hidden,
            started: now,
            permission: None,
        });
        if call.state == CallState::Announced {
            call.state = CallState::Hidden;
        }
    }

    fn record(&mut self, id: &str, out: &mut Output) {
        let Some(call) = self.calls.get_mut(id).filter(|call| call.state == CallState::Announced) else { return };
        call.state = CallState::Recorded;
        let body = tool_use(&self.backend, &call.update).into();
        self.flush(out);
        out.bodies.push(body);
    }

    fn end_call(&mut self, now: Timestamp, id: &str, failure: Option<&str>, out: &mut Output) {
        let Some(call) = self.calls.get_mut(id).filter(|call| call.state == CallState::Recorded) else { return };
        call.state = CallState::Ended;
        let mut result = call.update.result_text();
        if let Some(failure) = failure
            && result.trim().is_empty()
        {
            failure.clone_into(&mut result);
        }
        let shown = text::prefix(&result, MAX_RESULT);
        let result = if shown.len() < result.len() {
            format!("{shown}\n[cut: {} in all]", text::size(result.len() as u64))
        } else {
            result
        };
        out.bodies.push(
            ToolResult {
                call: id.to_owned(),
                name: tool_use(&self.backend, &call.update).name,
                content: Content::text(result),
                is_error: failure.is_some(),
                images: Vec::new(),
                full: None,
                background: None,
                ended: None,
                cwd: None,
                permission: call.permission.take(),
                duration_ms: u64::try_from(now.since(call.started).as_millis()).unwrap_or(u64::MAX),
            }
            .into(),
        );
    }

    /// Writes the text so far.
    pub(super) fn flush(&mut self, out: &mut Output) {
        let thought = std::mem::take(&mut self.thought);
        if !thought.trim().is_empty() {
            let thought = Thought { text: thought, signature: None, redacted: None, wire: Wire::Scripted };
            out.bodies.push(thought.into());
        }
        let text = std::mem::take(&mut self.text);
        if !text.trim().is_empty() {
            out.bodies.push(AssistantText { text }.into());
        }
    }

    /// Ends the turn: writes the rest, and closes calls that the program left open.
    pub(super) fn end_turn(&mut self, now: Timestamp, reason: &str) -> Output {
        let mut out = Output::default();
        self.flush(&mut out);
        let is_open = |state: CallState| matches!(state, CallState::Announced | CallState::Recorded);
        let open = self.calls.iter().filter(|(_, call)| is_open(call.state));
        for id in open.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.record(&id, &mut out);
            self.end_call(now, &id, Some(reason), &mut out);
        }
        self.calls.clear();
        self.message = None;
        self.opening.clear();
        self.has_calls = false;
        self.unknown = 0;
        self.tokens = None;
        out
    }

    /// Returns what the agent said, if the turn consisted of nothing else.
    pub(super) fn only_text(&self) -> Option<&str> {
        (!self.has_calls && !self.opening.trim().is_empty()).then(|| self.opening.trim())
    }
}

fn headline(text: &str) -> String {
    text::headline(&crate::base::sanitize::line(text), 300)
}

/// Returns true for a call of the tools that this process serves, however the program spells their names.
pub(super) fn is_own_tool(call: &CallUpdate) -> bool {
    let is_own = |name: &str| {
        let name = name.trim();
        let starts = ["mcp__mxd__", "mcp_mxd_", "mcp.mxd.", "mxd__", "mxd_", "mxd-", "mxd/", "mxd.", "mxd:"];
        let rest = starts.iter().find_map(|start| name.strip_prefix(start)).unwrap_or_default();
        let rest = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        // Some programs add the server behind the name: "done (mxd MCP Server)".
        let behind = name.split_once(" (mxd").map(|(tool, _)| tool).unwrap_or_default();
        names::ALL.contains(&rest) || names::ALL.contains(&behind)
    };
    let input = call.input.as_ref();
    let by_input = input.is_some_and(|input| input.get("server").and_then(Value::as_str) == Some(names::OWN));
    by_input || [&call.name, &call.title].into_iter().flatten().any(|name| is_own(name) || is_own(strip_label(name)))
}

/// Removes the words that programs put before the name of a tool.
fn strip_label(title: &str) -> &str {
    title.split_once(": ").map_or(title, |(_, rest)| rest)
}

/// Returns the event of a call. A call that does what one of our tools does gets that tool's name and input, so that it
/// is shown, searched and exported in the same way.
pub(super) fn tool_use(backend: &str, call: &CallUpdate) -> ToolUse {
    let mut input: Map<String, Value> = match &call.input {
        Some(Value::Object(fields)) => fields.clone(),
        Some(other) => Map::from_iter([("input".to_owned(), other.clone())]),
        None => Map::new(),
    };
    let path = call.paths.first().cloned().or_else(|| {
        let known = ["file_path", "path", "filePath", "absolute_path", "abs_path"];
        known.into_iter().find_map(|name| Some(input.get(name)?.as_str()?.to_owned()))
    });
    let kind = call.kind.as_deref().unwrap_or_default();
    // Some programs state a command only as the title of its call.
    let titled = || call.title.clone().filter(|_| kind == "execute");
    let name = match (kind, call.command().or_else(titled), path) {
        ("execute" | "other" | "", Some(command), _) => {
            input.insert("command".to_owned(), json!(command));
            names::wire(names::BASH)
        }
        ("edit" | "delete" | "move", _, Some(path)) => {
            input.insert("path".to_owned(), json!(path));
            names::wire(names::EDIT_FILE)
        }
        ("read", _, Some(path)) => {
            input.insert("files".to_owned(), json!([{"path": path}]));
            names::wire(names::READ_FILE)
        }
        _ => foreign_name(backend, call),
    };
    if let (true, Some(title)) = (input.is_empty(), &call.title) {
        input.insert("title".to_owned(), json!(title));
    }
    let input = Json::of(&Value::Object(input)).unwrap_or_default();
    ToolUse { call: call.id.clone(), name, input, malformed: None }
}

/// Returns the wire name of a tool that is not ours.
fn foreign_name(backend: &str, call: &CallUpdate) -> String {
    let name = call.name.as_deref().or(call.kind.as_deref().filter(|kind| *kind != "other"));
    let name = name.or(call.title.as_deref()).unwrap_or("tool");
    match names::split(name) {
        Some((server, _)) if server != names::OWN => name.to_owned(),
        _ => {
            let word: String =
                name.chars().take(40).map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
            names::external(backend, word.trim_matches('_'))
        }
    }
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;

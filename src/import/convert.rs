//! Converts a foreign session into events.
//!
//! Every call is followed by its result, wherever that was in the file, or by a placeholder, so models accept the
//! conversation. Ids depend only on the source, so the same file always gives the same events. Costs are not imported.

use std::collections::{HashMap, VecDeque};

use ulid::Ulid;

use crate::base::{EventId, Json, MessageId, TaskId, Timestamp, TurnId, text};
use crate::import::item::{ItemKind, Picture, SessionItem};
use crate::import::{ForeignSession, Origin};
use crate::model::content::{BlobRef, Content, Image};
use crate::model::conversation::{Thought, ToolUse, Wire};
use crate::model::event::{
    AssistantText, Body, CompactMarker, CompactStarted, CompactTrigger, ErrorNote, Event, MessagesConsumed, StopReason,
    TaskChanged, ToolResult, TurnEnded, VERSION,
};
use crate::model::fold::{OpenCall, SessionState};
use crate::model::message::{Message, MessageSource};
use crate::model::task::TaskNode;
use crate::store::StoreError;

/// Larger outputs go into a blob.
const MAX_INLINE: usize = 64 << 10;
/// Larger texts are truncated, because they do not fit in a line.
const MAX_TEXT: usize = 1 << 20;
const NO_RESULT: &str = "No result was recorded for this call.";

pub type SaveBlob<'a> = &'a mut dyn FnMut(&[u8]) -> Result<BlobRef, StoreError>;

/// Returns the task id for a foreign session.
pub fn task_of(origin: Origin, session: &str, started: Timestamp) -> TaskId {
    TaskId::from_ulid(ulid(started, digest(origin, session, "task", 0)))
}

/// Returns 79 bits derived from a position in a foreign session. One bit stays free, so that ids with the same time can
/// be incremented.
fn digest(origin: Origin, session: &str, what: &str, number: usize) -> u128 {
    let mut hasher = blake3::Hasher::new();
    for part in [origin.word(), session, what] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hasher.update(&(number as u64).to_le_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    u128::from_le_bytes(bytes) >> (128 - 79)
}

fn ulid(at: Timestamp, random: u128) -> Ulid {
    Ulid::from_parts(u64::try_from(at.as_millis()).unwrap_or(0), random)
}

/// Returns the events of the imported session: the first defines the task, the rest is the conversation.
pub fn convert(
    foreign: &ForeignSession,
    node: &TaskNode,
    now: Timestamp,
    save_blob: SaveBlob<'_>,
) -> Result<Vec<Event>, StoreError> {
    let mut converter =
        Converter { foreign, now, save_blob, events: Vec::new(), state: SessionState::default(), last: Ulid::nil() };
    converter.add(foreign.started, TaskChanged::Set { node: Box::new(node.clone()) });
    let items = &foreign.items;
    let mut results: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        if let ItemKind::Result { call, .. } = &item.kind {
            results.entry(call).or_default().push_back(index);
        }
    }
    let mut index = 0;
    while let Some(item) = items.get(index) {
        if is_response(item) {
            let len = items[index..].iter().take_while(|item| is_response(item)).count();
            converter.add_response(&items[index..index + len], index, &mut results)?;
            index += len;
            continue;
        }
        match &item.kind {
            ItemKind::UserMessage { text, pictures } => {
                converter.add_message(item.at, MessageSource::User, text, pictures)?;
            }
            ItemKind::Compaction { summary, tokens } => converter.add_compaction(item.at, summary, *tokens)?,
            ItemKind::Error(message) => {
                let message = truncate(message);
                converter.add(item.at, ErrorNote { class: "imported".to_owned(), message, attempt: None });
            }
            // `add_response` handles these. A result without a call is skipped.
            ItemKind::Result { .. } | ItemKind::AssistantText(_) | ItemKind::Thinking(_) | ItemKind::Call { .. } => {}
        }
        index += 1;
    }
    Ok(converter.events)
}

fn is_response(item: &SessionItem) -> bool {
    matches!(item.kind, ItemKind::AssistantText(_) | ItemKind::Thinking(_) | ItemKind::Call { .. })
}

struct Converter<'a> {
    foreign: &'a ForeignSession,
    now: Timestamp,
    save_blob: SaveBlob<'a>,
    events: Vec<Event>,
    state: SessionState,
    last: Ulid,
}

impl Converter<'_> {
    /// Returns an id that sorts after all earlier ones.
    fn id(&mut self, at: Timestamp, what: &str) -> Ulid {
        let random = digest(self.foreign.origin, &self.foreign.session, what, self.events.len());
        let fresh = ulid(at, random);
        // The clock went backwards, or two events have the same time.
        self.last = if fresh.timestamp_ms() > self.last.timestamp_ms() {
            fresh
        } else {
            let step = 1 + (random & 0xffff_ffff);
            Ulid::from_parts(self.last.timestamp_ms(), self.last.random().saturating_add(step))
        };
        self.last
    }

    fn add(&mut self, at: Timestamp, body: impl Into<Body>) {
        // A time in the future would push the ids of all later events into the future.
        let at = at.min(self.now);
        let parent = self.events.last().map(|event| event.id);
        let id = EventId::from_ulid(self.id(at, "event"));
        let mut body = body.into();
        if let Body::CompactMarker(marker) = &mut body {
            *marker.carry = self.state.clone();
        }
        let event = Event { v: VERSION, id, parent, ts: at, run: None, batch: None, body };
        self.state.apply(&event);
        self.events.push(event);
    }

    fn add_message(
        &mut self,
        at: Timestamp,
        from: MessageSource,
        words: &str,
        pictures: &[Picture],
    ) -> Result<(), StoreError> {
        let number = self.events.len();
        let id = MessageId::from_ulid(ulid(
            at.min(self.now),
            digest(self.foreign.origin, &self.foreign.session, "message", number),
        ));
        let message =
            Message { images: self.images(pictures)?, ..Message::new(id, at.min(self.now), from, truncate(words)) };
        self.add(at, message);
        self.add(at, MessagesConsumed { ids: vec![id] });
        Ok(())
    }

    fn images(&mut self, pictures: &[Picture]) -> Result<Vec<Image>, StoreError> {
        let save = |picture: &Picture| {
            let data = (self.save_blob)(&picture.bytes)?;
            Ok(Image { data, media_type: picture.media_type.clone(), name: None })
        };
        pictures.iter().map(save).collect()
    }

    fn add_response(
        &mut self,
        parts: &[SessionItem],
        first: usize,
        results: &mut HashMap<&str, VecDeque<usize>>,
    ) -> Result<(), StoreError> {
        let number = self.events.len();
        let mut calls = Vec::new();
        for (SessionItem { at, kind }, index) in parts.iter().zip(first..) {
            match kind {
                ItemKind::AssistantText(words) => self.add(*at, AssistantText { text: truncate(words) }),
                ItemKind::Thinking(words) => {
                    let wire = match self.foreign.origin {
                        Origin::Matrix | Origin::Claude => Wire::Anthropic,
                        Origin::Codex => Wire::OpenaiResponses,
                    };
                    // A signature is valid only in its original conversation.
                    self.add(*at, Thought { text: truncate(words), signature: None, redacted: None, wire });
                }
                ItemKind::Call { call, name, input } => {
                    let (input, malformed) = bounded(input);
                    self.add(*at, ToolUse { call: call.clone(), name: name.clone(), input, malformed });
                    calls.push((call, name, index, *at));
                }
                ItemKind::UserMessage { .. }
                | ItemKind::Result { .. }
                | ItemKind::Compaction { .. }
                | ItemKind::Error(_) => {}
            }
        }
        let at = parts.last().map_or(Timestamp::EPOCH, |part| part.at);
        let turn = TurnId::from_ulid(ulid(
            at.min(self.now),
            digest(self.foreign.origin, &self.foreign.session, "turn", number),
        ));
        let stop = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
        self.add(at, TurnEnded { turn, stop });
        for (call, name, index, at) in calls {
            let pending = results.get_mut(call.as_str());
            let result = pending.and_then(|indices| {
                while indices.front().is_some_and(|result| *result < index) {
                    indices.pop_front();
                }
                indices.pop_front()
            });
            self.add_result(call, name, at, result.and_then(|index| self.foreign.items.get(index)))?;
        }
        Ok(())
    }

    fn add_result(
        &mut self,
        call: &str,
        name: &str,
        called: Timestamp,
        item: Option<&SessionItem>,
    ) -> Result<(), StoreError> {
        let open = OpenCall { call: call.to_owned(), name: name.to_owned() };
        let Some(SessionItem { at, kind: ItemKind::Result { text, is_error, pictures, .. } }) = item else {
            self.add(called, ToolResult::unrun(&open, NO_RESULT, true));
            return Ok(());
        };
        let content = if text.len() > MAX_INLINE {
            Content::Blob((self.save_blob)(text.as_bytes())?)
        } else {
            Content::text(text.clone())
        };
        let images = self.images(pictures)?;
        let duration_ms = u64::try_from(at.since(called).as_millis()).unwrap_or(0);
        let result =
            ToolResult { content, images, is_error: *is_error, duration_ms, ..ToolResult::unrun(&open, "", false) };
        self.add(*at, result);
        Ok(())
    }

    fn add_compaction(&mut self, at: Timestamp, summary: &str, tokens: u64) -> Result<(), StoreError> {
        self.add(at, CompactStarted { trigger: CompactTrigger::Manual });
        let marker = CompactMarker {
            summary: truncate(summary),
            tokens_before: tokens,
            tokens_after: (summary.len() / 4) as u64,
            carry: Box::default(),
        };
        self.add(at, marker);
        self.add_message(at, MessageSource::CompactedResume, summary, &[])
    }
}

/// Truncates a text to `MAX_TEXT`, with a note.
fn truncate(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    let shown = text::prefix(text, MAX_TEXT);
    format!("{shown}\n[{} more omitted]", text::size((text.len() - shown.len()) as u64))
}

/// Returns the input if it fits in a line, or an empty object and the truncated text.
fn bounded(input: &Json) -> (Json, Option<String>) {
    if input.as_str().len() <= MAX_TEXT {
        (input.clone(), None)
    } else {
        (Json::object(), Some(truncate(input.as_str())))
    }
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;

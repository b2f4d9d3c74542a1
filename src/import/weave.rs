//! Makes a session of ours from a foreign one.
//!
//! Every call is followed by its result, wherever that stood, or by a word that there is none: what comes out is a
//! conversation that a model accepts, whatever went in. Ids follow from the source alone, so that the same file always
//! gives the same events. What was spent is left out: it was spent elsewhere.

use std::collections::{HashMap, VecDeque};

use ulid::Ulid;

use crate::base::{EventId, Json, MessageId, TaskId, Timestamp, TurnId, text};
use crate::import::item::{Item, Picture, What};
use crate::import::{Foreign, Origin};
use crate::model::content::{BlobRef, Content, Image};
use crate::model::conversation::{Thought, ToolUse, Wire};
use crate::model::event::{
    AssistantText, Body, CompactMarker, CompactStarted, CompactTrigger, ErrorNote, Event, MessagesConsumed, StopReason,
    TaskChanged, ToolResult, TurnEnded, VERSION,
};
use crate::model::fold::{OpenCall, SessionState};
use crate::model::message::{Message, Source};
use crate::model::task::TaskNode;
use crate::store::StoreError;

/// What is larger goes into a blob.
const INLINE: usize = 64 << 10;
/// What is larger cannot be kept in a line.
const LONGEST: usize = 1 << 20;
const UNANSWERED: &str = "Nothing is recorded of what this call gave.";

/// Keeps bytes as a blob.
pub type Keep<'a> = &'a mut dyn FnMut(&[u8]) -> Result<BlobRef, StoreError>;

/// Returns the id of the task that a foreign session becomes.
pub fn task_of(origin: Origin, session: &str, started: Timestamp) -> TaskId {
    TaskId::from_ulid(ulid(started, digest(origin, session, "task", 0)))
}

/// Returns 79 bits that follow from where something stands in a foreign session. One bit is left free, so that ids of
/// one moment can be counted up.
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

/// Returns the events of the session that `foreign` becomes: the first says what the task is, the rest is the
/// conversation.
pub fn weave(foreign: &Foreign, node: &TaskNode, now: Timestamp, keep: Keep<'_>) -> Result<Vec<Event>, StoreError> {
    let mut woven =
        Weaver { foreign, now, keep, events: Vec::new(), state: SessionState::default(), last: Ulid::nil() };
    woven.add(foreign.started, TaskChanged::Set { node: Box::new(node.clone()) });
    let items = &foreign.items;
    let mut results: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (place, item) in items.iter().enumerate() {
        if let What::Result { call, .. } = &item.what {
            results.entry(call).or_default().push_back(place);
        }
    }
    let mut place = 0;
    while let Some(item) = items.get(place) {
        if is_response(item) {
            let len = items[place..].iter().take_while(|item| is_response(item)).count();
            woven.response(&items[place..place + len], place, &mut results)?;
            place += len;
            continue;
        }
        match &item.what {
            What::Heard { text, pictures } => woven.hear(item.at, Source::User, text, pictures)?,
            What::Compacted { summary, tokens } => woven.compact(item.at, summary, *tokens)?,
            What::Failed(message) => {
                let message = cut(message);
                woven.add(item.at, ErrorNote { class: "imported".to_owned(), message, attempt: None });
            }
            // It stands behind its call, or answers nothing.
            What::Result { .. } | What::Said(_) | What::Thought(_) | What::Call { .. } => {}
        }
        place += 1;
    }
    Ok(woven.events)
}

fn is_response(item: &Item) -> bool {
    matches!(item.what, What::Said(_) | What::Thought(_) | What::Call { .. })
}

struct Weaver<'a> {
    foreign: &'a Foreign,
    now: Timestamp,
    keep: Keep<'a>,
    events: Vec<Event>,
    state: SessionState,
    last: Ulid,
}

impl Weaver<'_> {
    /// Returns an id that sorts behind all others so far.
    fn id(&mut self, at: Timestamp, what: &str) -> Ulid {
        let random = digest(self.foreign.origin, &self.foreign.session, what, self.events.len());
        let fresh = ulid(at, random);
        // A clock that went back, or two events of one moment.
        self.last = if fresh.timestamp_ms() > self.last.timestamp_ms() {
            fresh
        } else {
            let step = 1 + (random & 0xffff_ffff);
            Ulid::from_parts(self.last.timestamp_ms(), self.last.random().saturating_add(step))
        };
        self.last
    }

    fn add(&mut self, at: Timestamp, body: impl Into<Body>) {
        // Ids of later events must not have to sort behind a moment that never was.
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

    fn hear(&mut self, at: Timestamp, from: Source, words: &str, pictures: &[Picture]) -> Result<(), StoreError> {
        let number = self.events.len();
        let id = MessageId::from_ulid(ulid(
            at.min(self.now),
            digest(self.foreign.origin, &self.foreign.session, "message", number),
        ));
        let message =
            Message { images: self.images(pictures)?, ..Message::new(id, at.min(self.now), from, cut(words)) };
        self.add(at, message);
        self.add(at, MessagesConsumed { ids: vec![id] });
        Ok(())
    }

    fn images(&mut self, pictures: &[Picture]) -> Result<Vec<Image>, StoreError> {
        let keep = |picture: &Picture| {
            let data = (self.keep)(&picture.bytes)?;
            Ok(Image { data, media_type: picture.media_type.clone(), name: None })
        };
        pictures.iter().map(keep).collect()
    }

    fn response(
        &mut self,
        parts: &[Item],
        first: usize,
        results: &mut HashMap<&str, VecDeque<usize>>,
    ) -> Result<(), StoreError> {
        let number = self.events.len();
        let mut calls = Vec::new();
        for (Item { at, what }, place) in parts.iter().zip(first..) {
            match what {
                What::Said(words) => self.add(*at, AssistantText { text: cut(words) }),
                What::Thought(words) => {
                    let wire = match self.foreign.origin {
                        Origin::Matrix | Origin::Claude => Wire::Anthropic,
                        Origin::Codex => Wire::OpenaiResponses,
                    };
                    // A signature is good for the conversation it was made in.
                    self.add(*at, Thought { text: cut(words), signature: None, redacted: None, wire });
                }
                What::Call { call, name, input } => {
                    let (input, malformed) = bounded(input);
                    self.add(*at, ToolUse { call: call.clone(), name: name.clone(), input, malformed });
                    calls.push((call, name, place, *at));
                }
                What::Heard { .. } | What::Result { .. } | What::Compacted { .. } | What::Failed(_) => {}
            }
        }
        let at = parts.last().map_or(Timestamp::EPOCH, |part| part.at);
        let turn = TurnId::from_ulid(ulid(
            at.min(self.now),
            digest(self.foreign.origin, &self.foreign.session, "turn", number),
        ));
        let stop = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
        self.add(at, TurnEnded { turn, stop });
        for (call, name, place, at) in calls {
            let waiting = results.get_mut(call.as_str());
            let answer = waiting.and_then(|places| {
                while places.front().is_some_and(|answer| *answer < place) {
                    places.pop_front();
                }
                places.pop_front()
            });
            self.answer(call, name, at, answer.and_then(|place| self.foreign.items.get(place)))?;
        }
        Ok(())
    }

    fn answer(&mut self, call: &str, name: &str, called: Timestamp, item: Option<&Item>) -> Result<(), StoreError> {
        let open = OpenCall { call: call.to_owned(), name: name.to_owned() };
        let Some(Item { at, what: What::Result { text, is_error, pictures, .. } }) = item else {
            self.add(called, ToolResult::unrun(&open, UNANSWERED, true));
            return Ok(());
        };
        let content = if text.len() > INLINE {
            Content::Blob((self.keep)(text.as_bytes())?)
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

    fn compact(&mut self, at: Timestamp, summary: &str, tokens: u64) -> Result<(), StoreError> {
        self.add(at, CompactStarted { trigger: CompactTrigger::Manual });
        let marker = CompactMarker {
            summary: cut(summary),
            tokens_before: tokens,
            tokens_after: (summary.len() / 4) as u64,
            carry: Box::default(),
        };
        self.add(at, marker);
        self.hear(at, Source::CompactedResume, summary, &[])
    }
}

/// Returns a text that fits in a line, and says where something is missing.
fn cut(words: &str) -> String {
    if words.len() <= LONGEST {
        return words.to_owned();
    }
    let kept = text::prefix(words, LONGEST);
    format!("{kept}\n[{} more were left out]", text::size((words.len() - kept.len()) as u64))
}

/// Returns an input that fits in a line, and its beginning if it does not.
fn bounded(input: &Json) -> (Json, Option<String>) {
    if input.as_str().len() <= LONGEST { (input.clone(), None) } else { (Json::object(), Some(cut(input.as_str()))) }
}

#[cfg(test)]
#[path = "weave_tests.rs"]
mod tests;

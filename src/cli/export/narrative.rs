//! Turns the events of a session into the parts of a document: messages, tool calls and notes, in order.
//! Skips bookkeeping events.

use std::collections::{HashMap, VecDeque};

use base64::Engine as _;

use crate::base::{Timestamp, sanitize, text};
use crate::cli::log::entry;
use crate::model::backend::BackendEvent;
use crate::model::content::{BlobId, Content, Image};
use crate::model::event::{Body, Event, ToolResult};
use crate::model::message::MessageSource;

/// Maximum bytes of one text. Longer texts are truncated.
const MAX_TEXT: usize = 200_000;
/// Maximum bytes of an embedded picture.
const MAX_PICTURE: u64 = 5 << 20;
/// Types of pictures that are embedded. Others are only named.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// One part of the document. All text in it is safe to print on a terminal.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) at: Timestamp,
    pub(super) kind: PartKind,
}

#[derive(Debug)]
pub(super) enum PartKind {
    /// A message in Markdown.
    Message {
        author: String,
        is_user: bool,
        text: String,
        pictures: Vec<Picture>,
    },
    /// A long text, folded.
    Folded {
        summary: String,
        text: String,
    },
    Tool {
        name: String,
        input: String,
        outcome: Option<Outcome>,
    },
    /// An event in a few words.
    Note(String),
}

/// The result of a tool call.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) failed: bool,
    pub(super) millis: u64,
    pub(super) text: String,
    pub(super) pictures: Vec<Picture>,
}

#[derive(Debug)]
pub(super) struct Picture {
    pub(super) name: String,
    /// The picture as a data URL. `None` if it is too large, missing, or not a picture.
    pub(super) data: Option<String>,
}

/// Returns the bytes of a blob, or `None` if it no longer exists.
pub(super) type Blobs<'a> = dyn Fn(&BlobId) -> Option<Vec<u8>> + 'a;

/// Builds the parts from a stream of events. Reads outputs that are too large for the log from blobs.
pub(super) struct TranscriptBuilder<'a> {
    blobs: &'a Blobs<'a>,
    /// Parts that wait for the result of an earlier call.
    parts: VecDeque<Part>,
    /// Number of parts already taken.
    taken: usize,
    /// Calls without a result, with the index of their part in the document.
    open: HashMap<String, usize>,
}

impl<'a> TranscriptBuilder<'a> {
    pub(super) fn new(blobs: &'a Blobs<'a>) -> Self {
        Self { blobs, parts: VecDeque::new(), taken: 0, open: HashMap::new() }
    }

    pub(super) fn push(&mut self, event: Event) {
        let at = event.ts;
        let kind = match event.body {
            Body::ToolCall(call) => {
                self.open.insert(call.call, self.taken + self.parts.len());
                let input = serde_json::from_str::<serde_json::Value>(call.input.as_str());
                let input = match (call.malformed, input) {
                    (Some(malformed), _) => malformed,
                    (None, Ok(input)) => readable(&input),
                    (None, Err(_)) => call.input.as_str().to_owned(),
                };
                PartKind::Tool { name: clean(&call.name), input: clean(&input), outcome: None }
            }
            Body::ToolResult(result) => {
                let index = self.open.remove(&result.call);
                let call = index.and_then(|index| self.parts.get_mut(index.checked_sub(self.taken)?));
                let outcome = outcome(&result, self.blobs);
                match call {
                    Some(Part { kind: PartKind::Tool { outcome: slot, .. }, .. }) => {
                        *slot = Some(outcome);
                        return;
                    }
                    // The call was cut off by a compaction or by damage.
                    _ => PartKind::Tool { name: clean(&result.name), input: String::new(), outcome: Some(outcome) },
                }
            }
            body => match part_kind(body, self.blobs) {
                Some(kind) => kind,
                None => return,
            },
        };
        self.parts.push_back(Part { at, kind });
    }

    /// Takes the complete parts: all before the first call without a result. Results follow their calls closely, so
    /// memory use is small for sessions of any length.
    pub(super) fn take_ready(&mut self) -> impl Iterator<Item = Part> {
        let first_open = self.open.values().min().map_or(self.parts.len(), |index| index.saturating_sub(self.taken));
        self.taken += first_open;
        self.parts.drain(..first_open)
    }

    /// Takes the remaining parts, including calls without a result.
    pub(super) fn into_rest(self) -> impl Iterator<Item = Part> {
        self.parts.into_iter()
    }
}

/// Returns the part for an event, or `None` for bookkeeping and tool events.
fn part_kind(body: Body, blobs: &Blobs<'_>) -> Option<PartKind> {
    let (head, content) = entry::describe(&body);
    let head = sanitize::line(&head).into_owned();
    let folded = |summary: String, text: &str| Some(PartKind::Folded { summary, text: clean(text) });
    match body {
        Body::Message(message) => match message.from {
            MessageSource::WorkContext
            | MessageSource::CompactedResume
            | MessageSource::TreeChange { .. }
            | MessageSource::Handover { .. }
            | MessageSource::Hook { .. }
            | MessageSource::Notice => folded(head, &message.body),
            ref from @ (MessageSource::User
            | MessageSource::Begin
            | MessageSource::BeginFork
            | MessageSource::Continue
            | MessageSource::TaskMessage { .. }
            | MessageSource::TaskComplete { .. }
            | MessageSource::UserMessageForwarded { .. }
            | MessageSource::ClarifyResponse { .. }
            | MessageSource::CrossProject { .. }
            | MessageSource::BackgroundComplete { .. }
            | MessageSource::Compact
            | MessageSource::Interrupt) => Some(PartKind::Message {
                author: sanitize::line(&entry::source(from)).into_owned(),
                is_user: from.is_from_user(),
                text: clean(&message.body),
                pictures: message.images.iter().map(|image| picture(image, blobs)).collect(),
            }),
        },
        Body::AssistantText(answer) => Some(PartKind::Message {
            author: "agent".to_owned(),
            is_user: false,
            text: clean(&answer.text),
            pictures: Vec::new(),
        }),
        Body::Thinking(thought) if thought.redacted.is_some() => Some(PartKind::Note(head)),
        Body::Thinking(thought) => folded("thinking".to_owned(), &thought.text),
        Body::CompactMarker(marker) => folded(head, &marker.summary),
        Body::ForkMarker(_)
        | Body::Repaired(_)
        | Body::DoneNotified(_)
        | Body::Error(_)
        | Body::AskRaised(_)
        | Body::Work(_) => {
            if content.trim().is_empty() {
                Some(PartKind::Note(head))
            } else {
                Some(PartKind::Message { author: head, is_user: false, text: clean(&content), pictures: Vec::new() })
            }
        }
        Body::Unknown(unknown) => folded(head, unknown.body.as_str()),
        Body::Backend(BackendEvent::Prompted { .. }) => None,
        Body::Backend(ref event) => match event.detail() {
            detail if detail.trim().is_empty() => Some(PartKind::Note(head)),
            detail => folded(head, &detail),
        },
        Body::ToolCall(_)
        | Body::ToolResult(_)
        | Body::MessagesConsumed(_)
        | Body::SessionConfig(_)
        | Body::Usage(_)
        | Body::TurnEnded(_)
        | Body::CompactStarted(_)
        | Body::RunStarted(_)
        | Body::Snapshot(_)
        | Body::TaskChanged(_) => None,
        // Describe every other event as `mxd log` does.
        _ => Some(PartKind::Note(head)),
    }
}

fn outcome(result: &ToolResult, blobs: &Blobs<'_>) -> Outcome {
    let text = match &result.content {
        Content::Text { text } => clean(text),
        Content::Blob(blob) => match blobs(&blob.blob) {
            Some(bytes) => clean(&String::from_utf8_lossy(&bytes)),
            None => format!("[{} no longer available]", text::size(blob.bytes)),
        },
    };
    let pictures = result.images.iter().map(|image| picture(image, blobs)).collect();
    Outcome { failed: result.is_error, millis: result.duration_ms, text, pictures }
}

fn picture(image: &Image, blobs: &Blobs<'_>) -> Picture {
    let name = image.name.as_deref().unwrap_or("picture");
    let shown = PICTURES.contains(&image.media_type.as_str()) && image.data.bytes <= MAX_PICTURE;
    let bytes = if shown { blobs(&image.data.blob) } else { None };
    let encode = |bytes: Vec<u8>| {
        format!("data:{};base64,{}", image.media_type, base64::engine::general_purpose::STANDARD.encode(bytes))
    };
    Picture { name: sanitize::line(name).into_owned(), data: bytes.map(encode) }
}

/// Formats a tool's input for reading: an object as one line per field, anything else as JSON.
fn readable(input: &serde_json::Value) -> String {
    let Some(fields) = input.as_object() else { return input.to_string() };
    let field = |(name, value): (&String, &serde_json::Value)| match value {
        serde_json::Value::String(text) if text.contains('\n') => format!("{name}:\n{text}"),
        serde_json::Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    };
    fields.iter().map(field).collect::<Vec<_>>().join("\n")
}

/// Sanitizes and truncates a text.
fn clean(content: &str) -> String {
    let shown = text::prefix(content, MAX_TEXT);
    let clean = sanitize::lines(shown);
    if shown.len() == content.len() {
        return clean.into_owned();
    }
    format!("{clean}\n… {} more", text::size((content.len() - shown.len()) as u64))
}

#[cfg(test)]
#[path = "narrative_tests.rs"]
mod tests;

//! A session as it is told: what was said, what was done, in the order in which it happened. Bookkeeping is left out.

use std::collections::{HashMap, VecDeque};

use base64::Engine as _;

use crate::base::{Timestamp, sanitize, text};
use crate::cli::log::entry;
use crate::model::content::{BlobId, Content, Image};
use crate::model::event::{Body, Event, ToolResult};
use crate::model::message::Source;

/// How much of one output is told. The rest is counted.
const LONGEST: usize = 200_000;
/// How large a picture may be to be in the document.
const LARGEST_IMAGE: u64 = 5 << 20;
/// Pictures that a page may show. What calls itself something else is only named.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// One thing that is told. All text in it is safe to show in a terminal.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) at: Timestamp,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// Somebody said something, in Markdown.
    Said {
        who: String,
        by_person: bool,
        text: String,
        pictures: Vec<Picture>,
    },
    /// Something with a body that few will open.
    Folded {
        summary: String,
        text: String,
    },
    Tool {
        name: String,
        input: String,
        outcome: Option<Outcome>,
    },
    /// Something happened that a few words say.
    Note(String),
}

/// What a tool gave.
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
    /// The picture itself, as an address that holds it. Nothing: it is too large, missing, or no picture.
    pub(super) data: Option<String>,
}

/// Returns the bytes of a blob. `None`: it is not there any more.
pub(super) type Blobs<'a> = dyn Fn(&BlobId) -> Option<Vec<u8>> + 'a;

/// Makes a story of events, one after the other. Outputs that were too large for the log are read from blobs.
pub(super) struct Teller<'a> {
    blobs: &'a Blobs<'a>,
    /// Parts that wait for the result of an earlier call.
    parts: VecDeque<Part>,
    /// How many parts were told.
    told: usize,
    /// Calls without a result, by the number of their part.
    open: HashMap<String, usize>,
}

impl<'a> Teller<'a> {
    pub(super) fn new(blobs: &'a Blobs<'a>) -> Self {
        Self { blobs, parts: VecDeque::new(), told: 0, open: HashMap::new() }
    }

    pub(super) fn hear(&mut self, event: Event) {
        let at = event.ts;
        let what = match event.body {
            Body::ToolCall(call) => {
                self.open.insert(call.call, self.told + self.parts.len());
                let input = serde_json::from_str::<serde_json::Value>(call.input.as_str());
                let input = match (call.malformed, input) {
                    (Some(malformed), _) => malformed,
                    (None, Ok(input)) => readable(&input),
                    (None, Err(_)) => call.input.as_str().to_owned(),
                };
                What::Tool { name: clean(&call.name), input: clean(&input), outcome: None }
            }
            Body::ToolResult(result) => {
                let number = self.open.remove(&result.call);
                let asked = number.and_then(|number| self.parts.get_mut(number.checked_sub(self.told)?));
                let outcome = outcome(&result, self.blobs);
                match asked {
                    Some(Part { what: What::Tool { outcome: given, .. }, .. }) => {
                        *given = Some(outcome);
                        return;
                    }
                    // The call was cut off by a compaction or by damage.
                    _ => What::Tool { name: clean(&result.name), input: String::new(), outcome: Some(outcome) },
                }
            }
            body => match told(body, self.blobs) {
                Some(what) => what,
                None => return,
            },
        };
        self.parts.push_back(Part { at, what });
    }

    /// Takes the parts that can be told: all before the first call without a result. Calls are answered soon after they are
    /// made, so a session of any length is told with little of it in memory.
    pub(super) fn ready(&mut self) -> impl Iterator<Item = Part> {
        let first_open = self.open.values().min().map_or(self.parts.len(), |number| number.saturating_sub(self.told));
        self.told += first_open;
        self.parts.drain(..first_open)
    }

    /// Takes what is left: no results come any more.
    pub(super) fn rest(self) -> impl Iterator<Item = Part> {
        self.parts.into_iter()
    }
}

/// Returns what is told of an event that is no tool's. Nothing: it is bookkeeping.
fn told(body: Body, blobs: &Blobs<'_>) -> Option<What> {
    let (head, said) = entry::describe(&body);
    let head = sanitize::line(&head).into_owned();
    let folded = |summary: String, text: &str| Some(What::Folded { summary, text: clean(text) });
    match body {
        Body::Message(message) => match message.from {
            Source::WorkContext | Source::CompactedResume | Source::TreeChange { .. } | Source::Notice => {
                folded(head, &message.body)
            }
            ref from @ (Source::User
            | Source::Begin
            | Source::BeginFork
            | Source::Continue
            | Source::TaskMessage { .. }
            | Source::TaskComplete { .. }
            | Source::UserMessageForwarded { .. }
            | Source::ClarifyResponse { .. }
            | Source::CrossProject { .. }
            | Source::BackgroundComplete { .. }
            | Source::Compact
            | Source::Interrupt) => Some(What::Said {
                who: sanitize::line(&entry::source(from)).into_owned(),
                by_person: from.is_of_user(),
                text: clean(&message.body),
                pictures: message.images.iter().map(|image| picture(image, blobs)).collect(),
            }),
        },
        Body::AssistantText(said) => Some(What::Said {
            who: "agent".to_owned(),
            by_person: false,
            text: clean(&said.text),
            pictures: Vec::new(),
        }),
        Body::Thinking(thought) if thought.redacted.is_some() => Some(What::Note(head)),
        Body::Thinking(thought) => folded("thinking".to_owned(), &thought.text),
        Body::CompactMarker(marker) => folded(head, &marker.summary),
        Body::ForkMarker(_)
        | Body::Repaired(_)
        | Body::DoneNotified(_)
        | Body::Error(_)
        | Body::AskRaised(_)
        | Body::Work(_) => {
            if said.trim().is_empty() {
                Some(What::Note(head))
            } else {
                Some(What::Said { who: head, by_person: false, text: clean(&said), pictures: Vec::new() })
            }
        }
        Body::Unknown(unknown) => folded(head, unknown.body.as_str()),
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
        // Whatever is not bookkeeping is told at least in the words of `mxd log`.
        _ => Some(What::Note(head)),
    }
}

fn outcome(result: &ToolResult, blobs: &Blobs<'_>) -> Outcome {
    let text = match &result.content {
        Content::Text { text } => clean(text),
        Content::Blob(blob) => match blobs(&blob.blob) {
            Some(bytes) => clean(&String::from_utf8_lossy(&bytes)),
            None => format!("[{} that are not there any more]", text::size(blob.bytes)),
        },
    };
    let pictures = result.images.iter().map(|image| picture(image, blobs)).collect();
    Outcome { failed: result.is_error, millis: result.duration_ms, text, pictures }
}

fn picture(image: &Image, blobs: &Blobs<'_>) -> Picture {
    let name = image.name.as_deref().unwrap_or("picture");
    let shown = PICTURES.contains(&image.media_type.as_str()) && image.data.bytes <= LARGEST_IMAGE;
    let bytes = if shown { blobs(&image.data.blob) } else { None };
    let encode = |bytes: Vec<u8>| {
        format!("data:{};base64,{}", image.media_type, base64::engine::general_purpose::STANDARD.encode(bytes))
    };
    Picture { name: sanitize::line(name).into_owned(), data: bytes.map(encode) }
}

/// Returns a tool's input as a person reads it: an object with short values in lines, anything else as JSON.
fn readable(input: &serde_json::Value) -> String {
    let Some(fields) = input.as_object() else { return input.to_string() };
    let field = |(name, value): (&String, &serde_json::Value)| match value {
        serde_json::Value::String(text) if text.contains('\n') => format!("{name}:\n{text}"),
        serde_json::Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    };
    fields.iter().map(field).collect::<Vec<_>>().join("\n")
}

/// Returns a text that is safe to show, and not too long.
fn clean(said: &str) -> String {
    let shown = text::prefix(said, LONGEST);
    let clean = sanitize::lines(shown);
    if shown.len() == said.len() {
        return clean.into_owned();
    }
    format!("{clean}\n… {} more", text::size((said.len() - shown.len()) as u64))
}

#[cfg(test)]
#[path = "story_tests.rs"]
mod tests;

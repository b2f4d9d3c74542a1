//! What of an event can be found, and as what. What Matrix itself tells an agent is left out: it repeats files, titles
//! and summaries that are found where they come from.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::base::text;
use crate::model::content::Content;
use crate::model::event::{Body, Event};
use crate::model::message::Source;
use crate::model::search::Place;
use crate::store::Blobs;

/// How much of one event is looked at. Outputs are cut far below this before a model sees them.
pub const MOST: usize = 1 << 20;

/// Returns what an event says, and where that counts as found.
pub fn said<'a>(event: &'a Event, blobs: &Blobs) -> Option<(Place, Cow<'a, str>)> {
    let (place, text): (Place, Cow<'a, str>) = match &event.body {
        Body::Message(message) => match &message.from {
            Source::User
            | Source::TaskMessage { .. }
            | Source::CrossProject { .. }
            | Source::BackgroundComplete { .. }
            | Source::Notice => (Place::Message, Cow::Borrowed(&message.body)),
            Source::TaskComplete { .. } => (Place::Result, Cow::Borrowed(&message.body)),
            Source::ClarifyResponse { .. } => (Place::Answer, Cow::Borrowed(&message.body)),
            Source::UserMessageForwarded { .. }
            | Source::TreeChange { .. }
            | Source::WorkContext
            | Source::CompactedResume
            | Source::Compact
            | Source::Begin
            | Source::BeginFork
            | Source::Continue
            | Source::Interrupt => return None,
        },
        Body::AssistantText(said) => (Place::Said, Cow::Borrowed(&said.text)),
        Body::Thinking(thought) => (Place::Thinking, Cow::Borrowed(&thought.text)),
        Body::ToolCall(call) => {
            (Place::Call, Cow::Owned(call_text(&call.name, call.input.as_str(), call.malformed.as_deref())))
        }
        Body::ToolResult(result) => (Place::Output, content(&result.content, blobs)?),
        Body::CompactMarker(marker) => (Place::Summary, Cow::Borrowed(&marker.summary)),
        Body::DoneNotified(done) => (Place::Result, Cow::Borrowed(&done.result)),
        Body::AskRaised(ask) => {
            let mut text = ask.question.clone();
            for part in std::iter::once(&ask.detail)
                .chain(ask.choices.iter().map(|choice| &choice.label))
                .filter(|part| !part.is_empty())
            {
                let _ = write!(text, "\n{part}");
            }
            (Place::Question, Cow::Owned(text))
        }
        Body::AskAnswered(answered) => (Place::Answer, Cow::Borrowed(&answered.answer.text)),
        Body::Error(error) => (Place::Error, Cow::Borrowed(&error.message)),
        _ => return None,
    };
    (!text.trim().is_empty()).then_some((place, text))
}

/// Returns the text of a result, as far as it is text and within bounds.
fn content<'a>(content: &'a Content, blobs: &Blobs) -> Option<Cow<'a, str>> {
    match content {
        Content::Text { text } => Some(Cow::Borrowed(text::prefix(text, MOST))),
        Content::Blob(blob) => {
            // One that is gone or too large to hold says nothing; the event is still there to be read.
            let bytes = if blob.bytes <= 64 << 20 { blobs.read(&blob.blob).ok()? } else { return None };
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MOST)]).into_owned();
            Some(Cow::Owned(text))
        }
    }
}

/// Returns what a tool was asked as a person would write it: the values, each after its name, without the signs of JSON.
fn call_text(name: &str, input: &str, malformed: Option<&str>) -> String {
    let mut out = name.to_owned();
    match (malformed, serde_json::from_str::<serde_json::Value>(input)) {
        (Some(text), _) => {
            let _ = write!(out, " {text}");
        }
        (None, Ok(value)) => flatten(&value, &mut out),
        (None, Err(_)) => {
            let _ = write!(out, " {input}");
        }
    }
    out
}

fn flatten(value: &serde_json::Value, out: &mut String) {
    use serde_json::Value;
    match value {
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) => {
            let _ = write!(out, " {value}");
        }
        Value::String(text) => {
            let _ = write!(out, " {text}");
        }
        Value::Array(values) => values.iter().for_each(|value| flatten(value, out)),
        Value::Object(fields) => {
            for (name, value) in fields {
                let _ = write!(out, " {name}:");
                flatten(value, out);
            }
        }
    }
}

#[cfg(test)]
#[path = "said_tests.rs"]
mod tests;

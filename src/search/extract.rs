//! Extracts the searchable text of events. Context that Matrix gives to agents is left out: it repeats files, titles
//! and summaries that are indexed at their source.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::base::text;
use crate::model::content::Content;
use crate::model::event::{Body, Event};
use crate::model::message::MessageSource;
use crate::model::search::HitKind;
use crate::store::Blobs;

/// The indexed size of one event. Outputs are cut far below this before a model sees them.
pub const MAX_TEXT: usize = 1 << 20;

/// Returns the text of an event and what kind of text it is, or `None` if the event is not searchable.
pub fn searchable_text<'a>(event: &'a Event, blobs: &Blobs) -> Option<(HitKind, Cow<'a, str>)> {
    let (place, text): (HitKind, Cow<'a, str>) = match &event.body {
        Body::Message(message) => match &message.from {
            MessageSource::User
            | MessageSource::TaskMessage { .. }
            | MessageSource::CrossProject { .. }
            | MessageSource::BackgroundComplete { .. }
            | MessageSource::Hook { .. }
            | MessageSource::Notice
            | MessageSource::Handover { .. } => (HitKind::Message, Cow::Borrowed(&message.body)),
            MessageSource::TaskComplete { .. } => (HitKind::Result, Cow::Borrowed(&message.body)),
            MessageSource::ClarifyResponse { .. } => (HitKind::Answer, Cow::Borrowed(&message.body)),
            MessageSource::UserMessageForwarded { .. }
            | MessageSource::TreeChange { .. }
            | MessageSource::WorkContext
            | MessageSource::CompactedResume
            | MessageSource::Compact
            | MessageSource::Begin
            | MessageSource::BeginFork
            | MessageSource::Continue
            | MessageSource::Interrupt => return None,
        },
        Body::AssistantText(said) => (HitKind::AgentText, Cow::Borrowed(&said.text)),
        Body::Thinking(thought) => (HitKind::Thinking, Cow::Borrowed(&thought.text)),
        Body::ToolCall(call) => {
            (HitKind::Call, Cow::Owned(call_text(&call.name, call.input.as_str(), call.malformed.as_deref())))
        }
        Body::ToolResult(result) => (HitKind::Output, content(&result.content, blobs)?),
        Body::CompactMarker(marker) => (HitKind::Summary, Cow::Borrowed(&marker.summary)),
        Body::DoneNotified(done) => (HitKind::Result, Cow::Borrowed(&done.result)),
        Body::AskRaised(ask) => {
            let mut text = ask.question.clone();
            for part in std::iter::once(&ask.detail)
                .chain(ask.choices.iter().map(|choice| &choice.label))
                .filter(|part| !part.is_empty())
            {
                let _ = write!(text, "\n{part}");
            }
            (HitKind::Question, Cow::Owned(text))
        }
        Body::AskAnswered(answered) => (HitKind::Answer, Cow::Borrowed(&answered.answer.text)),
        Body::Error(error) => (HitKind::Error, Cow::Borrowed(&error.message)),
        _ => return None,
    };
    (!text.trim().is_empty()).then_some((place, text))
}

/// Returns the text of a result, if it is text and within bounds.
fn content<'a>(content: &'a Content, blobs: &Blobs) -> Option<Cow<'a, str>> {
    match content {
        Content::Text { text } => Some(Cow::Borrowed(text::prefix(text, MAX_TEXT))),
        Content::Blob(blob) => {
            // A blob that is gone or too large is not indexed.
            let bytes = if blob.bytes <= 64 << 20 { blobs.read(&blob.blob).ok()? } else { return None };
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_TEXT)]).into_owned();
            Some(Cow::Owned(text))
        }
    }
}

/// Returns a tool call as plain text: each value after its name, without JSON punctuation.
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
#[path = "extract_tests.rs"]
mod tests;

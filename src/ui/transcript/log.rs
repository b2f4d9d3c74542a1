//! The events of a session as lines: time, type and summary.

use serde::Serialize;
use serde_json::Value;

use crate::base::{EventId, Timestamp, sanitize, text};
use crate::model::{Body, Content, Event};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    pub id: EventId,
    pub at: Timestamp,
    pub kind: String,
    pub summary: String,
}

/// The maximum characters of a summary.
const SUMMARY: usize = 160;

pub fn line(event: &Event) -> LogLine {
    let kind = sanitize::line(event.body.kind()).into_owned();
    LogLine { id: event.id, at: event.ts, kind, summary: summary(&event.body) }
}

fn summary(body: &Body) -> String {
    let brief = |words: &str| text::headline(&sanitize::line(text::prefix(words, 4 * SUMMARY)), SUMMARY);
    match body {
        Body::Message(message) => brief(&message.body),
        Body::MessagesConsumed(it) => text::count(it.ids.len(), "message", "messages"),
        Body::MessagesWithdrawn(it) => text::count(it.ids.len(), "message", "messages"),
        Body::SessionConfig(it) => {
            format!("{} with {}", brief(&it.model), text::count(it.tools.len(), "tool", "tools"))
        }
        Body::AssistantText(it) => brief(&it.text),
        Body::Thinking(it) => brief(&it.text),
        Body::ToolCall(it) => format!("{} {}", brief(&it.name), brief(it.input.as_str())),
        Body::ToolResult(it) => match &it.content {
            Content::Text { text } => brief(text),
            Content::Blob(blob) => text::size(blob.bytes),
        },
        Body::Usage(it) => {
            let cost = it.cost.map_or_else(|| "price unknown".to_owned(), |cost| cost.to_string());
            format!("{} in, {} out, {cost}", it.tokens.context(), it.tokens.output)
        }
        Body::TurnEnded(it) => name(&it.stop),
        Body::CompactStarted(it) => name(&it.trigger),
        Body::CompactMarker(it) => format!("{} to {} tokens", it.tokens_before, it.tokens_after),
        Body::ForkMarker(it) => brief(&it.title),
        Body::HandedOver(it) => brief(&it.to),
        Body::RunStarted(it) => format!("{} {}", brief(&it.profile), brief(&it.model)),
        Body::RunEnded(it) => name(&it.exit),
        Body::DoneNotified(it) => brief(&it.result),
        Body::AskRaised(it) => brief(&it.question),
        Body::AskAnswered(it) => brief(&it.answer.text),
        Body::AskWithdrawn(it) => brief(&it.reason),
        Body::CallReleased(it) => brief(&it.call),
        Body::Granted(it) => brief(&it.grant.to_string()),
        Body::BudgetWarning(it) => format!("{} of {}", it.spent, it.limit),
        Body::BudgetExceeded(it) => format!("{} of {}", it.spent, it.limit),
        Body::Error(it) => brief(&it.message),
        Body::Repaired(it) => brief(&it.steps.join("; ")),
        Body::HeadMoved(it) => name(&it.reason),
        Body::Snapshot(it) => brief(&it.tree),
        Body::Work(it) => brief(&it.to_string()),
        Body::Backend(it) => brief(&it.to_string()),
        Body::TaskChanged(_) => String::new(),
        Body::HookRan(it) => brief(&it.sentence()),
        Body::Unknown(it) => brief(it.body.as_str()),
    }
}

/// Returns the stored name of an enum value.
fn name(word: &impl Serialize) -> String {
    match serde_json::to_value(word) {
        Ok(Value::String(name)) => sanitize::line(&name).into_owned(),
        Ok(value) => text::headline(&sanitize::line(&value.to_string()), SUMMARY),
        Err(_) => String::new(),
    }
}

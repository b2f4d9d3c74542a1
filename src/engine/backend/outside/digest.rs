//! What an agent must know to go on with a conversation that its program does not have. Pure.

use std::fmt::Write as _;

use crate::base::text;
use crate::model::content::Content;
use crate::model::event::{Body, Event};
use crate::model::fold::PendingMessages;
use crate::model::message::MessageSource;
use crate::model::{render, tool_words};

/// How many of the last steps are told, and how much of each.
const STEPS: usize = 40;
const STEP_CHARS: usize = 700;
const RESULT_CHARS: usize = 200;

/// Returns a digest of a conversation. Empty if nothing has happened yet.
pub(super) fn digest(events: &[Event], pending: &PendingMessages) -> String {
    // What the agent has not read yet is in its next prompt.
    let is_pending = |body: &Body| matches!(body, Body::Message(message) if pending.get(message.id).is_some());
    let read = events.iter().map(|event| &event.body).filter(|body| !is_pending(body));
    let steps: Vec<String> = read.filter_map(step).collect();
    if steps.is_empty() {
        return String::new();
    }
    let skipped = steps.len().saturating_sub(STEPS);
    let mut out = String::from(
        "This task was worked on before, in a session that you do not have. What follows is a digest of it, oldest first. \
         The files are as it left them: look at `git log`, `git status` and `git diff` before you go on.\n",
    );
    if skipped > 0 {
        let _ = writeln!(out, "\n[{} before this]", text::count(skipped, "step", "steps"));
    }
    for step in &steps[skipped..] {
        let _ = writeln!(out, "\n{}", render::escape_tags(step));
    }
    out
}

fn step(body: &Body) -> Option<String> {
    let cut = |text: &str, chars: usize| {
        let whole = text.trim();
        let shown: String = whole.chars().take(chars).collect();
        if shown.len() < whole.len() { format!("{shown} […]") } else { shown }
    };
    Some(match body {
        Body::Message(message) => {
            let from = match &message.from {
                MessageSource::User | MessageSource::ClarifyResponse { .. } => "User".to_owned(),
                MessageSource::TaskMessage { title, .. } | MessageSource::TaskComplete { title, .. } => {
                    format!("Task \"{}\"", text::headline(title, 60))
                }
                MessageSource::CompactedResume => "Summary so far".to_owned(),
                _ => return None,
            };
            format!("{from}: {}", cut(&message.body, STEP_CHARS))
        }
        Body::AssistantText(said) => format!("You said: {}", cut(&said.text, STEP_CHARS)),
        Body::ToolCall(call) => format!("You did: {}", tool_words::sentence(call)),
        Body::ToolResult(result) if result.is_error => match &result.content {
            Content::Text { text } => format!("That failed: {}", cut(text, RESULT_CHARS)),
            Content::Blob(_) => "That failed.".to_owned(),
        },
        Body::CompactMarker(marker) => format!("Summary so far: {}", cut(&marker.summary, 4 * STEP_CHARS)),
        _ => return None,
    })
}

#[cfg(test)]
#[path = "digest_tests.rs"]
mod tests;

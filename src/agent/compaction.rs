//! Compaction: the threshold, the request for a summary, and the validation of the summary.
//!
//! A summary replaces the whole conversation, so a bad one is worse than none. A summary that is missing, empty or far
//! too short is rejected, and the conversation stays as it is.

use std::sync::Arc;

use crate::model::conversation::{Block, Role, RoleMessage, ToolOutcome, ToolUse};
use crate::model::{Content, render};

use crate::base::{Json, text};

/// Distance to the threshold, in tokens, from which an exact count is worth a request.
pub const COUNT_MARGIN: u64 = 16_000;
/// Minimum length of a summary in characters. A shorter one cannot cover a long conversation.
const SHORTEST: usize = 200;
/// From this window size up, a smaller share of the window is enough for the summary.
const LARGE_WINDOW: u64 = 1_000_000;

/// Returns the number of tokens of `window` from which the conversation is summarised.
pub fn threshold(window: u64) -> u64 {
    let percent = if window >= LARGE_WINDOW { 90 } else { 83 };
    window / 100 * percent + window % 100 * percent / 100
}

/// The instruction at the end of a request for a summary. It is not part of the conversation.
pub const INSTRUCTION: &str = include_str!("../../assets/prompts/compact.md");

/// The sections of a summary. More than half of them must be present.
pub const SECTIONS: [&str; 7] = [
    "User requests",
    "Current phase",
    "Completed work",
    "Task tree",
    "Insights and rejected approaches",
    "Key context",
    "Pending work",
];

/// Why a summary was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSummary {
    #[error("the model gave no summary")]
    Missing,
    #[error("the summary is empty")]
    Empty,
    #[error("the summary has only {0} characters")]
    TooShort(usize),
    #[error("the summary lacks {}", .0.join(", "))]
    Incomplete(Vec<&'static str>),
}

/// Returns the summary inside the `<summary>` tags of a response.
pub fn extract(response: &str) -> Result<String, BadSummary> {
    let after = response.split_once("<summary>").ok_or(BadSummary::Missing)?.1;
    // A summary may quote the closing tag, so take the last one.
    let summary = after.rsplit_once("</summary>").ok_or(BadSummary::Missing)?.0.trim();
    if summary.is_empty() {
        return Err(BadSummary::Empty);
    }
    let length = summary.chars().count();
    if length < SHORTEST {
        return Err(BadSummary::TooShort(length));
    }
    let lower = summary.to_lowercase();
    let missing: Vec<_> = SECTIONS.into_iter().filter(|section| !lower.contains(&section.to_lowercase())).collect();
    if missing.len() > SECTIONS.len() / 2 {
        return Err(BadSummary::Incomplete(missing));
    }
    Ok(summary.to_owned())
}

/// How much of the conversation a request for a summary carries. A conversation that no longer fits can still be
/// summarised without the bulk of its outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trim {
    #[default]
    Whole,
    /// Long results keep only their beginning and end.
    LongResults,
    /// All results and texts keep only their beginning and end. Images and thinking are omitted.
    Everything,
}

impl Trim {
    /// Returns the next stronger level, or `None` for the strongest.
    pub fn stronger(self) -> Option<Self> {
        match self {
            Self::Whole => Some(Self::LongResults),
            Self::LongResults => Some(Self::Everything),
            Self::Everything => None,
        }
    }
}

/// Returns the conversation of a request for a summary: trimmed, with the instruction at its end.
pub fn request(messages: &[Arc<RoleMessage>], trim: Trim) -> Vec<Arc<RoleMessage>> {
    let mut messages: Vec<Arc<RoleMessage>> = match trim {
        Trim::Whole => messages.to_vec(),
        Trim::LongResults => messages.iter().map(|message| Arc::new(trim_message(message, 8_000, false))).collect(),
        Trim::Everything => {
            // The last response keeps its thinking: vendors require it in front of tool calls.
            let last = messages.iter().rposition(|message| message.role == Role::Assistant);
            let trim =
                |(at, message): (usize, &Arc<RoleMessage>)| Arc::new(trim_message(message, 1_000, Some(at) != last));
            messages.iter().enumerate().map(trim).collect()
        }
    };
    if messages.last().is_none_or(|message| message.role == Role::Assistant) {
        messages.push(Arc::new(RoleMessage { role: Role::User, blocks: Vec::new() }));
    }
    answer_open_calls(&mut messages);
    if let Some(message) = messages.last_mut() {
        Arc::make_mut(message).blocks.push(Block::Text(INSTRUCTION.to_owned()));
    }
    messages
}

/// Answers the calls that the agent sleeps on, in this request only: no API accepts a call without its result.
fn answer_open_calls(messages: &mut [Arc<RoleMessage>]) {
    let [.., response, results] = messages else { return };
    let calls = response.blocks.iter().filter_map(|block| match block {
        Block::ToolUse(call) => Some(&call.call),
        Block::Text(_) | Block::Thinking(_) | Block::ToolResult(_) | Block::Image(_) => None,
    });
    for (position, call) in calls.enumerate() {
        let answered = |block: &Block| matches!(block, Block::ToolResult(outcome) if outcome.call == *call);
        if results.blocks.iter().any(answered) {
            continue;
        }
        let content = Content::text("Still waiting.");
        let outcome = ToolOutcome { call: call.clone(), content, is_error: false, images: Vec::new() };
        let results = &mut Arc::make_mut(results).blocks;
        results.insert(position.min(results.len()), Block::ToolResult(outcome));
    }
}

fn trim_message(message: &RoleMessage, bytes: usize, everything: bool) -> RoleMessage {
    let blocks = message.blocks.iter().filter_map(|block| match block {
        Block::ToolResult(outcome) => {
            let mut outcome = outcome.clone();
            outcome.content = match outcome.content {
                Content::Text { text } => Content::text(head_and_tail(&text, bytes)),
                Content::Blob(blob) => Content::text(format!("[{} left out]", text::size(blob.bytes))),
            };
            if everything {
                outcome.images.clear();
            }
            Some(Block::ToolResult(outcome))
        }
        Block::Text(text) if everything => Some(Block::Text(head_and_tail(text, bytes))),
        Block::ToolUse(call) if call.input.as_str().len() > bytes => {
            let left_out = text::size(call.input.as_str().len() as u64);
            let input = Json::of(&serde_json::json!({ "left_out": left_out })).unwrap_or_default();
            Some(Block::ToolUse(ToolUse { input, ..call.clone() }))
        }
        Block::Thinking(_) | Block::Image(_) if everything => None,
        Block::Text(_) | Block::Thinking(_) | Block::Image(_) | Block::ToolUse(_) => Some(block.clone()),
    });
    RoleMessage { role: message.role, blocks: blocks.collect() }
}

/// Returns the beginning and the end of a text with a note of how much was omitted between them.
pub fn head_and_tail(whole: &str, bytes: usize) -> String {
    if whole.len() <= bytes {
        return whole.to_owned();
    }
    let (head, tail) = (text::prefix(whole, bytes / 2), text::suffix(whole, bytes / 2));
    let cut = (whole.len() - head.len() - tail.len()) as u64;
    format!("{head}\n[… {} left out …]\n{tail}", text::size(cut))
}

/// Returns the body of the message that opens the conversation after a compaction.
pub fn resume_text(summary: &str) -> String {
    format!(
        "Your context was full and has been summarised. What follows is your own summary; the conversation before it is \
         no longer visible to you. Go on from the pending work, without repeating what is completed.\n\n{}",
        render::escape_tags(summary)
    )
}

#[cfg(test)]
#[path = "compaction_tests.rs"]
mod tests;

//! Compaction: when a conversation is summarised, what is asked for, and what counts as an answer.
//!
//! A summary replaces everything the agent knows, so a bad one is worse than none: what is missing, empty, refused or
//! absurdly short is not accepted, and the conversation stays.

use std::sync::Arc;

use crate::model::conversation::{Block, Role, Speech, ToolOutcome, ToolUse};
use crate::model::{Content, render};

use crate::base::{Json, text};

/// How near to the threshold an estimate must come before it is worth an exact count.
pub const COUNT_MARGIN: u64 = 16_000;
/// A summary of a long conversation that is shorter than this has not understood the question.
const SHORTEST: usize = 200;
/// From this window up, a smaller part of it is enough for the summary itself.
const LARGE_WINDOW: u64 = 1_000_000;

/// Returns how many tokens of `window` may be used before the conversation is summarised.
pub fn threshold(window: u64) -> u64 {
    let percent = if window >= LARGE_WINDOW { 90 } else { 83 };
    window / 100 * percent + window % 100 * percent / 100
}

/// What the model is asked, as the last thing of a request that nobody keeps.
pub const INSTRUCTION: &str = include_str!("../../assets/prompts/compact.md");

/// The sections that a summary must have.
pub const SECTIONS: [&str; 7] = [
    "User requests",
    "Current phase",
    "Completed work",
    "Task tree",
    "Insights and rejected approaches",
    "Key context",
    "Pending work",
];

/// Why a summary was not accepted.
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

/// Returns the summary that a response contains.
pub fn extract(response: &str) -> Result<String, BadSummary> {
    let after = response.split_once("<summary>").ok_or(BadSummary::Missing)?.1;
    // A model that quotes the closing tag inside its summary means the last one.
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

/// How much of the conversation a request for a summary carries. A conversation that no longer fits is still worth
/// summarising without the bulk of its outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trim {
    #[default]
    Whole,
    /// Long results are cut to their ends.
    LongResults,
    /// Every result and text is cut to its ends, images and thinking are left out.
    Everything,
}

impl Trim {
    /// Returns the next stronger one.
    pub fn stronger(self) -> Option<Self> {
        match self {
            Self::Whole => Some(Self::LongResults),
            Self::LongResults => Some(Self::Everything),
            Self::Everything => None,
        }
    }
}

/// Returns the conversation as a request for a summary carries it: trimmed, and ending in the instruction.
pub fn request(speeches: &[Arc<Speech>], trim: Trim) -> Vec<Arc<Speech>> {
    let mut speeches: Vec<Arc<Speech>> = match trim {
        Trim::Whole => speeches.to_vec(),
        Trim::LongResults => speeches.iter().map(|speech| Arc::new(trimmed(speech, 8_000, false))).collect(),
        Trim::Everything => {
            // The last response keeps its thinking: where calls follow it, vendors insist on it.
            let last = speeches.iter().rposition(|speech| speech.role == Role::Assistant);
            let trim = |(at, speech): (usize, &Arc<Speech>)| Arc::new(trimmed(speech, 1_000, Some(at) != last));
            speeches.iter().enumerate().map(trim).collect()
        }
    };
    if speeches.last().is_none_or(|speech| speech.role == Role::Assistant) {
        speeches.push(Arc::new(Speech { role: Role::User, blocks: Vec::new() }));
    }
    answer_open_calls(&mut speeches);
    if let Some(speech) = speeches.last_mut() {
        Arc::make_mut(speech).blocks.push(Block::Text(INSTRUCTION.to_owned()));
    }
    speeches
}

/// Answers what the agent sleeps on, in this request alone: no API takes a call without its result.
fn answer_open_calls(speeches: &mut [Arc<Speech>]) {
    let [.., response, heard] = speeches else { return };
    let calls = response.blocks.iter().filter_map(|block| match block {
        Block::ToolUse(call) => Some(&call.call),
        Block::Text(_) | Block::Thinking(_) | Block::ToolResult(_) | Block::Image(_) => None,
    });
    for (position, call) in calls.enumerate() {
        let answered = |block: &Block| matches!(block, Block::ToolResult(outcome) if outcome.call == *call);
        if heard.blocks.iter().any(answered) {
            continue;
        }
        let content = Content::text("Still waiting.");
        let outcome = ToolOutcome { call: call.clone(), content, is_error: false, images: Vec::new() };
        let heard = &mut Arc::make_mut(heard).blocks;
        heard.insert(position.min(heard.len()), Block::ToolResult(outcome));
    }
}

fn trimmed(speech: &Speech, bytes: usize, everything: bool) -> Speech {
    let blocks = speech.blocks.iter().filter_map(|block| match block {
        Block::ToolResult(outcome) => {
            let mut outcome = outcome.clone();
            outcome.content = match outcome.content {
                Content::Text { text } => Content::text(ends(&text, bytes)),
                Content::Blob(blob) => Content::text(format!("[{} left out]", text::size(blob.bytes))),
            };
            if everything {
                outcome.images.clear();
            }
            Some(Block::ToolResult(outcome))
        }
        Block::Text(text) if everything => Some(Block::Text(ends(text, bytes))),
        Block::ToolUse(call) if call.input.as_str().len() > bytes => {
            let left_out = text::size(call.input.as_str().len() as u64);
            let input = Json::of(&serde_json::json!({ "left_out": left_out })).unwrap_or_default();
            Some(Block::ToolUse(ToolUse { input, ..call.clone() }))
        }
        Block::Thinking(_) | Block::Image(_) if everything => None,
        Block::Text(_) | Block::Thinking(_) | Block::Image(_) | Block::ToolUse(_) => Some(block.clone()),
    });
    Speech { role: speech.role, blocks: blocks.collect() }
}

/// Returns the beginning and the end of a text, and how much is missing between them.
pub fn ends(whole: &str, bytes: usize) -> String {
    if whole.len() <= bytes {
        return whole.to_owned();
    }
    let (head, tail) = (text::prefix(whole, bytes / 2), text::suffix(whole, bytes / 2));
    let cut = (whole.len() - head.len() - tail.len()) as u64;
    format!("{head}\n[… {} left out …]\n{tail}", text::size(cut))
}

/// Returns what an agent reads first after a compaction.
pub fn resume_text(summary: &str) -> String {
    format!(
        "Your context was full and has been summarised. What follows is your own summary; the conversation before it is \
         no longer visible to you. Go on from the pending work, without repeating what is completed.\n\n{}",
        render::neutral(summary)
    )
}

#[cfg(test)]
#[path = "compaction_tests.rs"]
mod tests;

//! What the context is filled with, by kind. Sizes are counted in bytes as events come; what they are in tokens is known
//! only of the whole, so a part is said as its share of what the provider counted.

use serde::{Deserialize, Serialize};

use crate::model::content::{Content, Image};
use crate::model::conversation::ToolUse;
use crate::model::event::{SessionConfig, ToolResult};
use crate::model::message::{Message, Source};

/// What a picture weighs beside text: providers count it at about fifteen hundred tokens, whatever its file is.
const PICTURE_BYTES: u64 = 6_000;

/// A kind of thing in the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The system prompt, and where the agent is and what it should know.
    Instructions,
    /// The descriptions of the tools.
    Tools,
    /// A summary of what came before.
    Summary,
    /// What was said to the agent, by whomever.
    Messages,
    /// What the agent thought and said.
    Words,
    /// What the agent asked of tools.
    Calls,
    /// What tools answered.
    Results,
}

/// How many bytes of the context are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Filling {
    prompt: u64,
    place: u64,
    tools: u64,
    summary: u64,
    messages: u64,
    words: u64,
    calls: u64,
    results: u64,
}

impl Filling {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the share of each kind in `tokens`, the largest first. What has none is left out.
    pub fn shares(&self, tokens: u64) -> Vec<(Part, u64)> {
        let parts = [
            (Part::Instructions, self.prompt + self.place),
            (Part::Tools, self.tools),
            (Part::Summary, self.summary),
            (Part::Messages, self.messages),
            (Part::Words, self.words),
            (Part::Calls, self.calls),
            (Part::Results, self.results),
        ];
        let total: u64 = parts.iter().map(|(_, bytes)| bytes).sum();
        let share = |bytes: u64| u128::from(tokens) * u128::from(bytes) / u128::from(total.max(1));
        let mut shares: Vec<_> = parts
            .into_iter()
            .filter(|(_, bytes)| *bytes > 0)
            .map(|(part, bytes)| (part, u64::try_from(share(bytes)).unwrap_or(u64::MAX)))
            .collect();
        shares.sort_by_key(|(part, tokens)| (std::cmp::Reverse(*tokens), *part));
        shares
    }

    pub fn configured(&mut self, config: &SessionConfig) {
        self.prompt = (config.system.stable.len() + config.system.variable.len()) as u64;
        let tools = config.tools.iter().map(|tool| tool.description.len() + tool.schema.as_str().len());
        self.tools = tools.sum::<usize>() as u64;
    }

    pub fn message(&mut self, message: &Message) {
        match &message.from {
            Source::WorkContext => self.place = message.body.len() as u64,
            Source::CompactedResume => self.summary = message.body.len() as u64,
            Source::Compact => {}
            Source::User
            | Source::Begin
            | Source::BeginFork
            | Source::Continue
            | Source::TaskMessage { .. }
            | Source::TaskComplete { .. }
            | Source::UserMessageForwarded { .. }
            | Source::TreeChange { .. }
            | Source::ClarifyResponse { .. }
            | Source::CrossProject { .. }
            | Source::BackgroundComplete { .. }
            | Source::Interrupt
            | Source::Notice => self.messages += message.body.len() as u64 + pictures(&message.images),
        }
    }

    /// Adds what the agent thought or said.
    pub fn said(&mut self, text: &str) {
        self.words += text.len() as u64;
    }

    pub fn tool_call(&mut self, call: &ToolUse) {
        self.calls += call.input.as_str().len() as u64;
    }

    pub fn tool_result(&mut self, result: &ToolResult) {
        let bytes = match &result.content {
            Content::Text { text } => text.len() as u64,
            Content::Blob(blob) => blob.bytes,
        };
        self.results += bytes + pictures(&result.images);
    }

    /// Returns what the context has after a summary: what stands before every conversation stays, the rest starts over.
    pub fn summarized(&self, summary: &str) -> Self {
        let Self { prompt, place, tools, .. } = *self;
        Self { prompt, place, tools, summary: summary.len() as u64, ..Self::default() }
    }
}

fn pictures(images: &[Image]) -> u64 {
    images.len() as u64 * PICTURE_BYTES
}

#[cfg(test)]
#[path = "filling_tests.rs"]
mod tests;

//! The content of the context by kind. Sizes are counted in bytes; tokens are known only for the whole, so a part is
//! its share of the provider's count.

use serde::{Deserialize, Serialize};

use crate::model::content::{Content, Image};
use crate::model::conversation::ToolUse;
use crate::model::event::{SessionConfig, ToolResult};
use crate::model::message::{Message, MessageSource};

/// The weight of a picture compared to text: providers count about fifteen hundred tokens, whatever its file size.
const PICTURE_BYTES: u64 = 6_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The system prompt and the work context.
    Instructions,
    /// The descriptions of the tools.
    Tools,
    /// The summary of a compaction.
    Summary,
    /// Messages to the agent, from any source.
    Messages,
    /// Text and thinking of the agent.
    Words,
    /// Tool calls.
    Calls,
    /// Tool results.
    Results,
}

/// The number of bytes of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct ContextBreakdown {
    prompt: u64,
    place: u64,
    tools: u64,
    summary: u64,
    messages: u64,
    words: u64,
    calls: u64,
    results: u64,
}

impl ContextBreakdown {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the share of each kind in `tokens`, the largest first. Empty kinds are left out.
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

    pub fn on_config(&mut self, config: &SessionConfig) {
        self.prompt = (config.system.stable.len() + config.system.variable.len()) as u64;
        let tools = config.tools.iter().map(|tool| tool.description.len() + tool.schema.as_str().len());
        self.tools = tools.sum::<usize>() as u64;
    }

    pub fn on_message(&mut self, message: &Message) {
        match &message.from {
            MessageSource::WorkContext => self.place = message.body.len() as u64,
            MessageSource::CompactedResume => self.summary = message.body.len() as u64,
            MessageSource::Compact => {}
            MessageSource::User
            | MessageSource::Begin
            | MessageSource::BeginFork
            | MessageSource::Continue
            | MessageSource::TaskMessage { .. }
            | MessageSource::TaskComplete { .. }
            | MessageSource::UserMessageForwarded { .. }
            | MessageSource::TreeChange { .. }
            | MessageSource::ClarifyResponse { .. }
            | MessageSource::CrossProject { .. }
            | MessageSource::BackgroundComplete { .. }
            | MessageSource::Interrupt
            | MessageSource::Hook { .. }
            | MessageSource::Notice
            | MessageSource::Handover { .. } => self.messages += message.body.len() as u64 + pictures(&message.images),
        }
    }

    /// Adds text or thinking of the agent.
    pub fn on_text(&mut self, text: &str) {
        self.words += text.len() as u64;
    }

    pub fn on_tool_call(&mut self, call: &ToolUse) {
        self.calls += call.input.as_str().len() as u64;
    }

    pub fn on_tool_result(&mut self, result: &ToolResult) {
        let bytes = match &result.content {
            Content::Text { text } => text.len() as u64,
            Content::Blob(blob) => blob.bytes,
        };
        self.results += bytes + pictures(&result.images);
    }

    /// Returns the breakdown after a compaction: the fixed prefix stays, the rest starts over.
    pub fn after_compaction(&self, summary: &str) -> Self {
        let Self { prompt, place, tools, .. } = *self;
        Self { prompt, place, tools, summary: summary.len() as u64, ..Self::default() }
    }
}

fn pictures(images: &[Image]) -> u64 {
    images.len() as u64 * PICTURE_BYTES
}

#[cfg(test)]
#[path = "context_breakdown_tests.rs"]
mod tests;

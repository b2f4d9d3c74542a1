//! How full the context is: what the provider last counted, plus a guess for what came after.

use crate::model::Content;
use crate::model::event::{Body, Event};

/// Text and code run at three to four bytes a token; the low end errs towards summarising in time.
const BYTES_PER_TOKEN: u64 = 3;

/// An estimate of the tokens that the next request will carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauge {
    counted: u64,
    added_bytes: u64,
}

impl Gauge {
    pub fn replay<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut gauge = Self::default();
        events.into_iter().for_each(|event| gauge.apply(event));
        gauge
    }

    pub fn tokens(&self) -> u64 {
        self.counted.saturating_add(self.added_bytes / BYTES_PER_TOKEN)
    }

    /// Takes an exact count of the request as it would be now.
    pub fn count(&mut self, tokens: u64) {
        *self = Self { counted: tokens, added_bytes: 0 };
    }

    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Usage(usage) => self.count(usage.tokens.total()),
            Body::CompactMarker(marker) => self.count(marker.tokens_after),
            Body::Message(message) => self.add(message.body.len()),
            Body::ToolResult(result) => match &result.content {
                Content::Text { text } => self.add(text.len()),
                Content::Blob(blob) => self.add(usize::try_from(blob.bytes).unwrap_or(usize::MAX)),
            },
            Body::SessionConfig(config) => {
                let tools: usize =
                    config.tools.iter().map(|tool| tool.description.len() + tool.schema.as_str().len()).sum();
                self.add(tools + config.system.stable.len() + config.system.variable.len());
            }
            Body::MessagesConsumed(_)
            | Body::MessagesWithdrawn(_)
            | Body::AssistantText(_)
            | Body::Thinking(_)
            | Body::ToolCall(_)
            | Body::TurnEnded(_)
            | Body::CompactStarted(_)
            | Body::ForkMarker(_)
            | Body::RunStarted(_)
            | Body::RunEnded(_)
            | Body::DoneNotified(_)
            | Body::AskRaised(_)
            | Body::AskAnswered(_)
            | Body::AskWithdrawn(_)
            | Body::BudgetWarning(_)
            | Body::BudgetExceeded(_)
            | Body::Error(_)
            | Body::Repaired(_)
            | Body::HeadMoved(_)
            | Body::Snapshot(_)
            | Body::TaskChanged(_)
            | Body::Unknown(_) => {}
        }
    }

    fn add(&mut self, bytes: usize) {
        self.added_bytes = self.added_bytes.saturating_add(bytes as u64);
    }
}

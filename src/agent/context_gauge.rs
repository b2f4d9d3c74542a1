//! Estimates how full the context is: the provider's last count, plus a guess for everything added since.

use crate::model::Content;
use crate::model::event::{Body, Event};
use crate::model::message::MessageSource;

/// Text and code have three to four bytes per token. The low end errs towards summarising in time.
const BYTES_PER_TOKEN: u64 = 3;

/// The high end, for estimates that must not be too large.
const MOST_BYTES_PER_TOKEN: u64 = 4;

/// An estimate of the tokens that the next request will carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextEstimate {
    counted: u64,
    added_bytes: u64,
    config_bytes: u64,
    context_bytes: u64,
    summary: Summary,
}

/// The known effect of the last summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Summary {
    #[default]
    None,
    /// No request was sent since the summary was written.
    Fresh,
    /// The first request after the summary read this many tokens.
    Tried(u64),
}

impl ContextEstimate {
    pub fn replay<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut gauge = Self::default();
        events.into_iter().for_each(|event| gauge.apply(event));
        gauge
    }

    pub fn tokens(&self) -> u64 {
        self.counted.saturating_add(self.added_bytes / BYTES_PER_TOKEN)
    }

    /// Returns the size of a request that no summary can reduce: that of the first request after the last summary, or
    /// of the configuration and work context that precede every conversation.
    pub fn minimum_tokens(&self) -> u64 {
        let before = self.config_bytes.saturating_add(self.context_bytes) / MOST_BYTES_PER_TOKEN;
        match self.summary {
            Summary::None | Summary::Fresh => before,
            Summary::Tried(tokens) => before.max(tokens),
        }
    }

    /// Replaces the estimate by an exact count of the next request.
    pub fn set_exact(&mut self, tokens: u64) {
        self.counted = tokens;
        self.added_bytes = 0;
    }

    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Usage(usage) => {
                self.set_exact(usage.tokens.total());
                if self.summary == Summary::Fresh {
                    self.summary = Summary::Tried(usage.tokens.total().saturating_sub(usage.tokens.output));
                }
            }
            Body::CompactMarker(marker) => {
                self.set_exact(marker.tokens_after);
                self.summary = Summary::Fresh;
            }
            Body::HandedOver(_) => *self = Self::default(),
            Body::Message(message) => {
                if message.from == MessageSource::WorkContext {
                    self.context_bytes = message.body.len() as u64;
                }
                self.add(message.body.len());
            }
            Body::ToolResult(result) => match &result.content {
                Content::Text { text } => self.add(text.len()),
                Content::Blob(blob) => self.add(usize::try_from(blob.bytes).unwrap_or(usize::MAX)),
            },
            Body::SessionConfig(config) => {
                let tools: usize =
                    config.tools.iter().map(|tool| tool.description.len() + tool.schema.as_str().len()).sum();
                let bytes = tools + config.system.stable.len() + config.system.variable.len();
                self.config_bytes = bytes as u64;
                self.add(bytes);
            }
            _ => {}
        }
    }

    fn add(&mut self, bytes: usize) {
        self.added_bytes = self.added_bytes.saturating_add(bytes as u64);
    }
}

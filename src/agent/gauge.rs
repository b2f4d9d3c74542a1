//! How full the context is: what the provider last counted, plus a guess for what came after.

use crate::model::Content;
use crate::model::event::{Body, Event};
use crate::model::message::Source;

/// Text and code run at three to four bytes a token; the low end errs towards summarising in time.
const BYTES_PER_TOKEN: u64 = 3;

/// The high end, for what must not be overrated.
const MOST_BYTES_PER_TOKEN: u64 = 4;

/// An estimate of the tokens that the next request will carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauge {
    counted: u64,
    added_bytes: u64,
    config_bytes: u64,
    context_bytes: u64,
    summary: Summary,
}

/// What is known of the last summary's effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Summary {
    #[default]
    None,
    /// It was made, and no request since.
    Fresh,
    /// The first request after it read so many tokens.
    Tried(u64),
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

    /// Returns what a request has at least, whatever is summarised: what the first one after a summary had, or what
    /// stands before every conversation.
    pub fn least(&self) -> u64 {
        let before = self.config_bytes.saturating_add(self.context_bytes) / MOST_BYTES_PER_TOKEN;
        match self.summary {
            Summary::None | Summary::Fresh => before,
            Summary::Tried(tokens) => before.max(tokens),
        }
    }

    /// Takes an exact count of the request as it would be now.
    pub fn count(&mut self, tokens: u64) {
        self.counted = tokens;
        self.added_bytes = 0;
    }

    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Usage(usage) => {
                self.count(usage.tokens.total());
                if self.summary == Summary::Fresh {
                    self.summary = Summary::Tried(usage.tokens.total().saturating_sub(usage.tokens.output));
                }
            }
            Body::CompactMarker(marker) => {
                self.count(marker.tokens_after);
                self.summary = Summary::Fresh;
            }
            Body::Message(message) => {
                if message.from == Source::WorkContext {
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

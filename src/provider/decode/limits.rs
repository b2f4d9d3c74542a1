//! Size limits of a response. A larger one is taken for a response that never ends.
//!
//! The longest responses that models give today have 128,000 tokens. That is about half a megabyte of text, and on the
//! most verbose wire about 50 MB of events.

use crate::base::text;
use crate::provider::decode::ContentSize;
use crate::provider::error::{ApiError, ErrorClass};

/// The sizes at which a response is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseLimits {
    /// Decompressed bytes of the stream: events, keep-alives and everything in between.
    pub wire_bytes: u64,
    /// Bytes of text, thinking and tool input.
    pub content_bytes: usize,
    /// Texts, thoughts and tool calls.
    pub blocks: usize,
}

impl Default for ResponseLimits {
    fn default() -> Self {
        Self { wire_bytes: 256 << 20, content_bytes: 8 << 20, blocks: 4096 }
    }
}

impl ResponseLimits {
    /// Returns an error that names the exceeded limit, or `None` if all are met.
    pub(super) fn exceeded_by(&self, wire_bytes: u64, size: ContentSize) -> Option<ApiError> {
        let problem = if size.bytes > self.content_bytes {
            format!("the response did not end after {} of content", text::size(self.content_bytes as u64))
        } else if size.blocks > self.blocks {
            format!("the response did not end after {} blocks", self.blocks)
        } else if wire_bytes > self.wire_bytes {
            format!("the response did not end after {} of events", text::size(self.wire_bytes))
        } else {
            return None;
        };
        Some(ApiError::new(ErrorClass::Runaway, problem))
    }
}

//! Builds requests from a conversation. Each message is encoded once and cached, so a request costs only what is new.
//!
//! There are two steps. A [`Draft`] lists what to encode and is made next to the conversation. Encoding it may read
//! pictures from disk and runs on a blocking thread. Only the latest draft is encoded: an older one belongs to a
//! cancelled request and must not overwrite the cache.

use std::sync::Arc;

use crate::agent::compaction;
use crate::agent::conversation::Conversation;
use crate::agent::machine::Purpose;
use crate::model::Content;
use crate::model::conversation::{Block, RoleMessage};
use crate::model::event::SessionConfig;
use crate::provider::encode::encode_messages;
use crate::provider::{ApiError, BlobSource, BodyOptions, EncodeError, EncodedMessage, ErrorClass, ProviderRequest};

/// The purpose of a request.
#[derive(Debug)]
pub(super) enum RequestKind {
    Response(Purpose, BodyOptions),
    /// Count the tokens of the next request.
    Count,
}

/// A request that is not encoded yet.
#[derive(Debug)]
pub(super) struct Draft {
    number: u64,
    config: Arc<SessionConfig>,
    /// Number of messages that are cached already.
    cached: usize,
    new: Vec<Arc<RoleMessage>>,
    /// Index, and the messages that replace everything from there on in this request only.
    replacement: Option<(usize, Vec<Arc<RoleMessage>>)>,
    /// `None` for a count.
    options: Option<BodyOptions>,
}

impl Draft {
    /// Returns true if encoding has to read from disk.
    pub(super) fn needs_disk(&self) -> bool {
        let replacement = self.replacement.iter().flat_map(|(_, messages)| messages);
        self.new.iter().chain(replacement).flat_map(|message| &message.blocks).any(|block| match block {
            Block::Image(_) => true,
            Block::ToolResult(result) => !result.images.is_empty() || matches!(result.content, Content::Blob(_)),
            Block::Text(_) | Block::Thinking(_) | Block::ToolUse(_) => false,
        })
    }
}

/// The encoded conversation.
#[derive(Debug, Default)]
pub(super) struct RequestBuilder {
    config: Option<Arc<SessionConfig>>,
    /// Names the prefix, so that everyone who shares it, such as a fork, hits the same cache.
    cache_key: String,
    segments: Vec<EncodedMessage>,
    /// Number of blocks of each message when it was encoded. The last one may have grown since.
    blocks: Vec<usize>,
    drafts: u64,
}

impl RequestBuilder {
    /// Drafts the next request.
    pub(super) fn draft(
        &mut self,
        conversation: &Conversation,
        config: &Arc<SessionConfig>,
        kind: RequestKind,
    ) -> Draft {
        let messages = conversation.role_messages();
        let unchanged = |(message, blocks): (&Arc<RoleMessage>, &usize)| message.blocks.len() == *blocks;
        let cached = if self.is_of(config) {
            messages.iter().zip(&self.blocks).take_while(|pair| unchanged(*pair)).count()
        } else {
            0
        };
        let (options, replacement) = match kind {
            RequestKind::Count => (None, None),
            RequestKind::Response(Purpose::Respond, options) => (Some(options), None),
            RequestKind::Response(Purpose::Summarise { trim }, options) => {
                let mut trimmed = compaction::request(messages, trim);
                let same = match trim {
                    // Only the end differs, so the provider's cache still applies.
                    compaction::Trim::Whole => trimmed.len().saturating_sub(1).min(messages.len()),
                    compaction::Trim::LongResults | compaction::Trim::Everything => 0,
                };
                (Some(options), Some((same, trimmed.split_off(same))))
            }
        };
        self.drafts += 1;
        Draft {
            number: self.drafts,
            config: Arc::clone(config),
            cached,
            new: messages[cached..].to_vec(),
            replacement,
            options,
        }
    }

    /// Encodes what is new and returns the request. Fails with [`ErrorClass::Cancelled`] if the draft is outdated.
    pub(super) fn encode(&mut self, draft: Draft, blobs: &dyn BlobSource) -> Result<ProviderRequest, ApiError> {
        if draft.number != self.drafts {
            return Err(ApiError::cancelled());
        }
        self.encode_new(draft, blobs).map_err(|error| ApiError::new(ErrorClass::InvalidRequest, error.to_string()))
    }

    fn encode_new(&mut self, draft: Draft, blobs: &dyn BlobSource) -> Result<ProviderRequest, EncodeError> {
        let Draft { config, cached, new, replacement, options, .. } = draft;
        // A new configuration starts a new segment.
        if !self.is_of(&config) {
            let encoded = serde_json::to_vec(config.as_ref())?;
            let cache_key = blake3::hash(&encoded).to_hex()[..32].to_owned();
            *self = Self { config: Some(Arc::clone(&config)), cache_key, drafts: self.drafts, ..Self::default() };
        }
        self.segments.truncate(cached);
        self.blocks.truncate(cached);
        self.segments.extend(encode_messages(config.wire, &new, blobs)?);
        self.blocks.extend(new.iter().map(|message| message.blocks.len()));
        let Some(options) = options else { return Ok(ProviderRequest::count(config, &self.segments)) };
        let options = BodyOptions { cache_key: Some(self.cache_key.clone()), ..options };
        let Some((same, messages)) = replacement else {
            return Ok(ProviderRequest::respond(config, &self.segments, &options));
        };
        let mut segments = self.segments[..same.min(self.segments.len())].to_vec();
        segments.extend(encode_messages(config.wire, &messages, blobs)?);
        Ok(ProviderRequest::respond(config, &segments, &options))
    }

    fn is_of(&self, config: &Arc<SessionConfig>) -> bool {
        self.config.as_ref().is_some_and(|known| Arc::ptr_eq(known, config))
    }
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;

//! Requests made from a conversation. A speech is spelled once and kept; only what is new costs anything.
//!
//! In two steps: a [`Draft`] says what is to be spelled, and is made where the conversation is; spelling it may read
//! pictures from the disk, and is done where that blocks nobody. Only the last draft is ever spelled: one that comes late
//! was cancelled, and must not undo what was spelled since.

use std::sync::Arc;

use crate::agent::compaction;
use crate::agent::conversation::Conversation;
use crate::agent::machine::Purpose;
use crate::model::Content;
use crate::model::conversation::{Block, Speech};
use crate::model::event::SessionConfig;
use crate::provider::encode::encode_speeches;
use crate::provider::{ApiError, BlobSource, BodyOptions, Call, EncodeError, ErrorClass, Segment};

/// What a request is for.
#[derive(Debug)]
pub(super) enum Wanted {
    Response(Purpose, BodyOptions),
    /// How large the next request would be.
    Count,
}

/// A request that is not spelled yet.
#[derive(Debug)]
pub(super) struct Draft {
    number: u64,
    config: Arc<SessionConfig>,
    /// How many speeches are spelled already.
    kept: usize,
    new: Vec<Arc<Speech>>,
    /// What takes the place of everything from the given speech on, in this request alone.
    instead: Option<(usize, Vec<Arc<Speech>>)>,
    /// Nothing: a count is wanted.
    options: Option<BodyOptions>,
}

impl Draft {
    /// Tells whether something has to be read from the disk.
    pub(super) fn reads(&self) -> bool {
        let instead = self.instead.iter().flat_map(|(_, speeches)| speeches);
        self.new.iter().chain(instead).flat_map(|speech| &speech.blocks).any(|block| match block {
            Block::Image(_) => true,
            Block::ToolResult(result) => !result.images.is_empty() || matches!(result.content, Content::Blob(_)),
            Block::Text(_) | Block::Thinking(_) | Block::ToolUse(_) => false,
        })
    }
}

/// The conversation as its provider spells it.
#[derive(Debug, Default)]
pub(super) struct Requests {
    config: Option<Arc<SessionConfig>>,
    /// A name for the prefix: everybody who shares it, a fork above all, finds the same cache.
    cache_key: String,
    segments: Vec<Segment>,
    /// How many blocks each speech had when it was spelled: the last one may have grown since.
    blocks: Vec<usize>,
    drafts: u64,
}

impl Requests {
    /// Returns the next request, with what of it has to be spelled.
    pub(super) fn draft(&mut self, conversation: &Conversation, config: &Arc<SessionConfig>, wanted: Wanted) -> Draft {
        let speeches = conversation.speeches();
        let unchanged = |(speech, blocks): (&Arc<Speech>, &usize)| speech.blocks.len() == *blocks;
        let kept = if self.is_of(config) {
            speeches.iter().zip(&self.blocks).take_while(|pair| unchanged(*pair)).count()
        } else {
            0
        };
        let (options, instead) = match wanted {
            Wanted::Count => (None, None),
            Wanted::Response(Purpose::Respond, options) => (Some(options), None),
            Wanted::Response(Purpose::Summarise { trim }, options) => {
                let mut asked = compaction::request(speeches, trim);
                let same = match trim {
                    // Only the end differs from what the provider has cached.
                    compaction::Trim::Whole => asked.len().saturating_sub(1).min(speeches.len()),
                    compaction::Trim::LongResults | compaction::Trim::Everything => 0,
                };
                (Some(options), Some((same, asked.split_off(same))))
            }
        };
        self.drafts += 1;
        Draft {
            number: self.drafts,
            config: Arc::clone(config),
            kept,
            new: speeches[kept..].to_vec(),
            instead,
            options,
        }
    }

    /// Spells what is new, and returns the request.
    pub(super) fn spell(&mut self, draft: Draft, blobs: &dyn BlobSource) -> Result<Call, ApiError> {
        if draft.number != self.drafts {
            return Err(ApiError::cancelled());
        }
        self.spelled(draft, blobs).map_err(|error| ApiError::new(ErrorClass::InvalidRequest, error.to_string()))
    }

    fn spelled(&mut self, draft: Draft, blobs: &dyn BlobSource) -> Result<Call, EncodeError> {
        let Draft { config, kept, new, instead, options, .. } = draft;
        // A new configuration starts a new segment: nothing of the old one is left.
        if !self.is_of(&config) {
            let spelled = serde_json::to_vec(config.as_ref())?;
            let cache_key = blake3::hash(&spelled).to_hex()[..32].to_owned();
            *self = Self { config: Some(Arc::clone(&config)), cache_key, drafts: self.drafts, ..Self::default() };
        }
        self.segments.truncate(kept);
        self.blocks.truncate(kept);
        self.segments.extend(encode_speeches(config.wire, &new, blobs)?);
        self.blocks.extend(new.iter().map(|speech| speech.blocks.len()));
        let Some(options) = options else { return Ok(Call::count(config, &self.segments)) };
        let options = BodyOptions { cache_key: Some(self.cache_key.clone()), ..options };
        let Some((same, speeches)) = instead else { return Ok(Call::respond(config, &self.segments, &options)) };
        let mut segments = self.segments[..same.min(self.segments.len())].to_vec();
        segments.extend(encode_speeches(config.wire, &speeches, blobs)?);
        Ok(Call::respond(config, &segments, &options))
    }

    fn is_of(&self, config: &Arc<SessionConfig>) -> bool {
        self.config.as_ref().is_some_and(|known| Arc::ptr_eq(known, config))
    }
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;

//! Requests made from a conversation. A speech is spelled once and kept; only what is new costs anything.

use std::sync::Arc;

use crate::agent::compaction;
use crate::agent::conversation::Conversation;
use crate::agent::machine::Purpose;
use crate::model::conversation::Speech;
use crate::model::event::SessionConfig;
use crate::provider::encode::encode_speech;
use crate::provider::{BlobSource, BodyOptions, Call, EncodeError, Segment};

/// The conversation as its provider spells it.
#[derive(Debug, Default)]
pub(super) struct Requests {
    config: Option<Arc<SessionConfig>>,
    /// A name for the prefix: everybody who shares it, a fork above all, finds the same cache.
    cache_key: String,
    segments: Vec<Segment>,
    /// How many blocks each speech had when it was spelled: the last one may have grown since.
    blocks: Vec<usize>,
}

impl Requests {
    /// Returns the next request.
    pub(super) fn call(
        &mut self,
        conversation: &Conversation,
        config: &Arc<SessionConfig>,
        purpose: Purpose,
        options: &BodyOptions,
        blobs: &dyn BlobSource,
    ) -> Result<Call, EncodeError> {
        self.refresh(conversation, config, blobs)?;
        let options = &BodyOptions { cache_key: Some(self.cache_key.clone()), ..options.clone() };
        match purpose {
            Purpose::Respond => Ok(Call::respond(config.clone(), &self.segments, options)),
            Purpose::Summarise { trim } => {
                let speeches = compaction::request(conversation.speeches(), trim);
                let kept = match trim {
                    // Only the end differs from what the provider has cached.
                    compaction::Trim::Whole => speeches.len().saturating_sub(1).min(self.segments.len()),
                    compaction::Trim::LongResults | compaction::Trim::Everything => 0,
                };
                let mut segments = self.segments[..kept].to_vec();
                for speech in &speeches[kept..] {
                    segments.push(encode_speech(config.wire, speech, blobs)?);
                }
                Ok(Call::respond(config.clone(), &segments, options))
            }
        }
    }

    /// Returns the request that asks how large the next one would be.
    pub(super) fn count(
        &mut self,
        conversation: &Conversation,
        config: &Arc<SessionConfig>,
        blobs: &dyn BlobSource,
    ) -> Result<Call, EncodeError> {
        self.refresh(conversation, config, blobs)?;
        Ok(Call::count(config.clone(), &self.segments))
    }

    /// Spells what is new. A new configuration starts a new segment: nothing of the old one is left.
    fn refresh(
        &mut self,
        conversation: &Conversation,
        config: &Arc<SessionConfig>,
        blobs: &dyn BlobSource,
    ) -> Result<(), EncodeError> {
        if !self.config.as_ref().is_some_and(|known| Arc::ptr_eq(known, config)) {
            let spelled = serde_json::to_vec(config.as_ref())?;
            let cache_key = blake3::hash(&spelled).to_hex()[..32].to_owned();
            *self = Self { config: Some(config.clone()), cache_key, ..Self::default() };
        }
        let speeches = conversation.speeches();
        let unchanged = |(speech, blocks): (&Speech, &usize)| speech.blocks.len() == *blocks;
        let kept = speeches.iter().zip(&self.blocks).take_while(|pair| unchanged(*pair)).count();
        self.segments.truncate(kept);
        self.blocks.truncate(kept);
        for speech in &speeches[kept..] {
            self.segments.push(encode_speech(config.wire, speech, blobs)?);
            self.blocks.push(speech.blocks.len());
        }
        Ok(())
    }
}

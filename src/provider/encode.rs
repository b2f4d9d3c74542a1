//! A conversation as request bytes.
//!
//! Pure and incremental: a speech is encoded once, into a [`Segment`]; a request is the frozen configuration followed
//! by the segments, which it shares. So request n costs neither another serialisation of everything before it nor a copy of
//! it, and what was sent once can never be spelled differently later. [`turn`] holds the rules that all wires share.

pub mod names;
pub mod pieces;
pub mod turn;

use std::io;
use std::iter::Sum;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use crate::model::content::BlobId;
use crate::model::conversation::{Block, Speech, Wire};
use crate::model::event::SessionConfig;
use crate::provider::{anthropic, openai_chat, openai_responses, scripted};
pub use pieces::Pieces;

/// Where the bytes of large results and images are kept.
pub trait BlobSource: Sync {
    fn read(&self, blob: &BlobId) -> io::Result<Vec<u8>>;
}

/// Why a speech cannot be spelled.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    #[error("the conversation needs blob {blob}, which cannot be read: {source}; restore it from a backup or rewind")]
    Blob { blob: BlobId, source: io::Error },
    #[error("a speech could not be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// A speech as it goes over the wire: JSON items joined by commas, without the brackets around them.
///
/// It may be empty, if a speech has nothing that the wire can say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    bytes: Bytes,
    /// Where a cache mark can be inserted: inside the last block, before its closing brace.
    mark: Option<usize>,
    /// How many content blocks it has, as the API counts them.
    blocks: usize,
    pictures: Pictures,
}

/// The pictures of a request: their bytes say nothing about their tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pictures {
    pub count: u64,
    /// What they take of the body.
    pub bytes: u64,
}

impl Pictures {
    fn of(speech: &Speech) -> Self {
        let images = speech.blocks.iter().flat_map(|block| match block {
            Block::Image(image) => std::slice::from_ref(image),
            Block::ToolResult(result) => &result.images,
            Block::Text(_) | Block::Thinking(_) | Block::ToolUse(_) => &[],
        });
        // Four letters for every three bytes.
        images.map(|image| Self { count: 1, bytes: image.data.bytes.div_ceil(3) * 4 }).sum()
    }
}

impl Sum for Pictures {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self { count: sum.count + one.count, bytes: sum.bytes + one.bytes })
    }
}

impl Segment {
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn pictures(&self) -> Pictures {
        self.pictures
    }

    pub(crate) fn mark(&self) -> Option<usize> {
        self.mark
    }

    pub(crate) fn blocks(&self) -> usize {
        self.blocks
    }

    pub(crate) fn marked(mut bytes: Vec<u8>, mark: Option<usize>, blocks: usize) -> Self {
        // It stays as long as its conversation.
        bytes.shrink_to_fit();
        Self { bytes: bytes.into(), mark, blocks, pictures: Pictures::default() }
    }

    /// Returns the segment that consists of `items`.
    pub(crate) fn of<T: Serialize>(items: &[T]) -> Result<Self, serde_json::Error> {
        let mut bytes = Vec::new();
        for item in items {
            if !bytes.is_empty() {
                bytes.push(b',');
            }
            serde_json::to_writer(&mut bytes, item)?;
        }
        Ok(Self::marked(bytes, None, items.len()))
    }
}

/// What differs between requests of one segment of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyOptions {
    pub stream: bool,
    /// The output limit of this request, where it is not the configured one.
    pub max_output: Option<u64>,
    /// A name under which the vendor may route requests with the same prefix to the same cache.
    pub cache_key: Option<String>,
}

impl BodyOptions {
    /// Returns what every ordinary turn uses.
    pub fn streaming() -> Self {
        Self { stream: true, ..Self::default() }
    }
}

/// Returns `speech` as the wire spells it. Depends on nothing but its arguments.
pub fn encode_speech(wire: Wire, speech: &Speech, blobs: &dyn BlobSource) -> Result<Segment, EncodeError> {
    let segment = match wire {
        Wire::Anthropic => anthropic::encode_speech(speech, blobs),
        Wire::OpenaiResponses => openai_responses::encode_speech(speech, blobs),
        Wire::OpenaiChat => openai_chat::encode_speech(speech, blobs),
        Wire::Scripted => scripted::encode_speech(speech, blobs),
    }?;
    Ok(Segment { pictures: Pictures::of(speech), ..segment })
}

/// Returns each of `speeches` as [`encode_speech`] does.
pub fn encode_speeches(
    wire: Wire,
    speeches: &[Arc<Speech>],
    blobs: &dyn BlobSource,
) -> Result<Vec<Segment>, EncodeError> {
    speeches.iter().map(|speech| encode_speech(wire, speech, blobs)).collect()
}

/// Returns the request body: the configuration, then the segments.
pub fn body(config: &SessionConfig, segments: &[Segment], options: &BodyOptions) -> Pieces {
    match config.wire {
        Wire::Anthropic => anthropic::body(config, segments, options),
        Wire::OpenaiResponses => openai_responses::body(config, segments, options),
        Wire::OpenaiChat => openai_chat::body(config, segments, options),
        Wire::Scripted => scripted::body(config, segments, options),
    }
}

/// Returns the body that asks for a token count, where the wire has such a question; else what would be sent.
pub fn count_body(config: &SessionConfig, segments: &[Segment]) -> Pieces {
    match config.wire {
        Wire::Anthropic => anthropic::count_body(config, segments),
        Wire::OpenaiResponses | Wire::OpenaiChat | Wire::Scripted => body(config, segments, &BodyOptions::default()),
    }
}

/// A JSON object under construction, field by field in a fixed order.
///
/// Written by hand rather than derived, because the largest field is bytes that are JSON already.
pub(crate) struct Object {
    /// What is through.
    pieces: Pieces,
    /// What is being written.
    bytes: Vec<u8>,
    is_empty: bool,
}

impl Object {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(capacity);
        bytes.push(b'{');
        Self { pieces: Pieces::default(), bytes, is_empty: true }
    }

    fn key(&mut self, key: &str) {
        if !std::mem::take(&mut self.is_empty) {
            self.bytes.push(b',');
        }
        self.bytes.push(b'"');
        self.bytes.extend_from_slice(key.as_bytes());
        self.bytes.extend_from_slice(b"\":");
    }

    /// Adds a field. The values that come here (strings, numbers, structs of those) always have a JSON form; should
    /// one not, the field is null rather than the body invalid.
    pub(crate) fn field(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> &mut Self {
        self.key(key);
        let start = self.bytes.len();
        if serde_json::to_writer(&mut self.bytes, value).is_err() {
            self.bytes.truncate(start);
            self.bytes.extend_from_slice(b"null");
        }
        self
    }

    /// Adds an array of items that are JSON already.
    pub(crate) fn array(&mut self, key: &str, items: impl IntoIterator<Item = Bytes>) -> &mut Self {
        self.marked_array(key, items.into_iter().map(|item| (item, None)), &Bytes::new())
    }

    /// Adds an array of JSON items, with `mark` inserted into those that come with a place for it.
    pub(crate) fn marked_array(
        &mut self,
        key: &str,
        items: impl IntoIterator<Item = (Bytes, Option<usize>)>,
        mark: &Bytes,
    ) -> &mut Self {
        self.key(key);
        self.bytes.push(b'[');
        self.pieces.push(std::mem::take(&mut self.bytes));
        for (number, (mut item, cut)) in items.into_iter().filter(|(item, _)| !item.is_empty()).enumerate() {
            if number > 0 {
                self.pieces.push(Bytes::from_static(b","));
            }
            if let Some(cut) = cut {
                self.pieces.push(item.split_to(cut));
                self.pieces.push(mark.clone());
            }
            self.pieces.push(item);
        }
        self.bytes.push(b']');
        self
    }

    pub(crate) fn finish(mut self) -> Pieces {
        self.bytes.push(b'}');
        self.pieces.push(self.bytes);
        self.pieces
    }
}

/// Returns a capacity that what stands before the segments fits in, so that writing it allocates once.
pub(crate) fn capacity(config: &SessionConfig) -> usize {
    let tools: usize = config
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() * 9 / 8 + tool.schema.as_str().len() + 128)
        .sum();
    let system = (config.system.stable.len() + config.system.variable.len()) * 9 / 8;
    tools + system + 1024
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;

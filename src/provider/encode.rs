//! Encodes conversations as requests.
//!
//! Pure and incremental: each message is encoded once, into an [`EncodedMessage`]. A request is the frozen
//! configuration followed by the encoded messages, which it shares. So a request neither serialises nor copies earlier
//! messages, and their bytes never change. [`turn`] has the rules that all wires share.

pub mod chunks;
pub mod names;
pub mod turn;

use std::io;
use std::iter::Sum;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use crate::model::content::BlobId;
use crate::model::conversation::{Block, RoleMessage, Wire};
use crate::model::event::SessionConfig;
use crate::provider::{anthropic, openai_chat, openai_responses, scripted};
pub use chunks::ByteChunks;

/// Reads large results and images.
pub trait BlobSource: Sync {
    fn read(&self, blob: &BlobId) -> io::Result<Vec<u8>>;
}

/// Why a message cannot be encoded.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    #[error("the conversation needs blob {blob}, which cannot be read: {source}; restore it from a backup or rewind")]
    Blob { blob: BlobId, source: io::Error },
    #[error("cannot encode a message as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// A message in wire format: JSON items joined by commas, without surrounding brackets.
///
/// It is empty if the message has nothing that the wire can carry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EncodedMessage {
    bytes: Bytes,
    /// Offset at which a cache mark can be inserted: before the closing brace of the last block.
    mark: Option<usize>,
    /// Number of content blocks, as the API counts them.
    blocks: usize,
    pictures: Pictures,
}

/// The pictures of a request. Their tokens do not depend on their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pictures {
    pub count: u64,
    /// Their size in the body.
    pub bytes: u64,
}

impl Pictures {
    fn of(message: &RoleMessage) -> Self {
        let images = message.blocks.iter().flat_map(|block| match block {
            Block::Image(image) => std::slice::from_ref(image),
            Block::ToolResult(result) => &result.images,
            Block::Text(_) | Block::Thinking(_) | Block::ToolUse(_) => &[],
        });
        // Base64: four characters for every three bytes.
        images.map(|image| Self { count: 1, bytes: image.data.bytes.div_ceil(3) * 4 }).sum()
    }
}

impl Sum for Pictures {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self { count: sum.count + one.count, bytes: sum.bytes + one.bytes })
    }
}

impl EncodedMessage {
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
        // It lives as long as the conversation.
        bytes.shrink_to_fit();
        Self { bytes: bytes.into(), mark, blocks, pictures: Pictures::default() }
    }

    /// Encodes `items`.
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

/// Options that may differ between requests of one segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodyOptions {
    pub stream: bool,
    /// The output limit of this request. `None` for the configured one.
    pub max_output: Option<u64>,
    /// Lets the vendor route requests with the same prefix to the same cache.
    pub cache_key: Option<String>,
}

impl BodyOptions {
    pub fn streaming() -> Self {
        Self { stream: true, ..Self::default() }
    }
}

/// Encodes a message for a wire. Depends only on its arguments.
pub fn encode_message(
    wire: Wire,
    message: &RoleMessage,
    blobs: &dyn BlobSource,
) -> Result<EncodedMessage, EncodeError> {
    let segment = match wire {
        Wire::Anthropic => anthropic::encode_message(message, blobs),
        Wire::OpenaiResponses => openai_responses::encode_message(message, blobs),
        Wire::OpenaiChat => openai_chat::encode_message(message, blobs),
        Wire::Scripted => scripted::encode_message(message, blobs),
    }?;
    Ok(EncodedMessage { pictures: Pictures::of(message), ..segment })
}

/// Encodes messages with [`encode_message`].
pub fn encode_messages(
    wire: Wire,
    messages: &[Arc<RoleMessage>],
    blobs: &dyn BlobSource,
) -> Result<Vec<EncodedMessage>, EncodeError> {
    messages.iter().map(|message| encode_message(wire, message, blobs)).collect()
}

/// Returns the body of a request: the configuration, then the messages.
pub fn body(config: &SessionConfig, segments: &[EncodedMessage], options: &BodyOptions) -> ByteChunks {
    match config.wire {
        Wire::Anthropic => anthropic::body(config, segments, options),
        Wire::OpenaiResponses => openai_responses::body(config, segments, options),
        Wire::OpenaiChat => openai_chat::body(config, segments, options),
        Wire::Scripted => scripted::body(config, segments, options),
    }
}

/// Returns the body of a token count, or of the ordinary request if the wire cannot count.
pub fn count_body(config: &SessionConfig, segments: &[EncodedMessage]) -> ByteChunks {
    match config.wire {
        Wire::Anthropic => anthropic::count_body(config, segments),
        Wire::OpenaiResponses | Wire::OpenaiChat | Wire::Scripted => body(config, segments, &BodyOptions::default()),
    }
}

/// A JSON object under construction, field by field in a fixed order.
///
/// Not derived with serde, because the largest field is already JSON.
pub(crate) struct Object {
    /// Finished pieces.
    pieces: ByteChunks,
    /// The piece being written.
    bytes: Vec<u8>,
    is_empty: bool,
}

impl Object {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(capacity);
        bytes.push(b'{');
        Self { pieces: ByteChunks::default(), bytes, is_empty: true }
    }

    fn key(&mut self, key: &str) {
        if !std::mem::take(&mut self.is_empty) {
            self.bytes.push(b',');
        }
        self.bytes.push(b'"');
        self.bytes.extend_from_slice(key.as_bytes());
        self.bytes.extend_from_slice(b"\":");
    }

    /// Adds a field. Serialising the values used here (strings, numbers, structs of those) cannot fail; if it did, the
    /// field would be null rather than the body invalid.
    pub(crate) fn field(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> &mut Self {
        self.key(key);
        let start = self.bytes.len();
        if serde_json::to_writer(&mut self.bytes, value).is_err() {
            self.bytes.truncate(start);
            self.bytes.extend_from_slice(b"null");
        }
        self
    }

    /// Adds an array of items that are already JSON.
    pub(crate) fn array(&mut self, key: &str, items: impl IntoIterator<Item = Bytes>) -> &mut Self {
        self.marked_array(key, items.into_iter().map(|item| (item, None)), &Bytes::new())
    }

    /// Adds an array of JSON items. `mark` is inserted at the offset of those items that have one.
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

    pub(crate) fn finish(mut self) -> ByteChunks {
        self.bytes.push(b'}');
        self.pieces.push(self.bytes);
        self.pieces
    }
}

/// Returns a capacity for the part of the body before the messages, so that writing it allocates once.
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

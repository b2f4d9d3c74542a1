//! Model APIs: encoding of requests, decoding of streams, classes of errors, prices.
//!
//! Encoding, decoding, classifying and pricing are pure. [`http`] and [`scripted`] are the two providers; both make
//! exactly one attempt, because the agent's machine owns all retries. Nothing here knows about tasks, and no key ever
//! reaches a message, an event or debug output.

pub mod anthropic;
pub mod budget;
pub mod catalogue;
pub mod credential;
pub mod decode;
pub mod encode;
pub mod error;
pub mod gate;
pub mod http;
pub mod local;
pub mod openai_chat;
pub mod openai_responses;
pub mod response;
pub mod retry;
pub mod scripted;
pub mod sse;
#[cfg(test)]
mod testing;

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use catalogue::{Catalogue, ListedModel, ModelInfo, Prices};
pub use credential::Credential;
pub use decode::Decoder;
pub use encode::{BlobSource, BodyOptions, ByteChunks, EncodeError, EncodedMessage, Pictures};
pub use error::{ApiError, ErrorClass};
pub use gate::{RateGate, RateGates};
pub use response::{Response, ResponseBlock, Signal};

use crate::model::event::SessionConfig;

/// One request, ready to be sent.
#[derive(Clone, Debug)]
pub struct ProviderRequest {
    /// The configuration of the request. The decoder needs it to map tool names back.
    pub config: Arc<SessionConfig>,
    pub body: ByteChunks,
    /// Number and size of the pictures in the body.
    pub pictures: Pictures,
}

impl ProviderRequest {
    /// Returns the request for the next response to a conversation.
    pub fn respond(config: Arc<SessionConfig>, segments: &[EncodedMessage], options: &BodyOptions) -> Self {
        let body = encode::body(&config, segments, options);
        Self { config, body, pictures: segments.iter().map(EncodedMessage::pictures).sum() }
    }

    /// Returns the request that counts the tokens of a conversation.
    pub fn count(config: Arc<SessionConfig>, segments: &[EncodedMessage]) -> Self {
        let body = encode::count_body(&config, segments);
        Self { config, body, pictures: segments.iter().map(EncodedMessage::pictures).sum() }
    }
}

/// A model API. Each call makes one attempt and leaves nothing running when it returns.
pub trait Provider: Send + Sync {
    /// Returns the whole response, and sends pieces of it to `signals` as they arrive.
    ///
    /// When cancelled, it returns promptly with [`ErrorClass::Cancelled`]. That error, and every other error in
    /// mid-stream, carries the text that had arrived.
    fn respond(
        &self,
        call: ProviderRequest,
        signals: mpsc::Sender<Signal>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Response, ApiError>>;

    /// Returns the number of tokens of a [`ProviderRequest::count`], or `None` if the API cannot count.
    fn count_tokens(
        &self,
        call: ProviderRequest,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Option<u64>, ApiError>>;

    /// Returns the models that the endpoint lists.
    fn models(&self, cancel: CancellationToken) -> BoxFuture<'_, Result<Vec<ListedModel>, ApiError>>;
}

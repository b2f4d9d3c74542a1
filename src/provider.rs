//! Model APIs: how a conversation is spelled for each, how their streams are read, what their errors mean and what
//! their tokens cost.
//!
//! Encoding, decoding, classifying and pricing are pure. [`http`] and [`scripted`] are the two ways to get an answer;
//! both make exactly one attempt, because retrying has one owner and it is not here. Nothing here knows what a task
//! is, and no key ever reaches a message, an event or a debug print.

pub mod anthropic;
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
pub mod purse;
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

pub use catalogue::{Catalogue, Facts, Listed, Prices};
pub use credential::Credential;
pub use decode::Decoder;
pub use encode::{BlobSource, BodyOptions, EncodeError, Pictures, Pieces, Segment};
pub use error::{ApiError, ErrorClass};
pub use gate::{Gate, Gates};
pub use response::{Response, ResponseBlock, Signal};

use crate::model::event::SessionConfig;

/// One request, ready to be sent.
#[derive(Clone, Debug)]
pub struct Call {
    /// What the request was encoded from; the decoder needs it to give tools their own names back.
    pub config: Arc<SessionConfig>,
    pub body: Pieces,
    /// What of the body is pictures.
    pub pictures: Pictures,
}

impl Call {
    /// Returns the request for the next response to a conversation.
    pub fn respond(config: Arc<SessionConfig>, segments: &[Segment], options: &BodyOptions) -> Self {
        let body = encode::body(&config, segments, options);
        Self { config, body, pictures: segments.iter().map(Segment::pictures).sum() }
    }

    /// Returns the request that asks how many tokens the conversation has.
    pub fn count(config: Arc<SessionConfig>, segments: &[Segment]) -> Self {
        let body = encode::count_body(&config, segments);
        Self { config, body, pictures: segments.iter().map(Segment::pictures).sum() }
    }
}

/// Something that answers. One attempt per call; when it is over, one way or the other, nothing goes on behind it.
pub trait Provider: Send + Sync {
    /// Returns the whole response, and sends what is worth showing of it to `signals` while it comes in.
    ///
    /// Cancelled, it returns promptly with [`ErrorClass::Cancelled`]; that error, and every other one that hits in
    /// mid-stream, carries the text that had arrived.
    fn respond(
        &self,
        call: Call,
        signals: mpsc::Sender<Signal>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Response, ApiError>>;

    /// Returns how many tokens the request of [`Call::count`] has, or nothing where the API cannot count.
    fn count_tokens(&self, call: Call, cancel: CancellationToken) -> BoxFuture<'_, Result<Option<u64>, ApiError>>;

    /// Returns the models that the endpoint offers, with what it tells about them.
    fn models(&self, cancel: CancellationToken) -> BoxFuture<'_, Result<Vec<Listed>, ApiError>>;
}

//! The OpenAI Responses wire.

mod decode;
mod encode;

pub(crate) use decode::Stream;
pub(crate) use encode::reasons;
pub use encode::{NAME_LIMIT, body, encode_speech};

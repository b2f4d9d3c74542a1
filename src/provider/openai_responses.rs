//! The OpenAI Responses API.

mod decode;
mod encode;

pub(crate) use decode::Stream;
pub(crate) use encode::is_reasoning_model;
pub use encode::{NAME_LIMIT, body, encode_message};

//! The Anthropic Messages wire.

mod decode;
mod encode;

pub(crate) use decode::Stream;
pub use encode::{NAME_LIMIT, body, count_body, encode_speech, thinks_by_budget};

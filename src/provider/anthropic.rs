//! The Anthropic Messages API.

mod decode;
mod encode;

pub(crate) use decode::Stream;
pub use encode::{NAME_LIMIT, body, count_body, encode_message, thinks_by_budget};

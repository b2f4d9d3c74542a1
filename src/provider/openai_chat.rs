//! The OpenAI Chat Completions API, as served by Ollama, llama.cpp, vLLM, LM Studio, OpenRouter and others.

mod decode;
mod encode;

pub(crate) use decode::Stream;
pub(crate) use encode::REASONING;
pub use encode::{NAME_LIMIT, body, encode_message};

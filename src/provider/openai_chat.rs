//! The OpenAI Chat Completions wire, for every server that speaks it: Ollama, llama.cpp, vLLM, LM Studio, OpenRouter.

mod decode;
mod encode;

pub(crate) use decode::Stream;
pub(crate) use encode::REASONING;
pub use encode::{NAME_LIMIT, body, encode_speech};

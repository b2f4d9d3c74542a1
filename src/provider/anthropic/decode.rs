//! Decodes the event stream of the Messages API.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::conversation::{Thought, Wire};
use crate::model::event::{CacheLife, SessionConfig, StopReason};
use crate::model::usage::Tokens;
use crate::provider::anthropic::NAME_LIMIT;
use crate::provider::decode::json::{list, number, text};
use crate::provider::decode::{ContentSize, Progress, Protocol, tool_use};
use crate::provider::encode::names::ToolNames;
use crate::provider::error::{ApiError, classify_event};
use crate::provider::response::{ResponseBlock, Signal};

enum PartialBlock {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(String),
    Call {
        call: String,
        name: String,
        index: usize,
        input: String,
    },
    /// A block of an unknown type.
    Ignored,
}

impl PartialBlock {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Thinking { text, signature } => text.len() + signature.len(),
            Self::Redacted(data) => data.len(),
            Self::Call { call, name, input, .. } => call.len() + name.len() + input.len(),
            Self::Ignored => 0,
        }
    }
}

/// A response of the Messages API while it arrives.
pub(crate) struct Stream {
    names: ToolNames,
    salt: String,
    /// The lifetime of cache writes, if the API does not break them down.
    life: CacheLife,
    blocks: BTreeMap<u64, PartialBlock>,
    /// Bytes in `blocks`.
    bytes: usize,
    calls: usize,
    tokens: Option<Tokens>,
    stop: Option<String>,
    model: String,
    over: bool,
}

impl Stream {
    pub(crate) fn new(config: &SessionConfig, salt: &str) -> Self {
        Self {
            names: ToolNames::new(&config.tools, NAME_LIMIT),
            salt: salt.to_owned(),
            life: config.cache.messages.min(config.cache.prefix),
            blocks: BTreeMap::new(),
            bytes: 0,
            calls: 0,
            tokens: None,
            stop: None,
            model: String::new(),
            over: false,
        }
    }

    fn start_block(&mut self, index: u64, block: &Value, signals: &mut Vec<Signal>) {
        let owned = |key| text(block, key).unwrap_or_default().to_owned();
        let partial = match text(block, "type") {
            Some("text") => PartialBlock::Text(owned("text")),
            Some("thinking") => PartialBlock::Thinking { text: owned("thinking"), signature: owned("signature") },
            Some("redacted_thinking") => PartialBlock::Redacted(owned("data")),
            Some("tool_use") => {
                let position = self.calls;
                self.calls += 1;
                let call = match text(block, "id") {
                    Some(id) if !id.is_empty() => id.to_owned(),
                    _ => format!("call_{}_{position}", self.salt),
                };
                let name = self.names.original(text(block, "name").unwrap_or_default()).to_owned();
                // Some servers send the whole input at once.
                let whole = block.get("input").filter(|input| input.as_object().is_some_and(|map| !map.is_empty()));
                let input = whole.map(Value::to_string).unwrap_or_default();
                let bytes = input.len() as u64;
                signals.push(Signal::Call { index: position, call: call.clone(), name: name.clone(), bytes });
                PartialBlock::Call { call, name, index: position, input }
            }
            _ => PartialBlock::Ignored,
        };
        match &partial {
            PartialBlock::Text(text) if !text.is_empty() => signals.push(Signal::Text(text.clone())),
            PartialBlock::Thinking { text, .. } if !text.is_empty() => signals.push(Signal::Thinking(text.clone())),
            PartialBlock::Text(_)
            | PartialBlock::Thinking { .. }
            | PartialBlock::Redacted(_)
            | PartialBlock::Call { .. }
            | PartialBlock::Ignored => {}
        }
        self.bytes += partial.bytes();
        self.blocks.insert(index, partial);
    }

    fn extend_block(&mut self, index: u64, delta: &Value, signals: &mut Vec<Signal>) {
        let piece = |key| text(delta, key).filter(|piece| !piece.is_empty());
        match self.blocks.get_mut(&index) {
            Some(PartialBlock::Text(so_far)) => {
                if let Some(more) = piece("text") {
                    self.bytes += more.len();
                    so_far.push_str(more);
                    signals.push(Signal::Text(more.to_owned()));
                }
            }
            Some(PartialBlock::Thinking { text, signature }) => {
                if let Some(more) = piece("thinking") {
                    self.bytes += more.len();
                    text.push_str(more);
                    signals.push(Signal::Thinking(more.to_owned()));
                }
                let more = piece("signature").unwrap_or_default();
                self.bytes += more.len();
                signature.push_str(more);
            }
            Some(PartialBlock::Call { call, name, index, input }) => {
                if let Some(more) = piece("partial_json") {
                    self.bytes += more.len();
                    input.push_str(more);
                    let bytes = input.len() as u64;
                    signals.push(Signal::Call { index: *index, call: call.clone(), name: name.clone(), bytes });
                }
            }
            Some(PartialBlock::Redacted(_) | PartialBlock::Ignored) | None => {}
        }
    }

    /// Updates the token counts. They are running totals, so later events replace earlier ones.
    fn count(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage.filter(|usage| usage.is_object()) else { return };
        let tokens = self.tokens.get_or_insert_default();
        let replace = |slot: &mut u64, count: Option<u64>| *slot = count.unwrap_or(*slot);
        replace(&mut tokens.input, number(usage, "input_tokens"));
        replace(&mut tokens.output, number(usage, "output_tokens"));
        replace(&mut tokens.cache_read, number(usage, "cache_read_input_tokens"));
        let split = usage.get("cache_creation").filter(|split| split.is_object());
        if let Some(split) = split {
            replace(&mut tokens.cache_write_5m, number(split, "ephemeral_5m_input_tokens"));
            replace(&mut tokens.cache_write_1h, number(split, "ephemeral_1h_input_tokens"));
        } else if let Some(written) = number(usage, "cache_creation_input_tokens")
            && written != tokens.cache_write_5m + tokens.cache_write_1h
        {
            (tokens.cache_write_5m, tokens.cache_write_1h) = match self.life {
                CacheLife::FiveMinutes => (written, 0),
                CacheLife::OneHour => (0, written),
            };
        }
    }

    /// Returns the index of the block that an event belongs to. Events without an index are in order.
    fn index(&self, data: &Value, begins: bool) -> u64 {
        let last = self.blocks.last_key_value().map(|(index, _)| *index);
        let next = last.map_or(0, |last| last + u64::from(begins));
        number(data, "index").unwrap_or(next)
    }

    fn stop(&self) -> StopReason {
        match self.stop.as_deref() {
            Some("end_turn" | "stop_sequence") => StopReason::EndTurn,
            Some("tool_use") => StopReason::ToolUse,
            Some("max_tokens") => StopReason::MaxTokens,
            Some("refusal") => StopReason::Refusal,
            Some("pause_turn") => StopReason::Pause,
            Some("model_context_window_exceeded") => StopReason::ContextOverflow,
            Some(other) => StopReason::Other(other.to_owned()),
            None if self.calls > 0 => StopReason::ToolUse,
            None => StopReason::EndTurn,
        }
    }
}

impl Protocol for Stream {
    fn event(&mut self, name: &str, data: &Value, signals: &mut Vec<Signal>) -> Result<(), ApiError> {
        match text(data, "type").unwrap_or(name) {
            "message_start" => {
                let message = data.get("message").unwrap_or(&Value::Null);
                text(message, "model").unwrap_or_default().clone_into(&mut self.model);
                self.count(message.get("usage"));
            }
            "content_block_start" => {
                let index = self.index(data, true);
                self.start_block(index, data.get("content_block").unwrap_or(&Value::Null), signals);
            }
            "content_block_delta" => {
                let index = self.index(data, false);
                self.extend_block(index, data.get("delta").unwrap_or(&Value::Null), signals);
            }
            "message_delta" => {
                let stop = data.get("delta").and_then(|delta| text(delta, "stop_reason"));
                if let Some(stop) = stop.filter(|stop| !stop.is_empty()) {
                    self.stop = Some(stop.to_owned());
                }
                self.count(data.get("usage"));
            }
            "message_stop" => self.over = true,
            "error" => return Err(classify_event(Wire::Anthropic, data)),
            // Pings, ends of blocks, and events of later versions of the API.
            _ => {}
        }
        Ok(())
    }

    fn decode_whole(&mut self, answer: &Value, signals: &mut Vec<Signal>) -> Result<(), ApiError> {
        let Some(stop) = text(answer, "stop_reason") else { return Ok(()) };
        self.stop = Some(stop.to_owned());
        self.over = true;
        text(answer, "model").unwrap_or_default().clone_into(&mut self.model);
        self.count(answer.get("usage"));
        for (index, block) in (0..).zip(list(answer, "content")) {
            self.start_block(index, block, signals);
        }
        Ok(())
    }

    fn progress(&self) -> Progress {
        match (self.over, &self.stop) {
            (true, _) => Progress::Over,
            // The stop reason comes after all content.
            (false, Some(_)) => Progress::Complete,
            (false, None) => Progress::Open,
        }
    }

    fn content_size(&self) -> ContentSize {
        ContentSize { blocks: self.blocks.len(), bytes: self.bytes }
    }

    fn texts(&self) -> Vec<String> {
        let texts = self.blocks.values().filter_map(|block| match block {
            PartialBlock::Text(text) => Some(text.clone()),
            PartialBlock::Thinking { .. }
            | PartialBlock::Redacted(_)
            | PartialBlock::Call { .. }
            | PartialBlock::Ignored => None,
        });
        texts.collect()
    }

    fn tokens(&self) -> Option<Tokens> {
        self.tokens
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn finish(self: Box<Self>) -> (StopReason, Vec<ResponseBlock>) {
        let stop = self.stop();
        let thought = |text, signature, redacted| {
            ResponseBlock::Thinking(Thought { text, signature, redacted, wire: Wire::Anthropic })
        };
        let blocks = self.blocks.into_values().filter_map(|block| match block {
            PartialBlock::Text(text) => (!text.trim().is_empty()).then_some(ResponseBlock::Text(text)),
            PartialBlock::Thinking { text, signature } if signature.is_empty() => {
                (!text.trim().is_empty()).then(|| thought(text, None, None))
            }
            PartialBlock::Thinking { text, signature } => Some(thought(text, Some(signature), None)),
            PartialBlock::Redacted(data) => Some(thought(String::new(), None, Some(data))),
            PartialBlock::Call { call, name, input, .. } => Some(ResponseBlock::ToolUse(tool_use(call, name, input))),
            PartialBlock::Ignored => None,
        });
        (stop, blocks.collect())
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;

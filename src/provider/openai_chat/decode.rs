//! Decodes the chunks of Chat Completions. Servers differ widely.
//!
//! Calls may come in pieces by index, whole with the same index, without an index, without an id, or with their
//! arguments as an object. Usage may come with the last choice, after it, or never. The end may be `[DONE]`, or the end
//! of the stream after a finish reason. A server that does not stream sends the same in one piece.

use std::borrow::Cow;

use serde_json::Value;

use crate::model::conversation::{Thought, Wire};
use crate::model::event::{SessionConfig, StopReason};
use crate::model::usage::Tokens;
use crate::provider::decode::json::{list, number, text};
use crate::provider::decode::{ContentSize, Progress, Protocol, text_blocks, tool_use};
use crate::provider::encode::names::ToolNames;
use crate::provider::error::{ApiError, classify_event};
use crate::provider::openai_chat::{NAME_LIMIT, REASONING};
use crate::provider::response::{ResponseBlock, Signal};

#[derive(Default)]
struct PartialCall {
    /// The server's index of the call, if any.
    slot: Option<u64>,
    id: String,
    name: String,
    input: String,
}

impl PartialCall {
    fn bytes(&self) -> usize {
        self.id.len() + self.name.len() + self.input.len()
    }

    /// Returns true if the input is a complete object.
    fn is_complete(&self) -> bool {
        let input = self.input.trim();
        input.starts_with('{') && input.ends_with('}') && serde_json::from_str::<serde::de::IgnoredAny>(input).is_ok()
    }
}

/// A chat completion while it arrives.
pub(crate) struct Stream {
    names: ToolNames,
    salt: String,
    text: String,
    thinking: String,
    /// The server's field for thinking, if it is not [`REASONING`]. The server accepts it back only in this field.
    thinking_field: Option<&'static str>,
    calls: Vec<PartialCall>,
    /// Bytes in `calls`.
    call_bytes: usize,
    refused: bool,
    tokens: Option<Tokens>,
    finish: Option<String>,
    model: String,
    over: bool,
}

impl Stream {
    pub(crate) fn new(config: &SessionConfig, salt: &str) -> Self {
        Self {
            names: ToolNames::new(&config.tools, NAME_LIMIT),
            salt: salt.to_owned(),
            text: String::new(),
            thinking: String::new(),
            thinking_field: None,
            calls: Vec::new(),
            call_bytes: 0,
            refused: false,
            tokens: None,
            finish: None,
            model: String::new(),
            over: false,
        }
    }

    fn add_text(&mut self, piece: &str, signals: &mut Vec<Signal>) {
        if !piece.is_empty() {
            self.text.push_str(piece);
            signals.push(Signal::Text(piece.to_owned()));
        }
    }

    fn delta(&mut self, delta: &Value, signals: &mut Vec<Signal>) {
        let thought = [REASONING, "reasoning", "thinking"].into_iter().find_map(|field| {
            let thought = text(delta, field).filter(|thought| !thought.is_empty())?;
            Some((field, thought))
        });
        if let Some((field, thought)) = thought {
            self.thinking_field = Some(field).filter(|field| *field != REASONING);
            self.thinking.push_str(thought);
            signals.push(Signal::Thinking(thought.to_owned()));
        }
        self.add_text(text(delta, "content").unwrap_or_default(), signals);
        for part in list(delta, "content") {
            self.add_text(text(part, "text").unwrap_or_default(), signals);
        }
        if let Some(refusal) = text(delta, "refusal").filter(|refusal| !refusal.is_empty()) {
            self.refused = true;
            self.add_text(refusal, signals);
        }
        for call in list(delta, "tool_calls") {
            self.call(call, signals);
        }
    }

    fn call(&mut self, piece: &Value, signals: &mut Vec<Signal>) {
        let slot = number(piece, "index");
        let id = text(piece, "id").unwrap_or_default();
        let function = piece.get("function").unwrap_or(&Value::Null);
        let name = text(function, "name").unwrap_or_default();
        let (more, whole) = match function.get("arguments") {
            Some(Value::String(more)) => (Cow::Borrowed(more.as_str()), false),
            Some(whole @ Value::Object(_)) => (Cow::Owned(whole.to_string()), true),
            _ => (Cow::Borrowed(""), false),
        };
        let Some(position) = self.find_call(slot, id, name, &more) else { return };
        let partial = &mut self.calls[position];
        self.call_bytes -= partial.bytes();
        if partial.id.is_empty() {
            id.clone_into(&mut partial.id);
        }
        // Some servers repeat the name with every piece.
        if name != partial.name {
            partial.name.push_str(name);
        }
        // Some servers send an empty object first, and then the input.
        if whole || (partial.input.trim() == "{}" && more.trim_start().starts_with('{')) {
            partial.input.clear();
        }
        partial.input.push_str(&more);
        if partial.id.is_empty() {
            partial.id = format!("call_{}_{position}", self.salt);
        }
        self.call_bytes += partial.bytes();
        signals.push(Signal::Call {
            index: position,
            call: partial.id.clone(),
            name: self.names.original(&partial.name).to_owned(),
            bytes: partial.input.len() as u64,
        });
    }

    /// Returns the call that a piece belongs to, or `None` if the piece only repeats it. A new id starts a new call,
    /// whatever its index. So does a name with more input after complete input: some servers give all calls the same
    /// index, and no ids or all the same id.
    fn find_call(&mut self, slot: Option<u64>, id: &str, name: &str, more: &str) -> Option<usize> {
        let known = match slot {
            Some(_) => self.calls.iter().rposition(|call| call.slot == slot),
            None => self.calls.len().checked_sub(1),
        };
        let known = known.filter(|position| id.is_empty() || self.calls[*position].id == id);
        if let Some(position) = known {
            let call = &self.calls[position];
            if name.is_empty() || more.trim().is_empty() || !call.is_complete() {
                return Some(position);
            }
            if !id.is_empty() && call.name == name && call.input == more {
                return None;
            }
        }
        self.calls.push(PartialCall { slot, ..PartialCall::default() });
        Some(self.calls.len() - 1)
    }

    fn count(&mut self, usage: &Value) {
        let details = usage.get("prompt_tokens_details").unwrap_or(&Value::Null);
        let cache_read = number(details, "cached_tokens").or_else(|| number(usage, "prompt_cache_hit_tokens"));
        let cache_read = cache_read.unwrap_or_default();
        self.tokens = Some(Tokens {
            input: number(usage, "prompt_tokens").unwrap_or_default().saturating_sub(cache_read),
            output: number(usage, "completion_tokens").unwrap_or_default(),
            cache_read,
            ..Tokens::default()
        });
    }

    fn stop(&self) -> StopReason {
        match self.finish.as_deref() {
            Some("length" | "max_tokens") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            _ if self.refused => StopReason::Refusal,
            // Some servers send `stop` with calls, or `tool_calls` without any: the calls decide.
            None | Some("stop" | "eos" | "end_turn" | "tool_calls" | "function_call" | "tool_use") => {
                if self.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse }
            }
            Some(other) => StopReason::Other(other.to_owned()),
        }
    }
}

impl Protocol for Stream {
    fn event(&mut self, name: &str, data: &Value, signals: &mut Vec<Signal>) -> Result<(), ApiError> {
        if name == "error" || data.get("error").is_some_and(|error| !error.is_null()) {
            return Err(classify_event(Wire::OpenaiChat, data));
        }
        if let Some(model) = text(data, "model") {
            model.clone_into(&mut self.model);
        }
        // Requests ask for only one choice.
        if let Some(choice) = list(data, "choices").first() {
            let delta = choice.get("delta").or_else(|| choice.get("message"));
            self.delta(delta.unwrap_or(&Value::Null), signals);
            // Some servers send an empty one in every piece but the last.
            if let Some(finish) = text(choice, "finish_reason").filter(|finish| !finish.is_empty()) {
                self.finish = Some(finish.to_owned());
            }
        }
        if let Some(usage) = data.get("usage").filter(|usage| usage.is_object()) {
            self.count(usage);
        }
        Ok(())
    }

    fn done_marker(&mut self) {
        self.over = true;
    }

    fn decode_whole(&mut self, answer: &Value, signals: &mut Vec<Signal>) -> Result<(), ApiError> {
        self.over = list(answer, "choices").first().is_some_and(|choice| choice.get("message").is_some());
        self.event("", answer, signals)
    }

    fn progress(&self) -> Progress {
        match (self.over, &self.finish) {
            (true, _) => Progress::Over,
            (false, Some(_)) => Progress::Complete,
            (false, None) => Progress::Open,
        }
    }

    fn content_size(&self) -> ContentSize {
        let bytes = self.text.len() + self.thinking.len() + self.call_bytes;
        ContentSize { blocks: self.calls.len(), bytes }
    }

    fn texts(&self) -> Vec<String> {
        vec![self.text.clone()]
    }

    fn tokens(&self) -> Option<Tokens> {
        self.tokens
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn finish(self: Box<Self>) -> (StopReason, Vec<ResponseBlock>) {
        let stop = self.stop();
        let thought = (!self.thinking.trim().is_empty()).then(|| {
            ResponseBlock::Thinking(Thought {
                text: self.thinking.clone(),
                signature: self.thinking_field.map(str::to_owned),
                redacted: None,
                wire: Wire::OpenaiChat,
            })
        });
        let calls = self.calls.into_iter().map(|call| {
            let name = self.names.original(&call.name).to_owned();
            ResponseBlock::ToolUse(tool_use(call.id, name, call.input))
        });
        (stop, thought.into_iter().chain(text_blocks(vec![self.text])).chain(calls).collect())
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;

//! Decodes the stream of a response incrementally: pushes bytes in, signals out, and the response at the end.
//!
//! No I/O and no clock. This module has the parts that all wires share: splitting bytes into events, parsing JSON, and
//! errors of streams that fail or end early. Each wire interprets its events with its own `Protocol`.

pub(crate) mod json;
mod limits;

use std::collections::HashSet;

use serde_json::Value;

use crate::base::Json;
use crate::model::conversation::{ToolUse, Wire};
use crate::model::event::{SessionConfig, StopReason};
use crate::model::usage::Tokens;
use crate::provider::error::{ApiError, ErrorClass};
use crate::provider::response::{Response, ResponseBlock, Signal};
use crate::provider::sse::{Splitter, SseEvent};
use crate::provider::{anthropic, openai_chat, openai_responses};

pub use limits::ResponseLimits;

/// The progress of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Open,
    /// The response is complete, but more events may follow.
    Complete,
    /// No more events follow.
    Over,
}

/// Size of the decoded part of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ContentSize {
    pub(crate) blocks: usize,
    /// Text, thinking and tool input.
    pub(crate) bytes: usize,
}

/// Interprets the events of a wire.
pub(crate) trait Protocol: Send {
    fn event(&mut self, name: &str, data: &Value, signals: &mut Vec<Signal>) -> Result<(), ApiError>;
    /// Handles the bare `[DONE]` that ends the streams of some servers.
    fn done_marker(&mut self) {}
    /// Decodes a response in one piece, from a server that does not stream. Ignores any other JSON.
    fn decode_whole(&mut self, answer: &Value, signals: &mut Vec<Signal>) -> Result<(), ApiError>;
    fn progress(&self) -> Progress;
    /// Returns the size so far. It changes with each event that adds content, and with no other.
    fn content_size(&self) -> ContentSize;
    /// Returns the text so far, without thoughts and calls: partial ones are useless.
    fn texts(&self) -> Vec<String>;
    fn tokens(&self) -> Option<Tokens>;
    fn model(&self) -> &str;
    /// Returns the stop reason and the blocks in order, without blank ones.
    fn finish(self: Box<Self>) -> (StopReason, Vec<ResponseBlock>);
}

/// Decodes one response.
pub struct Decoder {
    splitter: Splitter,
    protocol: Box<dyn Protocol>,
    salt: String,
    failure: Option<ApiError>,
    limits: ResponseLimits,
    /// Decompressed bytes of the stream so far.
    wire_bytes: u64,
    /// Number of events that added content or ended the response.
    content_events: u64,
}

impl Decoder {
    /// Returns a decoder for the response to a request. `salt` is unique to the request. Tool calls with missing or
    /// duplicate ids get ids made from it.
    pub fn new(config: &SessionConfig, salt: &str) -> Self {
        let protocol: Box<dyn Protocol> = match config.wire {
            Wire::Anthropic => Box::new(anthropic::Stream::new(config, salt)),
            Wire::OpenaiResponses => Box::new(openai_responses::Stream::new(config, salt)),
            // The scripted provider does not use a decoder.
            Wire::OpenaiChat | Wire::Scripted => Box::new(openai_chat::Stream::new(config, salt)),
        };
        Self {
            splitter: Splitter::default(),
            protocol,
            salt: salt.to_owned(),
            failure: None,
            limits: ResponseLimits::default(),
            wire_bytes: 0,
            content_events: 0,
        }
    }

    /// Sets the limits at which a response is cut off.
    pub fn with_limits(mut self, limits: ResponseLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the number of events that added content or ended the response. Pings, comments and empty deltas do not
    /// count.
    pub fn content_events(&self) -> u64 {
        self.content_events
    }

    /// Decodes the next bytes and returns new signals. Bytes after a failure or after the end are ignored.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Signal> {
        let (mut events, mut signals) = (Vec::new(), Vec::new());
        if self.is_over() {
            return signals;
        }
        self.wire_bytes = self.wire_bytes.saturating_add(bytes.len() as u64);
        let split = self.splitter.push(bytes, &mut events);
        for event in &events {
            if self.is_over() {
                return signals;
            }
            if let Err(failure) = self.decode_event(event, &mut signals) {
                self.failure = Some(failure);
            }
        }
        if let Err(too_large) = split {
            self.failure.get_or_insert_with(|| ApiError::new(ErrorClass::Runaway, too_large.to_string()));
        }
        self.check_limits();
        signals
    }

    /// Decodes a body that is not declared as a stream: a response in one piece, or a stream after all. Returns its
    /// signals, or `None` if it is neither.
    pub fn push_answer(&mut self, body: &[u8]) -> Option<Vec<Signal>> {
        let mut signals = Vec::new();
        match serde_json::from_slice::<Value>(body) {
            Ok(answer) => {
                self.failure = self.protocol.decode_whole(&answer, &mut signals).err();
                self.check_limits();
            }
            Err(_) => signals = self.push(body),
        }
        (self.is_over() || self.protocol.progress() == Progress::Complete).then_some(signals)
    }

    /// Returns true if the response has ended or failed.
    pub fn is_over(&self) -> bool {
        self.failure.is_some() || self.protocol.progress() == Progress::Over
    }

    /// Returns the text so far, as an interrupted response.
    pub fn partial(&self) -> Response {
        let tokens = self.protocol.tokens();
        Response {
            blocks: text_blocks(self.protocol.texts()),
            tokens: tokens.unwrap_or_default(),
            usage_reported: tokens.is_some(),
            stop: StopReason::Interrupted,
            cut_call: None,
            model: self.protocol.model().to_owned(),
        }
    }

    /// Ends the stream and returns the response.
    pub fn finish(mut self) -> Result<Response, ApiError> {
        let splitter = std::mem::take(&mut self.splitter);
        if let (false, Some(tail)) = (self.is_over(), splitter.finish())
            && is_readable(&tail)
        {
            self.failure = self.decode_event(&tail, &mut Vec::new()).err();
        }
        if let Some(failure) = self.failure.take() {
            return Err(failure.with_partial(self.partial()));
        }
        match self.protocol.progress() {
            Progress::Complete | Progress::Over => Ok(self.into_response()),
            Progress::Open => {
                let failure = ApiError::new(ErrorClass::Truncated, "the stream ended before the response was complete");
                Err(failure.with_partial(self.partial()))
            }
        }
    }

    fn into_response(self) -> Response {
        let (tokens, model) = (self.protocol.tokens(), self.protocol.model().to_owned());
        let (stop, mut blocks) = self.protocol.finish();
        rename_repeated(&mut blocks, &self.salt);
        let cut_call = cut_call(&stop, &mut blocks);
        Response { blocks, tokens: tokens.unwrap_or_default(), usage_reported: tokens.is_some(), stop, cut_call, model }
    }

    fn decode_event(&mut self, event: &SseEvent, signals: &mut Vec<Signal>) -> Result<(), ApiError> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.protocol.done_marker();
            return Ok(());
        }
        if data.is_empty() {
            return Ok(());
        }
        let value: Value = serde_json::from_str(data).map_err(|problem| {
            ApiError::new(ErrorClass::Server, format!("an event of the stream is not JSON: {problem}"))
        })?;
        let before = (self.protocol.content_size(), self.protocol.progress());
        self.protocol.event(&event.name, &value, signals)?;
        if (self.protocol.content_size(), self.protocol.progress()) != before {
            self.content_events += 1;
        }
        self.check_limits();
        Ok(())
    }

    fn check_limits(&mut self) {
        // A complete response needs no limit.
        if self.is_over() {
            return;
        }
        self.failure = self.limits.exceeded_by(self.wire_bytes, self.protocol.content_size());
    }
}

/// Returns true if the last event is complete, though no blank line follows. An incomplete event is not reported as bad
/// JSON: the stream is reported as truncated.
fn is_readable(event: &SseEvent) -> bool {
    event.data.trim() == "[DONE]" || serde_json::from_str::<serde::de::IgnoredAny>(&event.data).is_ok()
}

pub(crate) fn text_blocks(texts: Vec<String>) -> Vec<ResponseBlock> {
    texts.into_iter().filter(|text| !text.trim().is_empty()).map(ResponseBlock::Text).collect()
}

/// Returns a call with the input `raw`. Blank input becomes an empty object.
pub(crate) fn tool_use(call: String, name: String, raw: String) -> ToolUse {
    if raw.trim().is_empty() {
        return ToolUse { call, name, input: Json::object(), malformed: None };
    }
    match Json::parse(raw.clone()) {
        // APIs accept only objects in the conversation.
        Ok(input) if input.as_str().trim_start().starts_with('{') => ToolUse { call, name, input, malformed: None },
        _ => ToolUse { call, name, input: Json::object(), malformed: Some(raw) },
    }
}

/// Makes the ids of the calls unique, because results refer to calls by id.
fn rename_repeated(blocks: &mut [ResponseBlock], salt: &str) {
    let mut calls: Vec<&mut ToolUse> = blocks
        .iter_mut()
        .filter_map(|block| match block {
            ResponseBlock::ToolUse(call) => Some(call),
            ResponseBlock::Text(_) | ResponseBlock::Thinking(_) => None,
        })
        .collect();
    let mut taken: HashSet<String> = calls.iter().map(|call| call.call.clone()).collect();
    let mut seen = HashSet::new();
    for (position, call) in calls.iter_mut().enumerate() {
        if seen.insert(call.call.clone()) {
            continue;
        }
        // At most `taken.len()` numbers are in use, so one of these is free.
        let last = position + taken.len();
        let own = (position..=last).map(|number| format!("call_{salt}_{number}")).find(|id| taken.insert(id.clone()));
        call.call = own.unwrap_or_default();
    }
}

/// Returns the id of the call that the output limit truncated: the last block, if its input is incomplete.
pub(crate) fn cut_call(stop: &StopReason, blocks: &mut [ResponseBlock]) -> Option<String> {
    let (StopReason::MaxTokens, Some(ResponseBlock::ToolUse(call))) = (stop, blocks.last_mut()) else { return None };
    // The input was cut before its first byte.
    if call.malformed.is_none() && call.input.as_str() == "{}" {
        call.malformed = Some(String::new());
    }
    call.malformed.is_some().then(|| call.call.clone())
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;

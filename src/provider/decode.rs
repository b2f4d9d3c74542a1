//! Reads a response's stream, fed in pieces: signals come out as they can, the response at the end.
//!
//! No I/O and no clock. What the wires share is here: events out of bytes, JSON out of events, and what is to be said
//! of a stream that fails, or ends before it is over. What an event means is each wire's own protocol.

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

/// How far a stream has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Open,
    /// It may end here; something may still follow.
    Whole,
    /// It said that nothing will follow.
    Over,
}

/// How much of a response a decoder holds in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) blocks: usize,
    /// Text, thinking and tool input.
    pub(crate) bytes: usize,
}

/// What the events of a wire mean.
pub(crate) trait Protocol: Send {
    fn event(&mut self, name: &str, data: &Value, signals: &mut Vec<Signal>) -> Result<(), ApiError>;
    /// The bare `[DONE]` that some servers end with.
    fn done_marker(&mut self) {}
    /// Takes a response that came as one piece, from a server that does not stream. Anything else is not taken.
    fn whole(&mut self, answer: &Value, signals: &mut Vec<Signal>) -> Result<(), ApiError>;
    fn progress(&self) -> Progress;
    /// Returns how much has arrived. Grows with every event that adds content, and with no other.
    fn held(&self) -> Held;
    /// Returns the text so far. Thoughts and calls are left out: half of one is of no use to anybody.
    fn texts(&self) -> Vec<String>;
    fn tokens(&self) -> Option<Tokens>;
    fn model(&self) -> &str;
    /// Returns why the response ended, and its blocks in order, the blank ones left out.
    fn finish(self: Box<Self>) -> (StopReason, Vec<ResponseBlock>);
}

/// Reads one response.
pub struct Decoder {
    splitter: Splitter,
    protocol: Box<dyn Protocol>,
    salt: String,
    failure: Option<ApiError>,
    limits: ResponseLimits,
    /// Bytes of the stream so far, decompressed.
    wire_bytes: u64,
    /// Events so far that added content or ended the response.
    content_events: u64,
}

impl Decoder {
    /// Returns a decoder for the response to a request. `salt` is unique to the request: servers that do not name
    /// their tool calls, or give two of them one name, get names made from it.
    pub fn new(config: &SessionConfig, salt: &str) -> Self {
        let protocol: Box<dyn Protocol> = match config.wire {
            Wire::Anthropic => Box::new(anthropic::Stream::new(config, salt)),
            Wire::OpenaiResponses => Box::new(openai_responses::Stream::new(config, salt)),
            // A scripted provider makes its responses whole; whoever decodes one all the same is shown text.
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

    /// Replaces the limits that end a response which does not end by itself.
    pub fn with_limits(mut self, limits: ResponseLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns how many events added content or ended the response. Pings, comments and empty pieces do not count.
    pub fn content_events(&self) -> u64 {
        self.content_events
    }

    /// Takes the next piece and returns what it adds. After a failure, or after the end, everything is ignored.
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
            if let Err(failure) = self.take(event, &mut signals) {
                self.failure = Some(failure);
            }
        }
        if let Err(too_large) = split {
            self.failure.get_or_insert_with(|| ApiError::new(ErrorClass::Runaway, too_large.to_string()));
        }
        self.check_limits();
        signals
    }

    /// Takes an answer that does not say that it is a stream: a response in one piece, or a stream all the same.
    /// Returns what it adds. Nothing: it is neither.
    pub fn push_answer(&mut self, body: &[u8]) -> Option<Vec<Signal>> {
        let mut signals = Vec::new();
        match serde_json::from_slice::<Value>(body) {
            Ok(answer) => {
                self.failure = self.protocol.whole(&answer, &mut signals).err();
                self.check_limits();
            }
            Err(_) => signals = self.push(body),
        }
        (self.is_over() || self.protocol.progress() == Progress::Whole).then_some(signals)
    }

    /// Tells whether nothing more is to be expected: it ended, or it failed.
    pub fn is_over(&self) -> bool {
        self.failure.is_some() || self.protocol.progress() == Progress::Over
    }

    /// Returns the text that has arrived, as a response that was stopped here.
    pub fn partial(&self) -> Response {
        let tokens = self.protocol.tokens();
        Response {
            blocks: said(self.protocol.texts()),
            tokens: tokens.unwrap_or_default(),
            usage_reported: tokens.is_some(),
            stop: StopReason::Interrupted,
            cut_call: None,
            model: self.protocol.model().to_owned(),
        }
    }

    /// Returns the response, now that the stream has ended.
    pub fn finish(mut self) -> Result<Response, ApiError> {
        let splitter = std::mem::take(&mut self.splitter);
        if let (false, Some(tail)) = (self.is_over(), splitter.finish())
            && is_readable(&tail)
        {
            self.failure = self.take(&tail, &mut Vec::new()).err();
        }
        if let Some(failure) = self.failure.take() {
            return Err(failure.with_partial(self.partial()));
        }
        match self.protocol.progress() {
            Progress::Whole | Progress::Over => Ok(self.whole()),
            Progress::Open => {
                let failure = ApiError::new(ErrorClass::Truncated, "the stream ended before the response was complete");
                Err(failure.with_partial(self.partial()))
            }
        }
    }

    fn whole(self) -> Response {
        let (tokens, model) = (self.protocol.tokens(), self.protocol.model().to_owned());
        let (stop, mut blocks) = self.protocol.finish();
        rename_repeated(&mut blocks, &self.salt);
        let cut_call = cut_call(&stop, &mut blocks);
        Response { blocks, tokens: tokens.unwrap_or_default(), usage_reported: tokens.is_some(), stop, cut_call, model }
    }

    fn take(&mut self, event: &SseEvent, signals: &mut Vec<Signal>) -> Result<(), ApiError> {
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
        let before = (self.protocol.held(), self.protocol.progress());
        self.protocol.event(&event.name, &value, signals)?;
        if (self.protocol.held(), self.protocol.progress()) != before {
            self.content_events += 1;
        }
        self.check_limits();
        Ok(())
    }

    fn check_limits(&mut self) {
        // A response that says it is complete has ended by itself.
        if self.is_over() {
            return;
        }
        self.failure = self.limits.exceeded_by(self.wire_bytes, self.protocol.held());
    }
}

/// Tells whether the last event came whole, though nothing closed it. One that was cut is no failure of its own: that
/// the stream was cut is.
fn is_readable(event: &SseEvent) -> bool {
    event.data.trim() == "[DONE]" || serde_json::from_str::<serde::de::IgnoredAny>(&event.data).is_ok()
}

pub(crate) fn said(texts: Vec<String>) -> Vec<ResponseBlock> {
    texts.into_iter().filter(|text| !text.trim().is_empty()).map(ResponseBlock::Text).collect()
}

/// Returns the call whose input a model wrote as `raw`. No input at all is an empty one.
pub(crate) fn tool_use(call: String, name: String, raw: String) -> ToolUse {
    if raw.trim().is_empty() {
        return ToolUse { call, name, input: Json::object(), malformed: None };
    }
    match Json::parse(raw.clone()) {
        // Every API takes an object back and nothing else.
        Ok(input) if input.as_str().trim_start().starts_with('{') => ToolUse { call, name, input, malformed: None },
        _ => ToolUse { call, name, input: Json::object(), malformed: Some(raw) },
    }
}

/// Gives every call an id of its own: a result names the call it belongs to by nothing else.
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
        // Each number in turn: of so many calls, one of the next so many numbers is free.
        let last = position + taken.len();
        let own = (position..=last).map(|number| format!("call_{salt}_{number}")).find(|id| taken.insert(id.clone()));
        call.call = own.unwrap_or_default();
    }
}

/// Returns the id of the call that the output limit cut: the last block, if its input is not complete.
pub(crate) fn cut_call(stop: &StopReason, blocks: &mut [ResponseBlock]) -> Option<String> {
    let (StopReason::MaxTokens, Some(ResponseBlock::ToolUse(call))) = (stop, blocks.last_mut()) else { return None };
    // An input of which nothing arrived looks like an empty one, and is not.
    if call.malformed.is_none() && call.input.as_str() == "{}" {
        call.malformed = Some(String::new());
    }
    call.malformed.is_some().then(|| call.call.clone())
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;

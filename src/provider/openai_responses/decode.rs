//! Decodes the event stream of the Responses API.
//!
//! Deltas are for display and for interrupted responses. A finished item replaces its deltas.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::model::conversation::{Thought, Wire};
use crate::model::event::{SessionConfig, StopReason};
use crate::model::usage::Tokens;
use crate::provider::decode::json::{list, number, text};
use crate::provider::decode::{ContentSize, Progress, Protocol, tool_use};
use crate::provider::encode::names::ToolNames;
use crate::provider::error::{ApiError, classify_event};
use crate::provider::openai_responses::NAME_LIMIT;
use crate::provider::response::{ResponseBlock, Signal};

enum PartialItem {
    Message(String),
    /// The readable summary, and the item to send back, once it is finished.
    Reasoning {
        text: String,
        item: Option<String>,
    },
    Call {
        call: String,
        name: String,
        index: usize,
        input: String,
    },
    Ignored,
}

impl PartialItem {
    fn bytes(&self) -> usize {
        match self {
            Self::Message(text) => text.len(),
            Self::Reasoning { text, item } => text.len() + item.as_ref().map_or(0, String::len),
            Self::Call { call, name, input, .. } => call.len() + name.len() + input.len(),
            Self::Ignored => 0,
        }
    }
}

/// A response of the Responses API while it arrives.
pub(crate) struct Stream {
    names: ToolNames,
    salt: String,
    items: BTreeMap<u64, PartialItem>,
    /// Bytes in `items`.
    bytes: usize,
    /// The last item is finished.
    item_done: bool,
    calls: usize,
    refused: bool,
    tokens: Option<Tokens>,
    /// The reason why the response is incomplete, if it is.
    incomplete: Option<String>,
    model: String,
    over: bool,
}

impl Stream {
    pub(crate) fn new(config: &SessionConfig, salt: &str) -> Self {
        Self {
            names: ToolNames::new(&config.tools, NAME_LIMIT),
            salt: salt.to_owned(),
            items: BTreeMap::new(),
            bytes: 0,
            item_done: true,
            calls: 0,
            refused: false,
            tokens: None,
            incomplete: None,
            model: String::new(),
            over: false,
        }
    }

    /// Returns the index of the item that an event belongs to. Events without an index are in order.
    fn index(&self, data: &Value, event: &str) -> u64 {
        let begins = event == "response.output_item.added" || self.item_done;
        let last = self.items.last_key_value().map(|(index, _)| *index);
        let next = last.map_or(0, |last| last + u64::from(begins));
        number(data, "output_index").unwrap_or(next)
    }

    fn add_item(&mut self, index: u64, item: &Value, signals: &mut Vec<Signal>) {
        let partial = match text(item, "type") {
            Some("message") => PartialItem::Message(String::new()),
            Some("reasoning") => PartialItem::Reasoning { text: String::new(), item: None },
            Some("function_call") => {
                let position = self.calls;
                self.calls += 1;
                let call = match text(item, "call_id") {
                    Some(id) if !id.is_empty() => id.to_owned(),
                    _ => format!("call_{}_{position}", self.salt),
                };
                let name = self.names.original(text(item, "name").unwrap_or_default()).to_owned();
                let input = text(item, "arguments").unwrap_or_default().to_owned();
                let bytes = input.len() as u64;
                signals.push(Signal::Call { index: position, call: call.clone(), name: name.clone(), bytes });
                PartialItem::Call { call, name, index: position, input }
            }
            _ => PartialItem::Ignored,
        };
        self.bytes += partial.bytes();
        self.items.insert(index, partial);
    }

    fn extend(&mut self, index: u64, event: &str, delta: &str, signals: &mut Vec<Signal>) {
        if delta.is_empty() {
            return;
        }
        let is_text = matches!(event, "response.output_text.delta" | "response.refusal.delta");
        let missing = || if is_text { PartialItem::Message(String::new()) } else { PartialItem::Ignored };
        match self.items.entry(index).or_insert_with(missing) {
            PartialItem::Message(content) if is_text => {
                self.bytes += delta.len();
                content.push_str(delta);
                signals.push(Signal::Text(delta.to_owned()));
            }
            PartialItem::Reasoning { text, .. } if event.starts_with("response.reasoning") => {
                self.bytes += delta.len();
                text.push_str(delta);
                signals.push(Signal::Thinking(delta.to_owned()));
            }
            PartialItem::Call { call, name, index, input } if event == "response.function_call_arguments.delta" => {
                self.bytes += delta.len();
                input.push_str(delta);
                let bytes = input.len() as u64;
                signals.push(Signal::Call { index: *index, call: call.clone(), name: name.clone(), bytes });
            }
            PartialItem::Message(_)
            | PartialItem::Reasoning { .. }
            | PartialItem::Call { .. }
            | PartialItem::Ignored => {}
        }
    }

    fn finish_item(&mut self, index: u64, item: &Value, signals: &mut Vec<Signal>) {
        if !self.items.contains_key(&index) {
            self.add_item(index, item, signals);
        }
        let Some(partial) = self.items.get_mut(&index) else { return };
        let before = partial.bytes();
        match partial {
            PartialItem::Message(content) => {
                let parts = list(item, "content");
                self.refused |= parts.iter().any(|part| text(part, "type") == Some("refusal"));
                let whole: String =
                    parts.iter().filter_map(|part| text(part, "text").or_else(|| text(part, "refusal"))).collect();
                if !whole.is_empty() {
                    *content = whole;
                }
            }
            PartialItem::Reasoning { text: thought, item: encrypted } => {
                let parts = list(item, "summary").iter().chain(list(item, "content"));
                let whole = parts.filter_map(|part| text(part, "text")).collect::<Vec<_>>().join("\n\n");
                if !whole.is_empty() {
                    *thought = whole;
                }
                *encrypted = reusable_item(item);
            }
            PartialItem::Call { input, .. } => {
                if let Some(whole) = text(item, "arguments").filter(|whole| !whole.is_empty()) {
                    whole.clone_into(input);
                }
            }
            PartialItem::Ignored => {}
        }
        self.bytes = (self.bytes + partial.bytes()).saturating_sub(before);
    }

    fn finish_response(&mut self, response: &Value, signals: &mut Vec<Signal>) {
        if let Some(model) = text(response, "model") {
            model.clone_into(&mut self.model);
        }
        // Some servers list the items only here.
        if self.items.is_empty() {
            for (index, item) in (0..).zip(list(response, "output")) {
                self.finish_item(index, item, signals);
            }
        }
        if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
            let details = usage.get("input_tokens_details").unwrap_or(&Value::Null);
            let cache_read = number(details, "cached_tokens").unwrap_or_default();
            self.tokens = Some(Tokens {
                input: number(usage, "input_tokens").unwrap_or_default().saturating_sub(cache_read),
                output: number(usage, "output_tokens").unwrap_or_default(),
                cache_read,
                ..Tokens::default()
            });
        }
        self.over = true;
    }

    fn stop(&self) -> StopReason {
        match self.incomplete.as_deref() {
            Some("max_output_tokens" | "max_tokens") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            Some(other) => StopReason::Other(other.to_owned()),
            None if self.refused => StopReason::Refusal,
            None if self.calls > 0 => StopReason::ToolUse,
            None => StopReason::EndTurn,
        }
    }
}

/// Returns a reasoning item in the form to send back: without ids, because requests use `store: false`. Returns `None`
/// if it has no encrypted part, because the API cannot use it then.
fn reusable_item(item: &Value) -> Option<String> {
    text(item, "encrypted_content").filter(|encrypted| !encrypted.is_empty())?;
    let mut item = item.as_object()?.clone();
    item.shift_remove("id");
    item.shift_remove("status");
    serde_json::to_string(&item).ok()
}

impl Protocol for Stream {
    fn event(&mut self, name: &str, data: &Value, signals: &mut Vec<Signal>) -> Result<(), ApiError> {
        let part = |key| data.get(key).unwrap_or(&Value::Null);
        let event = text(data, "type").unwrap_or(name);
        let index = self.index(data, event);
        match event {
            "response.created" | "response.in_progress" => {
                text(part("response"), "model").unwrap_or_default().clone_into(&mut self.model);
            }
            "response.output_item.added" => {
                self.item_done = false;
                self.add_item(index, part("item"), signals);
            }
            "response.output_item.done" => {
                self.finish_item(index, part("item"), signals);
                self.item_done = true;
            }
            "response.output_text.delta"
            | "response.refusal.delta"
            | "response.reasoning_summary_text.delta"
            | "response.reasoning_text.delta"
            | "response.function_call_arguments.delta" => {
                self.refused |= event == "response.refusal.delta";
                self.item_done = false;
                self.extend(index, event, text(data, "delta").unwrap_or_default(), signals);
            }
            "response.reasoning_summary_part.added" => {
                if let Some(PartialItem::Reasoning { text, .. }) = self.items.get(&index)
                    && !text.is_empty()
                {
                    self.extend(index, event, "\n\n", signals);
                }
            }
            "response.completed" | "response.done" => self.finish_response(part("response"), signals),
            "response.incomplete" => {
                let response = part("response");
                let reason = response.get("incomplete_details").and_then(|details| text(details, "reason"));
                self.incomplete = Some(reason.unwrap_or("incomplete").to_owned());
                self.finish_response(response, signals);
            }
            "response.failed" => return Err(classify_event(Wire::OpenaiResponses, part("response"))),
            "error" => return Err(classify_event(Wire::OpenaiResponses, data)),
            _ => {}
        }
        Ok(())
    }

    fn decode_whole(&mut self, answer: &Value, signals: &mut Vec<Signal>) -> Result<(), ApiError> {
        if !answer.get("output").is_some_and(Value::is_array) {
            return Ok(());
        }
        let event = match text(answer, "status") {
            Some("failed") => "response.failed",
            Some("incomplete") => "response.incomplete",
            Some(_) | None => "response.completed",
        };
        self.event(event, &json!({ "response": answer }), signals)
    }

    fn progress(&self) -> Progress {
        if self.over { Progress::Over } else { Progress::Open }
    }

    fn content_size(&self) -> ContentSize {
        ContentSize { blocks: self.items.len(), bytes: self.bytes }
    }

    fn texts(&self) -> Vec<String> {
        let texts = self.items.values().filter_map(|item| match item {
            PartialItem::Message(text) => Some(text.clone()),
            PartialItem::Reasoning { .. } | PartialItem::Call { .. } | PartialItem::Ignored => None,
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
        let blocks = self.items.into_values().filter_map(|item| match item {
            PartialItem::Message(text) => (!text.trim().is_empty()).then_some(ResponseBlock::Text(text)),
            PartialItem::Reasoning { text, item } => {
                let hidden = text.trim().is_empty();
                let (signature, redacted) = if hidden { (None, item) } else { (item, None) };
                (!hidden || redacted.is_some()).then_some(ResponseBlock::Thinking(Thought {
                    text,
                    signature,
                    redacted,
                    wire: Wire::OpenaiResponses,
                }))
            }
            PartialItem::Call { call, name, input, .. } => Some(ResponseBlock::ToolUse(tool_use(call, name, input))),
            PartialItem::Ignored => None,
        });
        (stop, blocks.collect())
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;

//! Reads the event stream of the Responses API.
//!
//! Deltas are for the screen and for interrupts; an item that the API declares done replaces what its deltas gave.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::model::conversation::{Thought, Wire};
use crate::model::event::{SessionConfig, StopReason};
use crate::model::usage::Tokens;
use crate::provider::decode::json::{list, number, text};
use crate::provider::decode::{Held, Progress, Protocol, tool_use};
use crate::provider::encode::names::Names;
use crate::provider::error::{ApiError, classify_event};
use crate::provider::openai_responses::NAME_LIMIT;
use crate::provider::response::{ResponseBlock, Signal};

enum Building {
    Message(String),
    /// The summary for people, and the item itself for the API, once it is done.
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

impl Building {
    fn bytes(&self) -> usize {
        match self {
            Self::Message(text) => text.len(),
            Self::Reasoning { text, item } => text.len() + item.as_ref().map_or(0, String::len),
            Self::Call { call, name, input, .. } => call.len() + name.len() + input.len(),
            Self::Ignored => 0,
        }
    }
}

/// A response of the Responses API while it comes in.
pub(crate) struct Stream {
    names: Names,
    salt: String,
    items: BTreeMap<u64, Building>,
    /// Bytes in `items`.
    bytes: usize,
    /// The last item is done.
    item_done: bool,
    calls: usize,
    refused: bool,
    tokens: Option<Tokens>,
    /// Why it is incomplete, if it is.
    incomplete: Option<String>,
    model: String,
    over: bool,
}

impl Stream {
    pub(crate) fn new(config: &SessionConfig, salt: &str) -> Self {
        Self {
            names: Names::new(&config.tools, NAME_LIMIT),
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

    /// Returns the number of the item that an event is about. Without one, items come one after the other.
    fn index(&self, data: &Value, event: &str) -> u64 {
        let begins = event == "response.output_item.added" || self.item_done;
        let last = self.items.last_key_value().map(|(index, _)| *index);
        let next = last.map_or(0, |last| last + u64::from(begins));
        number(data, "output_index").unwrap_or(next)
    }

    fn add_item(&mut self, index: u64, item: &Value, signals: &mut Vec<Signal>) {
        let building = match text(item, "type") {
            Some("message") => Building::Message(String::new()),
            Some("reasoning") => Building::Reasoning { text: String::new(), item: None },
            Some("function_call") => {
                let position = self.calls;
                self.calls += 1;
                let call = match text(item, "call_id") {
                    Some(id) if !id.is_empty() => id.to_owned(),
                    _ => format!("call_{}_{position}", self.salt),
                };
                let name = self.names.ours(text(item, "name").unwrap_or_default()).to_owned();
                let input = text(item, "arguments").unwrap_or_default().to_owned();
                let bytes = input.len() as u64;
                signals.push(Signal::Call { index: position, call: call.clone(), name: name.clone(), bytes });
                Building::Call { call, name, index: position, input }
            }
            _ => Building::Ignored,
        };
        self.bytes += building.bytes();
        self.items.insert(index, building);
    }

    fn extend(&mut self, index: u64, event: &str, delta: &str, signals: &mut Vec<Signal>) {
        if delta.is_empty() {
            return;
        }
        let speaks = matches!(event, "response.output_text.delta" | "response.refusal.delta");
        let missing = || if speaks { Building::Message(String::new()) } else { Building::Ignored };
        match self.items.entry(index).or_insert_with(missing) {
            Building::Message(said) if speaks => {
                self.bytes += delta.len();
                said.push_str(delta);
                signals.push(Signal::Text(delta.to_owned()));
            }
            Building::Reasoning { text, .. } if event.starts_with("response.reasoning") => {
                self.bytes += delta.len();
                text.push_str(delta);
                signals.push(Signal::Thinking(delta.to_owned()));
            }
            Building::Call { call, name, index, input } if event == "response.function_call_arguments.delta" => {
                self.bytes += delta.len();
                input.push_str(delta);
                let bytes = input.len() as u64;
                signals.push(Signal::Call { index: *index, call: call.clone(), name: name.clone(), bytes });
            }
            Building::Message(_) | Building::Reasoning { .. } | Building::Call { .. } | Building::Ignored => {}
        }
    }

    fn finish_item(&mut self, index: u64, item: &Value, signals: &mut Vec<Signal>) {
        if !self.items.contains_key(&index) {
            self.add_item(index, item, signals);
        }
        let Some(building) = self.items.get_mut(&index) else { return };
        let before = building.bytes();
        match building {
            Building::Message(said) => {
                let parts = list(item, "content");
                self.refused |= parts.iter().any(|part| text(part, "type") == Some("refusal"));
                let whole: String =
                    parts.iter().filter_map(|part| text(part, "text").or_else(|| text(part, "refusal"))).collect();
                if !whole.is_empty() {
                    *said = whole;
                }
            }
            Building::Reasoning { text: thought, item: sealed } => {
                let parts = list(item, "summary").iter().chain(list(item, "content"));
                let whole = parts.filter_map(|part| text(part, "text")).collect::<Vec<_>>().join("\n\n");
                if !whole.is_empty() {
                    *thought = whole;
                }
                *sealed = reusable(item);
            }
            Building::Call { input, .. } => {
                if let Some(whole) = text(item, "arguments").filter(|whole| !whole.is_empty()) {
                    whole.clone_into(input);
                }
            }
            Building::Ignored => {}
        }
        self.bytes = (self.bytes + building.bytes()).saturating_sub(before);
    }

    fn finish_response(&mut self, response: &Value, signals: &mut Vec<Signal>) {
        if let Some(model) = text(response, "model") {
            model.clone_into(&mut self.model);
        }
        // Some servers only list the items here.
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

/// Returns a reasoning item as it can be sent back: without the ids of a store that we do not use. Nothing if there
/// is no encrypted part, because then it is worth nothing to the API.
fn reusable(item: &Value) -> Option<String> {
    text(item, "encrypted_content").filter(|sealed| !sealed.is_empty())?;
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
                if let Some(Building::Reasoning { text, .. }) = self.items.get(&index)
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

    fn whole(&mut self, answer: &Value, signals: &mut Vec<Signal>) -> Result<(), ApiError> {
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

    fn held(&self) -> Held {
        Held { blocks: self.items.len(), bytes: self.bytes }
    }

    fn texts(&self) -> Vec<String> {
        let texts = self.items.values().filter_map(|item| match item {
            Building::Message(text) => Some(text.clone()),
            Building::Reasoning { .. } | Building::Call { .. } | Building::Ignored => None,
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
            Building::Message(text) => (!text.trim().is_empty()).then_some(ResponseBlock::Text(text)),
            Building::Reasoning { text, item } => {
                let hidden = text.trim().is_empty();
                let (signature, redacted) = if hidden { (None, item) } else { (item, None) };
                (!hidden || redacted.is_some()).then_some(ResponseBlock::Thinking(Thought {
                    text,
                    signature,
                    redacted,
                    wire: Wire::OpenaiResponses,
                }))
            }
            Building::Call { call, name, input, .. } => Some(ResponseBlock::ToolUse(tool_use(call, name, input))),
            Building::Ignored => None,
        });
        (stop, blocks.collect())
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;

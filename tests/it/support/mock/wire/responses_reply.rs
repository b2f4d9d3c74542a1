//! OpenAI Responses, as it goes out: items that open, grow and close, each event with its number.

use serde_json::{Value, json};

use super::chat_reply::CREATED;
use super::{seal, sse};
use crate::support::mock::reply::{Reply, Spoken, Step, Tokens, pause};
use crate::support::mock::turn::{Chunk, Stop};

const ARGUMENTS_DELTA: usize = 7;

pub fn stream(reply: &Reply) -> Vec<Step> {
    let mut out = Stream { reply, steps: Vec::new(), sequence: 0 };
    let opening = response(reply, "in_progress", &[]);
    out.event("response.created", json!({"response": opening}));
    out.event("response.in_progress", json!({"response": opening}));
    let mut index = 0;
    for piece in &reply.pieces {
        match piece {
            Spoken::Text(chunks) => out.message(index, chunks),
            Spoken::Thinking(text) => out.reasoning(index, text),
            Spoken::Redacted(_) => out.reasoning(index, ""),
            Spoken::Tool { id, name, input } => out.function_call(index, id, name, input),
            Spoken::Gate(name) => out.steps.push(Step::Gate(name.clone())),
            Spoken::DelayMs(ms) => out.steps.push(Step::DelayMs(*ms)),
        }
        if !matches!(piece, Spoken::Gate(_) | Spoken::DelayMs(_)) {
            index += 1;
        }
    }
    let last = whole(reply);
    let name = format!("response.{}", status(&reply.stop));
    out.event(&name, json!({"response": last}));
    out.steps
}

pub fn whole(reply: &Reply) -> Value {
    let spoken = reply.pieces.iter().filter(|piece| !matches!(piece, Spoken::Gate(_) | Spoken::DelayMs(_)));
    let output: Vec<Value> = spoken.enumerate().filter_map(|(index, piece)| item(reply, index, piece)).collect();
    response(reply, status(&reply.stop), &output)
}

fn response(reply: &Reply, status: &str, output: &[Value]) -> Value {
    let done = status != "in_progress";
    let incomplete = match &reply.stop {
        Stop::MaxTokens | Stop::ContextWindow => Some("max_output_tokens"),
        Stop::Other(reason) => Some(reason.as_str()),
        Stop::EndTurn | Stop::ToolUse | Stop::Sequence | Stop::Refusal | Stop::Pause => None,
    };
    let incomplete = incomplete.filter(|_| done);
    json!({
        "id": format!("resp_{}", reply.tag),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": false,
        "error": null,
        "incomplete_details": incomplete.map(|reason| json!({"reason": reason})),
        "instructions": null,
        "max_output_tokens": null,
        "model": reply.model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "reasoning": {"effort": "medium", "summary": null},
        "service_tier": "default",
        "store": false,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": (done && reply.with_usage).then(|| usage(&reply.tokens)),
        "user": null,
        "metadata": {},
    })
}

fn usage(tokens: &Tokens) -> Value {
    json!({
        "input_tokens": tokens.prompt(),
        "input_tokens_details": {"cached_tokens": tokens.cache_read, "cache_write_tokens": 0},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.thinking},
        "total_tokens": tokens.prompt() + tokens.output,
    })
}

fn status(stop: &Stop) -> &'static str {
    match stop {
        Stop::EndTurn | Stop::ToolUse | Stop::Sequence | Stop::Refusal | Stop::Pause => "completed",
        Stop::MaxTokens | Stop::ContextWindow | Stop::Other(_) => "incomplete",
    }
}

fn item(reply: &Reply, index: usize, piece: &Spoken) -> Option<Value> {
    match piece {
        Spoken::Text(chunks) => Some(message_item(reply, index, "completed", &[part(reply, &Spoken::words(chunks))])),
        Spoken::Thinking(text) => Some(reasoning_item(reply, index, text, &[summary(text)])),
        Spoken::Redacted(_) => Some(reasoning_item(reply, index, "", &[])),
        Spoken::Tool { id, name, input } => {
            let status = if reply.stop == Stop::MaxTokens { "incomplete" } else { "completed" };
            Some(call_item(reply, index, id, name, input, status))
        }
        Spoken::Gate(_) | Spoken::DelayMs(_) => None,
    }
}

fn item_id(kind: &str, reply: &Reply, index: usize) -> String {
    format!("{kind}_{}_{index}", reply.tag)
}

fn message_item(reply: &Reply, index: usize, status: &str, content: &[Value]) -> Value {
    let id = item_id("msg", reply, index);
    json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content})
}

fn reasoning_item(reply: &Reply, index: usize, text: &str, parts: &[Value]) -> Value {
    let mut item = json!({"id": item_id("rs", reply, index), "type": "reasoning", "summary": parts});
    if reply.encrypted_reasoning {
        item["encrypted_content"] = Value::String(seal(text));
    }
    item
}

fn call_item(reply: &Reply, index: usize, id: &str, name: &str, input: &str, status: &str) -> Value {
    let item = item_id("fc", reply, index);
    json!({"id": item, "type": "function_call", "status": status, "arguments": input, "call_id": id, "name": name})
}

fn part(reply: &Reply, text: &str) -> Value {
    if reply.stop == Stop::Refusal {
        json!({"type": "refusal", "refusal": text})
    } else {
        json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
    }
}

fn summary(text: &str) -> Value {
    json!({"type": "summary_text", "text": text})
}

struct Stream<'a> {
    reply: &'a Reply,
    steps: Vec<Step>,
    sequence: u64,
}

impl Stream<'_> {
    fn event(&mut self, name: &str, mut data: Value) {
        data["type"] = json!(name);
        data["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        self.steps.push(sse::event(name, &data));
    }

    fn opened(&mut self, index: usize, item: &Value) {
        self.event("response.output_item.added", json!({"output_index": index, "item": item}));
    }

    fn closed(&mut self, index: usize, item: &Value) {
        self.event("response.output_item.done", json!({"output_index": index, "item": item}));
    }

    fn message(&mut self, index: usize, chunks: &[Chunk]) {
        let reply = self.reply;
        let words = Spoken::words(chunks);
        let refused = reply.stop == Stop::Refusal;
        let kind = if refused { "refusal" } else { "output_text" };
        let whole_key = if refused { "refusal" } else { "text" };
        let place = json!({"item_id": item_id("msg", reply, index), "output_index": index, "content_index": 0});
        let with = |extra: &[(&str, Value)]| {
            let mut data = place.clone();
            for (key, value) in extra {
                data[*key] = value.clone();
            }
            data
        };
        self.opened(index, &message_item(reply, index, "in_progress", &[]));
        self.event("response.content_part.added", with(&[("part", part(reply, ""))]));
        for chunk in chunks {
            match chunk {
                Chunk::Say(text) => {
                    let data = with(&[("delta", json!(text)), ("logprobs", json!([]))]);
                    self.event(&format!("response.{kind}.delta"), data);
                }
                Chunk::Gate(_) | Chunk::DelayMs(_) => self.steps.extend(pause(chunk)),
            }
        }
        self.event(&format!("response.{kind}.done"), with(&[(whole_key, json!(words)), ("logprobs", json!([]))]));
        self.event("response.content_part.done", with(&[("part", part(reply, &words))]));
        self.closed(index, &message_item(reply, index, "completed", &[part(reply, &words)]));
    }

    fn reasoning(&mut self, index: usize, text: &str) {
        let reply = self.reply;
        let id = item_id("rs", reply, index);
        let at = |extra: (&str, Value)| {
            let mut data = json!({"item_id": id, "output_index": index, "summary_index": 0});
            data[extra.0] = extra.1;
            data
        };
        self.opened(index, &reasoning_item(reply, index, text, &[]));
        if text.is_empty() {
            return self.closed(index, &reasoning_item(reply, index, text, &[]));
        }
        self.event("response.reasoning_summary_part.added", at(("part", summary(""))));
        for piece in sse::split(text, 24) {
            self.event("response.reasoning_summary_text.delta", at(("delta", json!(piece))));
        }
        self.event("response.reasoning_summary_text.done", at(("text", json!(text))));
        self.event("response.reasoning_summary_part.done", at(("part", summary(text))));
        self.closed(index, &reasoning_item(reply, index, text, &[summary(text)]));
    }

    fn function_call(&mut self, index: usize, id: &str, name: &str, input: &str) {
        let reply = self.reply;
        let item = item_id("fc", reply, index);
        self.opened(index, &call_item(reply, index, id, name, "", "in_progress"));
        for piece in sse::split(input, ARGUMENTS_DELTA) {
            let data = json!({"item_id": item, "output_index": index, "delta": piece});
            self.event("response.function_call_arguments.delta", data);
        }
        let cut = reply.stop == Stop::MaxTokens;
        if !cut {
            let data = json!({"item_id": item, "output_index": index, "name": name, "arguments": input});
            self.event("response.function_call_arguments.done", data);
        }
        let status = if cut { "incomplete" } else { "completed" };
        self.closed(index, &call_item(reply, index, id, name, input, status));
    }
}

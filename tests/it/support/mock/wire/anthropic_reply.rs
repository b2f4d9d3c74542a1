//! Anthropic Messages, as it goes out.

use serde_json::{Value, json};

use super::{seal, sse};
use crate::support::mock::reply::{Reply, Spoken, Step, Tokens, pause};
use crate::support::mock::turn::{Chunk, Stop};

/// Small and odd, so that deltas split names, numbers and escapes of a tool's input.
const INPUT_DELTA: usize = 7;

pub fn stream(reply: &Reply) -> Vec<Step> {
    let mut start = message(reply, &[]);
    start["stop_reason"] = Value::Null;
    start["stop_sequence"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    let mut steps = vec![sse::event("message_start", &json!({"type": "message_start", "message": start}))];
    let mut index = 0;
    for piece in &reply.pieces {
        let (empty, deltas) = match piece {
            Spoken::Text(chunks) => (json!({"type": "text", "text": ""}), text_deltas(chunks, index)),
            Spoken::Thinking(text) => {
                let empty = json!({"type": "thinking", "thinking": "", "signature": ""});
                let mut deltas: Vec<Step> = sse::split(text, 24)
                    .into_iter()
                    .map(|part| delta(index, &json!({"type": "thinking_delta", "thinking": part})))
                    .collect();
                deltas.push(delta(index, &json!({"type": "signature_delta", "signature": seal(text)})));
                (empty, deltas)
            }
            Spoken::Redacted(data) => (json!({"type": "redacted_thinking", "data": data}), Vec::new()),
            Spoken::Tool { id, name, input } => {
                let empty = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                let parts = std::iter::once(String::new()).chain(sse::split(input, INPUT_DELTA));
                let deltas = parts.map(|part| delta(index, &json!({"type": "input_json_delta", "partial_json": part})));
                (empty, deltas.collect())
            }
            Spoken::Gate(name) => {
                steps.push(Step::Gate(name.clone()));
                continue;
            }
            Spoken::DelayMs(ms) => {
                steps.push(Step::DelayMs(*ms));
                continue;
            }
        };
        let start = json!({"type": "content_block_start", "index": index, "content_block": empty});
        steps.push(sse::event("content_block_start", &start));
        if index == 0 {
            steps.push(sse::event("ping", &json!({"type": "ping"})));
        }
        steps.extend(deltas);
        steps.push(sse::event("content_block_stop", &json!({"type": "content_block_stop", "index": index})));
        index += 1;
    }
    let (stop_reason, stop_sequence) = stop(&reply.stop);
    let end = json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason, "stop_sequence": stop_sequence},
        "usage": {
            "input_tokens": reply.tokens.input,
            "cache_creation_input_tokens": reply.tokens.cache_write_5m + reply.tokens.cache_write_1h,
            "cache_read_input_tokens": reply.tokens.cache_read,
            "output_tokens": reply.tokens.output,
        },
    });
    steps.push(sse::event("message_delta", &end));
    steps.push(sse::event("message_stop", &json!({"type": "message_stop"})));
    steps
}

pub fn whole(reply: &Reply) -> Value {
    let content = reply.pieces.iter().filter_map(|piece| match piece {
        Spoken::Text(chunks) => Some(json!({"type": "text", "text": Spoken::words(chunks)})),
        Spoken::Thinking(text) => Some(json!({"type": "thinking", "thinking": text, "signature": seal(text)})),
        Spoken::Redacted(data) => Some(json!({"type": "redacted_thinking", "data": data})),
        Spoken::Tool { id, name, input } => {
            let input: Value = serde_json::from_str(input).unwrap_or_else(|_| json!({}));
            Some(json!({"type": "tool_use", "id": id, "name": name, "input": input}))
        }
        Spoken::Gate(_) | Spoken::DelayMs(_) => None,
    });
    message(reply, &content.collect::<Vec<_>>())
}

fn message(reply: &Reply, content: &[Value]) -> Value {
    let (stop_reason, stop_sequence) = stop(&reply.stop);
    json!({
        "id": format!("msg_{}", reply.tag),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": stop_sequence,
        "usage": usage(&reply.tokens),
    })
}

fn usage(tokens: &Tokens) -> Value {
    json!({
        "input_tokens": tokens.input,
        "cache_creation_input_tokens": tokens.cache_write_5m + tokens.cache_write_1h,
        "cache_read_input_tokens": tokens.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": tokens.cache_write_5m,
            "ephemeral_1h_input_tokens": tokens.cache_write_1h,
        },
        "output_tokens": tokens.output,
        "service_tier": "standard",
    })
}

fn stop(stop: &Stop) -> (&str, Option<&str>) {
    match stop {
        Stop::EndTurn => ("end_turn", None),
        Stop::ToolUse => ("tool_use", None),
        Stop::MaxTokens => ("max_tokens", None),
        Stop::Sequence => ("stop_sequence", Some("\n\nHuman:")),
        Stop::Refusal => ("refusal", None),
        Stop::Pause => ("pause_turn", None),
        Stop::ContextWindow => ("model_context_window_exceeded", None),
        Stop::Other(reason) => (reason, None),
    }
}

fn text_deltas(chunks: &[Chunk], index: usize) -> Vec<Step> {
    let steps = chunks.iter().map(|chunk| match chunk {
        Chunk::Say(text) => delta(index, &json!({"type": "text_delta", "text": text})),
        Chunk::Gate(_) | Chunk::DelayMs(_) => pause(chunk).unwrap_or(Step::DelayMs(0)),
    });
    steps.collect()
}

fn delta(index: usize, delta: &Value) -> Step {
    sse::event("content_block_delta", &json!({"type": "content_block_delta", "index": index, "delta": delta}))
}

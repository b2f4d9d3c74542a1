//! OpenAI Chat Completions, as it goes out. Thinking is `reasoning_content`, as compatible servers spell it.

use serde_json::{Value, json};

use super::sse;
use crate::support::mock::reply::{Reply, Spoken, Step, Tokens, pause};
use crate::support::mock::turn::{Chunk, Stop};

const ARGUMENTS_DELTA: usize = 7;
/// Fixed, because nothing of an answer may depend on when it is given.
pub const CREATED: u64 = 1_790_000_000;

pub fn stream(reply: &Reply) -> Vec<Step> {
    let mut steps = vec![chunk(reply, &json!({"role": "assistant", "content": ""}), None)];
    let mut calls = 0;
    for piece in &reply.pieces {
        match piece {
            Spoken::Text(chunks) => steps.extend(chunks.iter().map(|part| match part {
                Chunk::Say(text) => chunk(reply, &json!({"content": text}), None),
                Chunk::Gate(_) | Chunk::DelayMs(_) => pause(part).unwrap_or(Step::DelayMs(0)),
            })),
            Spoken::Thinking(text) => {
                let parts = sse::split(text, 24);
                steps.extend(parts.into_iter().map(|part| chunk(reply, &json!({"reasoning_content": part}), None)));
            }
            Spoken::Redacted(_) => {}
            Spoken::Tool { id, name, input } => {
                let function = json!({"name": name, "arguments": ""});
                let start = json!({"index": calls, "id": id, "type": "function", "function": function});
                steps.push(chunk(reply, &json!({"tool_calls": [start]}), None));
                for part in sse::split(input, ARGUMENTS_DELTA) {
                    let more = json!({"index": calls, "function": {"arguments": part}});
                    steps.push(chunk(reply, &json!({"tool_calls": [more]}), None));
                }
                calls += 1;
            }
            Spoken::Gate(name) => steps.push(Step::Gate(name.clone())),
            Spoken::DelayMs(ms) => steps.push(Step::DelayMs(*ms)),
        }
    }
    steps.push(chunk(reply, &json!({}), Some(finish_reason(&reply.stop))));
    if reply.with_usage {
        let mut last = envelope(reply, "chat.completion.chunk", &[]);
        last["usage"] = usage(&reply.tokens);
        steps.push(sse::data(&last));
    }
    steps.push(Step::Send("data: [DONE]\n\n".to_owned()));
    steps
}

pub fn whole(reply: &Reply) -> Value {
    let mut content = String::new();
    let mut thinking = String::new();
    let mut calls = Vec::new();
    for piece in &reply.pieces {
        match piece {
            Spoken::Text(chunks) => content.push_str(&Spoken::words(chunks)),
            Spoken::Thinking(text) => thinking.push_str(text),
            Spoken::Tool { id, name, input } => {
                calls.push(json!({"id": id, "type": "function", "function": {"name": name, "arguments": input}}));
            }
            Spoken::Redacted(_) | Spoken::Gate(_) | Spoken::DelayMs(_) => {}
        }
    }
    let content = if content.is_empty() { Value::Null } else { Value::String(content) };
    let mut message = json!({"role": "assistant", "content": content, "refusal": null});
    if !thinking.is_empty() {
        message["reasoning_content"] = Value::String(thinking);
    }
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    let finish = finish_reason(&reply.stop);
    let choice = json!({"index": 0, "message": message, "logprobs": null, "finish_reason": finish});
    let mut body = envelope(reply, "chat.completion", &[choice]);
    if reply.with_usage {
        body["usage"] = usage(&reply.tokens);
    }
    body
}

fn chunk(reply: &Reply, delta: &Value, finish: Option<&str>) -> Step {
    let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
    sse::data(&envelope(reply, "chat.completion.chunk", &[choice]))
}

fn envelope(reply: &Reply, object: &str, choices: &[Value]) -> Value {
    json!({
        "id": format!("chatcmpl-{}", reply.tag),
        "object": object,
        "created": CREATED,
        "model": reply.model,
        "service_tier": "default",
        "system_fingerprint": "fp_mock",
        "choices": choices,
    })
}

fn usage(tokens: &Tokens) -> Value {
    json!({
        "prompt_tokens": tokens.prompt(),
        "completion_tokens": tokens.output,
        "total_tokens": tokens.prompt() + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": tokens.thinking, "audio_tokens": 0},
    })
}

fn finish_reason(stop: &Stop) -> &str {
    match stop {
        Stop::EndTurn | Stop::Sequence | Stop::Pause => "stop",
        Stop::ToolUse => "tool_calls",
        Stop::MaxTokens | Stop::ContextWindow => "length",
        Stop::Refusal => "content_filter",
        Stop::Other(reason) => reason,
    }
}

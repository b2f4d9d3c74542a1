//! Valid requests of each wire, for the tests to send and to break.

use serde_json::{Value, json};

use crate::support::mock::wire::seal;

pub const ANTHROPIC: &str = "/v1/messages";
pub const RESPONSES: &str = "/v1/responses";
pub const CHAT: &str = "/v1/chat/completions";

/// A user's words, sent at 10 o'clock and `second` seconds.
pub fn message(second: u32, words: &str) -> String {
    format!("<user_message at=\"2026-11-16T10:00:{second:02}Z\">\n{words}\n</user_message>")
}

pub fn hour() -> Value {
    json!({"type": "ephemeral", "ttl": "1h"})
}

pub fn minutes() -> Value {
    json!({"type": "ephemeral"})
}

/// A conversation with two tool calls, their results, thinking and every cache mark there is room for.
pub fn anthropic() -> Value {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    json!({
        "model": "mock-model",
        "max_tokens": 4096,
        "stream": false,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": hour()}],
        "tools": [
            {"name": "read", "description": "Reads.", "input_schema": schema},
            {"name": "list", "description": "Lists.", "input_schema": schema, "cache_control": hour()},
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": message(1, "Look around.")}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Where to look?", "signature": seal("Where to look?")},
                {"type": "redacted_thinking", "data": "opaque"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}},
                {"type": "tool_use", "id": "toolu_2", "name": "list", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "alpha"},
                {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": true, "content": [
                    {"type": "text", "text": "no such folder"},
                ]},
                {"type": "text", "text": message(2, "And now?"), "cache_control": minutes()},
            ]},
        ],
    })
}

pub fn responses() -> Value {
    json!({
        "model": "mock-model",
        "stream": false,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be brief.",
        "max_output_tokens": 4096,
        "tools": [{"type": "function", "name": "read", "parameters": {"type": "object", "properties": {}}, "strict": false}],
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": message(1, "Look around.")}]},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Where?"}],
                "encrypted_content": seal("Where?")},
            {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "Error: no such file"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Nothing."}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": message(2, "And now?")}]},
        ],
    })
}

pub fn chat() -> Value {
    let function = json!({"name": "read", "parameters": {"type": "object", "properties": {}}});
    let calls = json!([
        {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}},
        {"id": "call_2", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"b\"}"}},
    ]);
    json!({
        "model": "mock-model",
        "stream": false,
        "max_tokens": 4096,
        "tools": [{"type": "function", "function": function}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": message(1, "Look around.")},
            {"role": "assistant", "content": null, "tool_calls": calls},
            {"role": "tool", "tool_call_id": "call_1", "content": "alpha"},
            {"role": "tool", "tool_call_id": "call_2", "content": "Error: no such file"},
            {"role": "user", "content": message(2, "And now?")},
        ],
    })
}

/// A request with one user message and nothing else.
pub fn hello(path: &str, words: &str, stream: bool) -> Value {
    match path {
        ANTHROPIC => json!({"model": "mock-model", "max_tokens": 4096, "stream": stream,
            "messages": [{"role": "user", "content": [{"type": "text", "text": words}]}]}),
        RESPONSES => json!({"model": "mock-model", "stream": stream,
            "input": [{"role": "user", "content": [{"type": "input_text", "text": words}]}]}),
        _ => json!({"model": "mock-model", "stream": stream, "messages": [{"role": "user", "content": words}]}),
    }
}

/// Adds an answer of the model and another user message.
pub fn go_on(request: &mut Value, answer: &str, words: &str) {
    let (key, answer) = if request.get("input").is_some() {
        ("input", json!({"role": "assistant", "content": [{"type": "output_text", "text": answer}]}))
    } else if request.get("max_tokens").is_some() {
        ("messages", json!({"role": "assistant", "content": [{"type": "text", "text": answer}]}))
    } else {
        ("messages", json!({"role": "assistant", "content": answer}))
    };
    let user = match key {
        "input" => json!({"role": "user", "content": [{"type": "input_text", "text": words}]}),
        _ if request.get("max_tokens").is_some() => {
            json!({"role": "user", "content": [{"type": "text", "text": words}]})
        }
        _ => json!({"role": "user", "content": words}),
    };
    let list = request[key].as_array_mut().unwrap();
    list.push(answer);
    list.push(user);
}

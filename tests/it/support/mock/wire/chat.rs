//! OpenAI Chat Completions, as it comes in, with what compatible servers have made common.

use serde_json::Value;

use super::{Reader, blocks_of, is_true, items, plain_text, stripped, text_of};
use crate::support::mock::raw;
use crate::support::mock::rules::Rule;
use crate::support::mock::seen::{Call, Entry, Part, Role, Seen, ToolDef, ToolResult, Wire};

const TOP: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "n",
    "stop",
    "seed",
    "user",
    "metadata",
    "store",
    "reasoning_effort",
    "response_format",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "modalities",
    "audio",
    "prediction",
    "service_tier",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "safety_identifier",
    "verbosity",
    "web_search_options",
    "moderation",
    "functions",
    "function_call",
];

pub fn read(reader: &mut Reader<'_>, body: &str, value: Value) -> Seen {
    reader.only(&value, TOP, "");
    let model = reader.text(&value, "model", "");
    let old_limit = reader.positive(&value, "max_tokens");
    let output_limit = reader.positive(&value, "max_completion_tokens");
    if old_limit.is_some() && output_limit.is_some() {
        reader.invalid("max_tokens", "'max_tokens' and 'max_completion_tokens' cannot both be set");
    }
    if !value["messages"].is_array() {
        reader.missing("", "messages");
    }
    reader.only(&value["stream_options"], &["include_usage", "include_obfuscation"], "stream_options");
    let stream = is_true(&value, "stream");
    if value.get("stream_options").is_some_and(|options| !options.is_null()) && !stream {
        reader.invalid("stream_options", "'stream_options' is only allowed when 'stream' is enabled");
    }
    let mut entries = Vec::new();
    for (index, (raw, message)) in items(body, &value, "messages").into_iter().enumerate() {
        let (role, parts) = read_message(reader, message, &format!("messages[{index}]"));
        entries.push(Entry { role, parts, raw: raw::without_cache_marks(raw).into() });
    }
    let tools_raw = stripped(body, "tools");
    let system: Vec<_> = entries.iter().filter(|e| e.role == Role::System).map(|e| text_of(&e.parts)).collect();
    Seen {
        wire: Wire::Chat,
        counting: false,
        model,
        stream,
        include_usage: is_true(&value["stream_options"], "include_usage"),
        encrypted_reasoning: false,
        output_limit: output_limit.or(old_limit),
        system: "".into(),
        system_text: system.join("\n"),
        tools: read_tools(reader, &value),
        blocks: blocks_of(&"".into(), &tools_raw, &entries),
        tools_raw,
        entries,
        body: body.into(),
        value,
    }
}

fn read_tools(reader: &mut Reader<'_>, value: &Value) -> Vec<ToolDef> {
    let mut tools = Vec::new();
    for (index, tool) in value["tools"].as_array().into_iter().flatten().enumerate() {
        let path = format!("tools[{index}]");
        reader.only(tool, &["type", "function"], &path);
        if tool["type"] != "function" {
            reader.invalid(&format!("{path}.type"), "this endpoint knows functions only");
        }
        let function = &tool["function"];
        reader.only(function, &["name", "description", "parameters", "strict"], &format!("{path}.function"));
        let name = reader.text(function, "name", &format!("{path}.function"));
        tools.push(ToolDef { name, schema: function.get("parameters").cloned() });
    }
    tools
}

fn read_message(reader: &mut Reader<'_>, message: &Value, path: &str) -> (Role, Vec<Part>) {
    match reader.text(message, "role", path).as_str() {
        "system" | "developer" => {
            reader.only(message, &["role", "content", "name"], path);
            (Role::System, content(reader, message, path))
        }
        "user" => {
            reader.only(message, &["role", "content", "name"], path);
            (Role::User, content(reader, message, path))
        }
        "assistant" => {
            let known =
                &["role", "content", "name", "refusal", "tool_calls", "audio", "reasoning_content", "reasoning"];
            reader.only(message, known, path);
            let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
            let silent = message.get("content").is_none_or(Value::is_null);
            if silent && calls.is_empty() {
                reader.invalid(&format!("{path}.content"), "expected a string, got null");
            }
            let mut parts = if silent { Vec::new() } else { content(reader, message, path) };
            for (index, call) in calls.iter().enumerate() {
                parts.push(Part::Call(tool_call(reader, call, &format!("{path}.tool_calls[{index}]"))));
            }
            (Role::Assistant, parts)
        }
        "tool" => {
            reader.only(message, &["role", "content", "tool_call_id", "name"], path);
            if !message["content"].is_string() && !message["content"].is_array() {
                reader.missing(path, "content");
            }
            let text = plain_text(&message["content"]);
            let is_error = text.starts_with(reader.tool_error_marker);
            let call = reader.text(message, "tool_call_id", path);
            (Role::Tool, vec![Part::Result(ToolResult { call, text, is_error })])
        }
        other => {
            let known = "'system', 'assistant', 'user', 'function', 'tool', and 'developer'";
            let sentence = format!("Invalid value: '{other}'. Supported values are: {known}. ({path}.role)");
            reader.found.add(Rule::RoleOrder, sentence);
            (Role::User, Vec::new())
        }
    }
}

fn tool_call(reader: &mut Reader<'_>, call: &Value, path: &str) -> Call {
    reader.only(call, &["id", "type", "function"], path);
    let function = &call["function"];
    let inner = format!("{path}.function");
    reader.only(function, &["name", "arguments"], &inner);
    // Chat templates of compatible servers parse it, and fail on what is not JSON.
    let arguments = reader.text(function, "arguments", &inner);
    if serde_json::from_str::<Value>(&arguments).is_err() {
        reader.invalid(&format!("{inner}.arguments"), "expected the text of a JSON object");
    }
    Call { id: reader.text(call, "id", path), name: reader.text(function, "name", &inner) }
}

fn content(reader: &mut Reader<'_>, message: &Value, path: &str) -> Vec<Part> {
    let Some(parts) = message["content"].as_array() else {
        return vec![Part::Text(reader.text(message, "content", path))];
    };
    let mut read = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let path = format!("{path}.content[{index}]");
        read.push(match part["type"].as_str() {
            Some("text") => {
                reader.only(part, &["type", "text", "prompt_cache_breakpoint", "cache_control"], &path);
                Part::Text(reader.text(part, "text", &path))
            }
            Some("image_url") => {
                reader.only(part, &["type", "image_url", "prompt_cache_breakpoint"], &path);
                reader.text(&part["image_url"], "url", &format!("{path}.image_url"));
                Part::Media
            }
            Some("refusal") => Part::Text(reader.text(part, "refusal", &path)),
            Some("input_audio" | "file") => Part::Media,
            Some(_) | None => {
                reader.invalid(&format!("{path}.type"), "Supported values are: 'text', 'image_url', 'input_audio'");
                Part::Media
            }
        });
    }
    read
}

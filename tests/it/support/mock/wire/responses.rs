//! OpenAI Responses, as it comes in. Stateless use only: nothing is stored, so nothing can be referred to.

use std::sync::Arc;

use serde_json::Value;

use super::{Reader, blocks_of, is_true, items, plain_text, stripped, text_of};
use crate::support::mock::raw;
use crate::support::mock::rules::Rule;
use crate::support::mock::seen::{Call, Entry, Part, Role, Seen, ToolDef, ToolResult, Wire};

const TOP: &[&str] = &[
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "stream",
    "stream_options",
    "store",
    "include",
    "reasoning",
    "max_output_tokens",
    "metadata",
    "temperature",
    "top_p",
    "text",
    "truncation",
    "user",
    "service_tier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "prompt_cache_options",
    "safety_identifier",
    "background",
    "conversation",
    "context_management",
    "max_tool_calls",
    "moderation",
    "previous_response_id",
    "prompt",
    "top_logprobs",
    "access_programs",
    "image",
];
const TOOL: &[&str] = &[
    "type",
    "name",
    "description",
    "parameters",
    "strict",
    "defer_loading",
    "allowed_callers",
    "output_schema",
    "async",
];

pub fn read(reader: &mut Reader<'_>, body: &str, value: Value) -> Seen {
    reader.only(&value, TOP, "");
    let model = reader.text(&value, "model", "");
    let output_limit = reader.positive(&value, "max_output_tokens");
    if output_limit.is_some_and(|limit| limit < 16) {
        reader
            .found
            .add(Rule::MaxTokens, "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.");
    }
    reader.only(&value["reasoning"], &["effort", "summary", "generate_summary", "mode", "context"], "reasoning");
    reader.only(&value["stream_options"], &["include_obfuscation"], "stream_options");
    for key in ["previous_response_id", "conversation", "prompt"] {
        if value.get(key).is_some_and(|id| !id.is_null()) {
            reader.invalid(key, "nothing with this id is stored here");
        }
    }
    let entries = read_input(reader, body, &value);
    let system = stripped(body, "instructions");
    let tools_raw = stripped(body, "tools");
    Seen {
        wire: Wire::Responses,
        counting: false,
        model,
        stream: is_true(&value, "stream"),
        include_usage: true,
        encrypted_reasoning: includes_reasoning(&value),
        output_limit,
        system_text: system_text(&value, &entries),
        tools: read_tools(reader, &value),
        blocks: blocks_of(&system, &tools_raw, &entries),
        system,
        tools_raw,
        entries,
        body: body.into(),
        value,
    }
}

fn includes_reasoning(value: &Value) -> bool {
    value["include"].as_array().is_some_and(|include| include.iter().any(|i| i == "reasoning.encrypted_content"))
}

fn system_text(value: &Value, entries: &[Entry]) -> String {
    let mut texts = vec![value["instructions"].as_str().unwrap_or_default().to_owned()];
    texts.extend(entries.iter().filter(|entry| entry.role == Role::System).map(|entry| text_of(&entry.parts)));
    texts.retain(|text| !text.is_empty());
    texts.join("\n")
}

fn read_tools(reader: &mut Reader<'_>, value: &Value) -> Vec<ToolDef> {
    let mut tools = Vec::new();
    for (index, tool) in value["tools"].as_array().into_iter().flatten().enumerate() {
        let path = format!("tools[{index}]");
        if tool["type"] != "function" {
            reader.invalid(&format!("{path}.type"), "this endpoint knows functions only");
            continue;
        }
        reader.only(tool, TOOL, &path);
        tools.push(ToolDef { name: reader.text(tool, "name", &path), schema: tool.get("parameters").cloned() });
    }
    tools
}

fn read_input(reader: &mut Reader<'_>, body: &str, value: &Value) -> Vec<Entry> {
    if let Some(text) = value["input"].as_str() {
        let raw: Arc<str> = raw::member(body, "input").unwrap_or_default().into();
        return vec![Entry { role: Role::User, parts: vec![Part::Text(text.to_owned())], raw }];
    }
    let inputs = items(body, value, "input");
    let stored = !matches!(value.get("store"), Some(Value::Bool(false)));
    let mut entries = Vec::new();
    for (index, (raw, item)) in inputs.iter().enumerate() {
        let path = format!("input[{index}]");
        let (role, parts) = read_item(reader, item, &path);
        if item["type"] == "reasoning" {
            let next = inputs.get(index + 1).map(|(_, next)| *next);
            reasoning(reader, item, next, stored, &path);
        }
        entries.push(Entry { role, parts, raw: raw::without_cache_marks(raw).into() });
    }
    entries
}

fn read_item(reader: &mut Reader<'_>, item: &Value, path: &str) -> (Role, Vec<Part>) {
    match item.get("type").map_or(Some("message"), Value::as_str) {
        Some("message") => message(reader, item, path),
        Some("function_call") => {
            let known = &["type", "id", "call_id", "name", "arguments", "status", "caller", "namespace", "async"];
            reader.only(item, known, path);
            reader.text(item, "arguments", path);
            let call = Call { id: reader.text(item, "call_id", path), name: reader.text(item, "name", path) };
            (Role::Assistant, vec![Part::Call(call)])
        }
        Some("function_call_output") => {
            reader.only(item, &["type", "id", "call_id", "output", "status", "caller", "name", "namespace"], path);
            if !item["output"].is_string() && !item["output"].is_array() {
                reader.missing(path, "output");
            }
            let text = plain_text(&item["output"]);
            let is_error = text.starts_with(reader.tool_error_marker);
            let result = ToolResult { call: reader.text(item, "call_id", path), text, is_error };
            (Role::Tool, vec![Part::Result(result)])
        }
        Some("reasoning") => {
            reader.only(item, &["type", "id", "summary", "content", "encrypted_content", "status"], path);
            reader.text(item, "id", path);
            if !item["summary"].is_array() {
                reader.missing(path, "summary");
            }
            (Role::Assistant, vec![Part::Thinking])
        }
        Some(other) => {
            reader.invalid(&format!("{path}.type"), &format!("'{other}' is not served here"));
            (Role::User, Vec::new())
        }
        None => {
            reader.invalid(&format!("{path}.type"), "expected a string");
            (Role::User, Vec::new())
        }
    }
}

fn message(reader: &mut Reader<'_>, item: &Value, path: &str) -> (Role, Vec<Part>) {
    reader.only(item, &["type", "id", "role", "content", "status", "phase"], path);
    let role = match reader.text(item, "role", path).as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" | "developer" => Role::System,
        other => {
            let why = format!("'{other}'. Supported values are: 'assistant', 'system', 'developer', and 'user'");
            reader.found.add(Rule::RoleOrder, format!("Invalid value for '{path}.role': {why}."));
            Role::User
        }
    };
    let Some(content) = item["content"].as_array() else {
        return (role, vec![Part::Text(reader.text(item, "content", path))]);
    };
    let mut parts = Vec::new();
    for (index, part) in content.iter().enumerate() {
        let path = format!("{path}.content[{index}]");
        let kind = part["type"].as_str().unwrap_or_default();
        let spoken = matches!(kind, "output_text" | "refusal");
        if spoken != (role == Role::Assistant) {
            let wanted = if spoken { "assistant" } else { "user" };
            reader.role_of_block(kind, wanted, &path);
        }
        parts.push(match kind {
            "input_text" => {
                reader.only(part, &["type", "text", "prompt_cache_breakpoint"], &path);
                Part::Text(reader.text(part, "text", &path))
            }
            "output_text" => {
                reader.only(part, &["type", "text", "annotations", "logprobs"], &path);
                Part::Text(reader.text(part, "text", &path))
            }
            "refusal" => {
                reader.only(part, &["type", "refusal"], &path);
                Part::Text(reader.text(part, "refusal", &path))
            }
            "input_image" => {
                let known = &["type", "image_url", "file_id", "detail", "prompt_cache_breakpoint"];
                reader.only(part, known, &path);
                Part::Media
            }
            "input_file" => Part::Media,
            other => {
                reader.invalid(&format!("{path}.type"), &format!("'{other}' is no content type"));
                Part::Media
            }
        });
    }
    (role, parts)
}

/// Reasoning comes back sealed and with what followed it, or not at all.
fn reasoning(reader: &mut Reader<'_>, item: &Value, next: Option<&Value>, stored: bool, path: &str) {
    let id = item["id"].as_str().unwrap_or_default();
    let followed = next.is_some_and(|next| {
        matches!(next["type"].as_str(), Some("reasoning" | "function_call")) || next["role"] == "assistant"
    });
    if !followed {
        reader.found.add(
            Rule::ReasoningAlone,
            format!("Item '{id}' of type 'reasoning' was provided without its required following item."),
        );
    }
    let summary = plain_text(&item["summary"]);
    match item["encrypted_content"].as_str() {
        Some(sealed) => reader.signature(&summary, sealed, path),
        None if !stored => reader.found.add(
            Rule::ThinkingSignature,
            format!("Item with id '{id}' not found. Items are not persisted when `store` is set to false."),
        ),
        None => {}
    }
}

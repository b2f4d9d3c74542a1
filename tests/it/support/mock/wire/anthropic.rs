//! Anthropic Messages, as it comes in. Fields as in the vendor's reference of November 2026.

use serde_json::Value;

use super::{Reader, is_true, items, plain_text, stripped};
use crate::support::mock::raw;
use crate::support::mock::rules::Rule;
use crate::support::mock::seen::{CacheBlock, Call, Entry, Lifetime, Part, Role, Seen, ToolDef, ToolResult, Wire};

const TOP: &[&str] = &[
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "stream",
    "stop_sequences",
    "metadata",
    "service_tier",
    "cache_control",
    "container",
    "diagnostics",
    "inference_geo",
    "output_config",
    "speed",
    "user_profile_id",
    "workspace_id",
];
const TOP_COUNTING: &[&str] = &[
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "cache_control",
    "output_config",
    "speed",
    "user_profile_id",
    "workspace_id",
];
const TOOL: &[&str] = &[
    "name",
    "description",
    "input_schema",
    "cache_control",
    "type",
    "strict",
    "defer_loading",
    "allowed_callers",
    "eager_input_streaming",
    "input_examples",
];
const MEDIA_TYPES: &[&str] = &["image/jpeg", "image/png", "image/gif", "image/webp"];

pub fn read(reader: &mut Reader<'_>, body: &str, value: Value, counting: bool) -> Seen {
    reader.only(&value, if counting { TOP_COUNTING } else { TOP }, "");
    let model = reader.text(&value, "model", "");
    let output_limit = reader.positive(&value, "max_tokens");
    if !counting && value.get("max_tokens").is_none() {
        reader.missing("", "max_tokens");
    }
    if !value["messages"].is_array() {
        reader.missing("", "messages");
    }
    nested(reader, &value);
    let mut blocks = Vec::new();
    let tools = read_tools(reader, body, &value, &mut blocks);
    let system_text = read_system(reader, body, &value, &mut blocks);
    let mut entries = Vec::new();
    for (index, (raw, message)) in items(body, &value, "messages").into_iter().enumerate() {
        entries.push(read_message(reader, raw, message, &format!("messages.{index}"), &mut blocks));
    }
    if let Some(lifetime) = lifetime(reader, &value, "") {
        // A mark on the request stands for one on its last block.
        if let Some(last) = blocks.last_mut() {
            last.mark.get_or_insert(lifetime);
        }
    }
    Seen {
        wire: Wire::Anthropic,
        counting,
        model,
        stream: is_true(&value, "stream"),
        include_usage: true,
        encrypted_reasoning: false,
        output_limit,
        system: stripped(body, "system"),
        system_text,
        tools_raw: stripped(body, "tools"),
        tools,
        entries,
        blocks,
        body: body.into(),
        value,
    }
}

fn nested(reader: &mut Reader<'_>, value: &Value) {
    reader.only(&value["metadata"], &["user_id"], "metadata");
    reader.only(&value["thinking"], &["type", "budget_tokens", "display"], "thinking");
    reader.only(&value["tool_choice"], &["type", "name", "disable_parallel_tool_use"], "tool_choice");
    reader.only(&value["output_config"], &["effort", "format"], "output_config");
    if let Some(kind) = value["thinking"].get("type") {
        if !["enabled", "disabled", "adaptive", "between_tools"].iter().any(|known| kind == known) {
            reader.invalid("thinking.type", "Input tag found does not match any of the expected tags");
        }
        if kind == "enabled" && value["thinking"]["budget_tokens"].as_u64().is_none_or(|budget| budget < 1024) {
            reader.invalid("thinking.enabled.budget_tokens", "Input should be greater than or equal to 1024");
        }
    }
}

fn read_tools(reader: &mut Reader<'_>, body: &str, value: &Value, blocks: &mut Vec<CacheBlock>) -> Vec<ToolDef> {
    let mut tools = Vec::new();
    for (index, (raw, tool)) in items(body, value, "tools").into_iter().enumerate() {
        let path = format!("tools.{index}");
        reader.only(tool, TOOL, &path);
        let name = reader.text(tool, "name", &path);
        tools.push(ToolDef { name, schema: tool.get("input_schema").cloned() });
        let mark = lifetime(reader, tool, &path);
        blocks.push(CacheBlock { raw: raw::without_cache_marks(raw), mark, path });
    }
    tools
}

fn read_system(reader: &mut Reader<'_>, body: &str, value: &Value, blocks: &mut Vec<CacheBlock>) -> String {
    if let Some(text) = value["system"].as_str() {
        blocks.push(CacheBlock { raw: text.to_owned(), mark: None, path: "system".to_owned() });
        return text.to_owned();
    }
    let mut texts = Vec::new();
    for (index, (raw, block)) in items(body, value, "system").into_iter().enumerate() {
        let path = format!("system.{index}");
        reader.only(block, &["type", "text", "cache_control", "citations"], &path);
        let text = reader.text(block, "text", &path);
        if text.trim().is_empty() {
            reader.found.add(Rule::EmptyText, "system: text content blocks must be non-empty");
        }
        texts.push(text);
        let mark = lifetime(reader, block, &path);
        blocks.push(CacheBlock { raw: raw::without_cache_marks(raw), mark, path });
    }
    texts.join("\n")
}

fn read_message(
    reader: &mut Reader<'_>,
    raw: &str,
    message: &Value,
    path: &str,
    blocks: &mut Vec<CacheBlock>,
) -> Entry {
    reader.only(message, &["role", "content"], path);
    let role = match reader.text(message, "role", path).as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        other => {
            reader.found.add(Rule::RoleOrder, format!("{path}.role: Unexpected role \"{other}\"."));
            Role::User
        }
    };
    let mut parts = Vec::new();
    match &message["content"] {
        Value::String(text) => {
            parts.push(Part::Text(text.clone()));
            blocks.push(CacheBlock { raw: raw.to_owned(), mark: None, path: path.to_owned() });
        }
        Value::Array(_) => {
            for (index, (raw, block)) in items(raw, message, "content").into_iter().enumerate() {
                let path = format!("{path}.content.{index}");
                parts.push(read_block(reader, block, role, &path));
                let mark = lifetime(reader, block, &path);
                blocks.push(CacheBlock { raw: raw::without_cache_marks(raw), mark, path });
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => reader.missing(path, "content"),
    }
    Entry { role, parts, raw: raw::without_cache_marks(raw).into() }
}

fn read_block(reader: &mut Reader<'_>, block: &Value, role: Role, path: &str) -> Part {
    let kind = reader.text(block, "type", path);
    let mut only_in = |wanted: Role, name: &str| {
        if role != wanted {
            reader.role_of_block(&kind, name, path);
        }
    };
    match kind.as_str() {
        "text" => {
            reader.only(block, &["type", "text", "cache_control", "citations"], path);
            Part::Text(reader.text(block, "text", path))
        }
        "image" | "document" => {
            only_in(Role::User, "user");
            media(reader, block, path);
            Part::Media
        }
        "tool_use" => {
            only_in(Role::Assistant, "assistant");
            let known = &["type", "id", "name", "input", "cache_control", "caller", "toolset_name"];
            reader.only(block, known, path);
            if !block["input"].is_object() {
                reader.invalid(&format!("{path}.tool_use.input"), "Input should be a valid dictionary");
            }
            let id = reader.text(block, "id", path);
            if id.is_empty() || !id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
                reader.invalid(&format!("{path}.tool_use.id"), "String should match pattern '^[a-zA-Z0-9_-]+$'");
            }
            Part::Call(Call { id, name: reader.text(block, "name", path) })
        }
        "tool_result" => {
            only_in(Role::User, "user");
            Part::Result(tool_result(reader, block, path))
        }
        "thinking" => {
            only_in(Role::Assistant, "assistant");
            reader.only(block, &["type", "thinking", "signature"], path);
            let text = reader.text(block, "thinking", path);
            let signature = reader.text(block, "signature", path);
            reader.signature(&text, &signature, path);
            Part::Thinking
        }
        "redacted_thinking" => {
            only_in(Role::Assistant, "assistant");
            reader.only(block, &["type", "data"], path);
            reader.text(block, "data", path);
            Part::Thinking
        }
        other => {
            let why = format!("Input tag '{other}' found using 'type' does not match any of the expected tags");
            reader.invalid(path, &why);
            Part::Media
        }
    }
}

fn tool_result(reader: &mut Reader<'_>, block: &Value, path: &str) -> ToolResult {
    let known = &["type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name"];
    reader.only(block, known, path);
    if block.get("is_error").is_some_and(|flag| !flag.is_boolean()) {
        reader.invalid(&format!("{path}.tool_result.is_error"), "Input should be a valid boolean");
    }
    for (index, inner) in block["content"].as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}.content.{index}");
        match inner["type"].as_str() {
            Some("text") => {
                reader.only(inner, &["type", "text", "cache_control", "citations"], &path);
                if reader.text(inner, "text", &path).trim().is_empty() {
                    reader.found.add(Rule::EmptyText, format!("{path}: text content blocks must be non-empty"));
                }
            }
            Some("image" | "document") => media(reader, inner, &path),
            Some(other) => {
                reader.invalid(&path, &format!("Input tag '{other}' does not match any of the expected tags"));
            }
            None => reader.missing(&path, "type"),
        }
        if inner.get("cache_control").is_some() {
            reader.invalid(&path, "cache_control belongs on the tool_result itself");
        }
    }
    ToolResult {
        call: reader.text(block, "tool_use_id", path),
        text: plain_text(&block["content"]),
        is_error: is_true(block, "is_error"),
    }
}

fn media(reader: &mut Reader<'_>, block: &Value, path: &str) {
    let known = &["type", "source", "cache_control", "transformations", "citations", "context", "title"];
    reader.only(block, known, path);
    let source = &block["source"];
    reader.only(source, &["type", "media_type", "data", "url", "file_id", "content"], &format!("{path}.source"));
    if block["type"] == "image" && source["type"] == "base64" {
        if !MEDIA_TYPES.iter().any(|known| source["media_type"] == *known) {
            let known = MEDIA_TYPES.join(", ");
            reader.invalid(&format!("{path}.source.base64.media_type"), &format!("Input should be one of {known}"));
        }
        if source["data"].as_str().is_none_or(str::is_empty) {
            reader.invalid(&format!("{path}.source.base64"), "image cannot be empty");
        }
    }
}

fn lifetime(reader: &mut Reader<'_>, block: &Value, path: &str) -> Option<Lifetime> {
    let mark = block.get("cache_control").filter(|mark| !mark.is_null())?;
    let path = format!("{path}.cache_control");
    reader.only(mark, &["type", "ttl"], &path);
    if mark["type"] != "ephemeral" {
        reader.invalid(&format!("{path}.type"), "Input should be 'ephemeral'");
    }
    if block["type"] == "thinking" || block["type"] == "redacted_thinking" {
        reader.invalid(&path, "cache_control cannot be set for thinking blocks");
    }
    match mark.get("ttl").map_or(Some("5m"), Value::as_str) {
        Some("5m") => Some(Lifetime::Minutes5),
        Some("1h") => Some(Lifetime::Hour1),
        Some(_) | None => {
            reader.invalid(&format!("{path}.ttl"), "Input should be '5m' or '1h'");
            None
        }
    }
}

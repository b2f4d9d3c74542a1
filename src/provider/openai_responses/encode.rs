//! Encodes a conversation for the Responses API.
//!
//! The server stores nothing: every request carries the whole conversation. A model's reasoning is sent back as the
//! encrypted item it came in, which is in [`Thought::signature`] (or in `redacted`, if there is no summary). A failed
//! tool result says so in its text, because the API has no field for it. Images of tool results go into the user's
//! message, because not all servers accept them inside a result.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::base::Json;
use crate::model::conversation::{Block, Role, RoleMessage, Thought, Wire};
use crate::model::event::SessionConfig;
use crate::model::tool::ToolSpec;
use crate::provider::encode::names::wire_name;
use crate::provider::encode::turn::{ToolImages, UserTurn, foreign_thought, is_blank};
use crate::provider::encode::{BlobSource, BodyOptions, ByteChunks, EncodeError, EncodedMessage, Object, capacity};

/// Maximum length of tool names and call ids.
pub const NAME_LIMIT: usize = 64;
/// Minimum output limit that the API accepts.
const LEAST_OUTPUT: u64 = 16;

#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    Message {
        #[serde(rename = "type")]
        kind: &'static str,
        role: Role,
        content: Vec<Part<'a>>,
    },
    Call {
        #[serde(rename = "type")]
        kind: &'static str,
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        arguments: &'a str,
    },
    Output {
        #[serde(rename = "type")]
        kind: &'static str,
        call_id: Cow<'a, str>,
        output: String,
    },
    /// An encrypted reasoning item, unchanged.
    Encrypted(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText { text: Cow<'a, str> },
    OutputText { text: Cow<'a, str> },
    InputImage { image_url: String },
}

/// Encodes a message as input items.
pub fn encode_message(message: &RoleMessage, blobs: &dyn BlobSource) -> Result<EncodedMessage, EncodeError> {
    let items = match message.role {
        Role::User => user_items(&UserTurn::of(message, ToolImages::InTurn, blobs)?)?,
        Role::Assistant => return Ok(EncodedMessage::of(&assistant_items(message))?),
    };
    Ok(items)
}

fn user_items(turn: &UserTurn<'_>) -> Result<EncodedMessage, serde_json::Error> {
    let mut items: Vec<Item<'_>> = turn
        .outcomes
        .iter()
        .map(|outcome| Item::Output {
            kind: "function_call_output",
            call_id: wire_name(outcome.call, NAME_LIMIT),
            output: outcome.text_with_error(),
        })
        .collect();
    let mut content: Vec<Part<'_>> =
        turn.texts.iter().map(|text| Part::InputText { text: Cow::Borrowed(text) }).collect();
    content.extend(turn.images.iter().map(|image| Part::InputImage { image_url: image.data_url() }));
    content.extend(turn.caption().map(|text| Part::InputText { text: text.into() }));
    if !content.is_empty() {
        items.push(Item::Message { kind: "message", role: Role::User, content });
    }
    EncodedMessage::of(&items)
}

fn assistant_items(message: &RoleMessage) -> Vec<Item<'_>> {
    let output_text = |text: Cow<'static, str>| Item::Message {
        kind: "message",
        role: Role::Assistant,
        content: vec![Part::OutputText { text }],
    };
    message
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) if is_blank(text) => None,
            Block::Text(text) => Some(Item::Message {
                kind: "message",
                role: Role::Assistant,
                content: vec![Part::OutputText { text: Cow::Borrowed(text) }],
            }),
            Block::Thinking(thought) => encrypted_item(thought)
                .map(Item::Encrypted)
                .or_else(|| foreign_thought(thought).map(|text| output_text(text.into()))),
            Block::ToolUse(call) => Some(Item::Call {
                kind: "function_call",
                call_id: wire_name(&call.call, NAME_LIMIT),
                name: wire_name(&call.name, NAME_LIMIT),
                arguments: call.input.as_str(),
            }),
            Block::ToolResult(_) | Block::Image(_) => None,
        })
        .collect()
}

/// Returns the encrypted reasoning item of a thought, or `None` if it came from another API.
fn encrypted_item(thought: &Thought) -> Option<&RawValue> {
    if thought.wire != Wire::OpenaiResponses {
        return None;
    }
    let item = thought.signature.as_deref().or(thought.redacted.as_deref())?;
    serde_json::from_str::<&RawValue>(item).ok().filter(|item| item.get().starts_with('{'))
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: Cow<'a, str>,
    description: &'a str,
    parameters: &'a Json,
    strict: bool,
}

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(tool: &'a ToolSpec) -> Self {
        Self {
            kind: "function",
            name: wire_name(&tool.name, NAME_LIMIT),
            description: &tool.description,
            parameters: &tool.schema,
            strict: false,
        }
    }
}

/// Returns true if the model is a reasoning model, by the vendor's names: `gpt-5` and later, and the o-series. Other
/// models reject a request for reasoning.
pub(crate) fn is_reasoning_model(config: &SessionConfig) -> bool {
    let model = config.model.rsplit('/').next().unwrap_or_default();
    let numbered = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    let generation = |rest: &str| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().is_ok_and(|generation| generation >= 5)
    };
    config.effort.is_some()
        || model.strip_prefix('o').is_some_and(numbered)
        || model.strip_prefix("gpt-").is_some_and(generation)
        || model.starts_with("codex")
}

/// Returns the request for a response.
pub fn body(config: &SessionConfig, segments: &[EncodedMessage], options: &BodyOptions) -> ByteChunks {
    #[derive(Serialize)]
    struct Reasoning<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        effort: Option<&'a str>,
        summary: &'static str,
    }
    let mut body = Object::with_capacity(capacity(config));
    body.field("model", &config.model);
    body.field("max_output_tokens", &options.max_output.unwrap_or(config.max_output).max(LEAST_OUTPUT));
    if options.stream {
        body.field("stream", &true);
    }
    body.field("store", &false);
    if is_reasoning_model(config) {
        body.field("reasoning", &Reasoning { effort: config.effort.as_deref(), summary: "auto" });
        body.field("include", &["reasoning.encrypted_content"]);
    }
    if let Some(key) = &options.cache_key {
        body.field("prompt_cache_key", key);
    }
    let instructions = instructions(config);
    if !instructions.is_empty() {
        body.field("instructions", &instructions);
    }
    if !config.tools.is_empty() {
        body.field("tools", &config.tools.iter().map(Tool::from).collect::<Vec<_>>());
        body.field("parallel_tool_calls", &true);
    }
    body.array("input", segments.iter().map(|segment| segment.bytes().clone()));
    body.finish()
}

/// Returns the system prompt as one text.
fn instructions(config: &SessionConfig) -> String {
    let parts = [&config.system.stable, &config.system.variable];
    parts.into_iter().filter(|text| !is_blank(text)).map(String::as_str).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;

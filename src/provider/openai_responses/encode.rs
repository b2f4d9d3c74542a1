//! Spells a conversation for the Responses API.
//!
//! Nothing is stored on the other side: every request carries the whole conversation, and a model's reasoning goes
//! back as the very item it came in, encrypted, which [`Thought::signature`] (or `redacted`, where there is no
//! summary) holds. A failed tool says so in words, for the wire has no field for it. Images of tool results travel in
//! the user's message, because not every server takes them inside a result.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::base::Json;
use crate::model::conversation::{Block, Role, Speech, Thought, Wire};
use crate::model::event::SessionConfig;
use crate::model::tool::ToolSpec;
use crate::provider::encode::names::legal;
use crate::provider::encode::turn::{ToolImages, UserTurn, foreign_thought, is_blank};
use crate::provider::encode::{BlobSource, BodyOptions, EncodeError, Object, Pieces, Segment, capacity};

/// The longest tool name and call id that the API takes.
pub const NAME_LIMIT: usize = 64;
/// The smallest output limit that the API takes.
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
    /// A reasoning item as it came.
    Sealed(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText { text: Cow<'a, str> },
    OutputText { text: Cow<'a, str> },
    InputImage { image_url: String },
}

/// Returns `speech` as input items.
pub fn encode_speech(speech: &Speech, blobs: &dyn BlobSource) -> Result<Segment, EncodeError> {
    let items = match speech.role {
        Role::User => user_items(&UserTurn::of(speech, ToolImages::InTurn, blobs)?)?,
        Role::Assistant => return Ok(Segment::of(&assistant_items(speech))?),
    };
    Ok(items)
}

fn user_items(turn: &UserTurn<'_>) -> Result<Segment, serde_json::Error> {
    let mut items: Vec<Item<'_>> = turn
        .outcomes
        .iter()
        .map(|outcome| Item::Output {
            kind: "function_call_output",
            call_id: legal(outcome.call, NAME_LIMIT),
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
    Segment::of(&items)
}

fn assistant_items(speech: &Speech) -> Vec<Item<'_>> {
    let said = |text: Cow<'static, str>| Item::Message {
        kind: "message",
        role: Role::Assistant,
        content: vec![Part::OutputText { text }],
    };
    speech
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) if is_blank(text) => None,
            Block::Text(text) => Some(Item::Message {
                kind: "message",
                role: Role::Assistant,
                content: vec![Part::OutputText { text: Cow::Borrowed(text) }],
            }),
            Block::Thinking(thought) => {
                sealed(thought).map(Item::Sealed).or_else(|| foreign_thought(thought).map(|text| said(text.into())))
            }
            Block::ToolUse(call) => Some(Item::Call {
                kind: "function_call",
                call_id: legal(&call.call, NAME_LIMIT),
                name: legal(&call.name, NAME_LIMIT),
                arguments: call.input.as_str(),
            }),
            Block::ToolResult(_) | Block::Image(_) => None,
        })
        .collect()
}

/// Returns the reasoning item that this wire gave us, if it did.
fn sealed(thought: &Thought) -> Option<&RawValue> {
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
            name: legal(&tool.name, NAME_LIMIT),
            description: &tool.description,
            parameters: &tool.schema,
            strict: false,
        }
    }
}

/// Tells whether the model thinks before it speaks, by the vendor's naming: `gpt-5` and later, and the o-series.
/// Other models refuse the request when asked for their reasoning.
pub(crate) fn reasons(config: &SessionConfig) -> bool {
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
pub fn body(config: &SessionConfig, segments: &[Segment], options: &BodyOptions) -> Pieces {
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
    if reasons(config) {
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

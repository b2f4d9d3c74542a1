//! Encodes a conversation for Chat Completions, in the form that most servers accept.
//!
//! Content is a plain string unless there are images. A failed tool result says so in its text. A model's own reasoning
//! is sent back together with the calls that follow it, because some servers require it within a tool loop, and in the
//! field it came in, because servers reject other field names. Reasoning without a call is not sent again.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Serialize;

use crate::base::Json;
use crate::model::conversation::{Block, Role, RoleMessage, Wire};
use crate::model::event::SessionConfig;
use crate::model::tool::ToolSpec;
use crate::provider::encode::names::wire_name;
use crate::provider::encode::turn::{ToolImages, UserTurn, foreign_thought, is_blank};
use crate::provider::encode::{BlobSource, BodyOptions, ByteChunks, EncodeError, EncodedMessage, Object, capacity};
use crate::provider::openai_responses::is_reasoning_model;

/// Maximum length of tool names that all servers accept.
pub const NAME_LIMIT: usize = 64;
/// Maximum length of call ids that all servers accept.
const CALL_LIMIT: usize = 40;
/// The field that most servers use for reasoning.
pub(crate) const REASONING: &str = "reasoning_content";

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content,
    },
    Assistant {
        content: Option<String>,
        #[serde(flatten)]
        reasoning: BTreeMap<&'a str, String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
    },
    Tool {
        tool_call_id: Cow<'a, str>,
        content: String,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content {
    Plain(String),
    Parts(Vec<Part>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: Cow<'a, str>,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: Cow<'a, str>,
    arguments: &'a str,
}

/// Encodes a message, as one or more messages of the API.
pub fn encode_message(message: &RoleMessage, blobs: &dyn BlobSource) -> Result<EncodedMessage, EncodeError> {
    let segment = match message.role {
        Role::User => EncodedMessage::of(&user_messages(&UserTurn::of(message, ToolImages::InTurn, blobs)?)),
        Role::Assistant => EncodedMessage::of(assistant_message(message).as_slice()),
    };
    Ok(segment?)
}

fn user_messages<'a>(turn: &UserTurn<'a>) -> Vec<Message<'a>> {
    let mut messages: Vec<Message<'a>> = turn
        .outcomes
        .iter()
        .map(|outcome| Message::Tool { tool_call_id: call_id(outcome.call), content: outcome.text_with_error() })
        .collect();
    let text = turn.texts.join("\n\n");
    let Some(caption) = turn.caption() else {
        if !text.is_empty() {
            messages.push(Message::User { content: Content::Plain(text) });
        }
        return messages;
    };
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(Part::Text { text });
    }
    parts.extend(turn.images.iter().map(|image| Part::ImageUrl { image_url: ImageUrl { url: image.data_url() } }));
    parts.push(Part::Text { text: caption });
    messages.push(Message::User { content: Content::Parts(parts) });
    messages
}

/// Returns the id unchanged if possible: some servers derive the tool from it. Ids of other servers that are too long
/// are shortened.
fn call_id(id: &str) -> Cow<'_, str> {
    if id.len() <= CALL_LIMIT && !id.is_empty() && id.chars().all(|c| c.is_ascii_graphic()) {
        return Cow::Borrowed(id);
    }
    wire_name(id, CALL_LIMIT)
}

fn assistant_message(message: &RoleMessage) -> Option<Message<'_>> {
    let (mut texts, mut tool_calls) = (Vec::new(), Vec::new());
    let mut thoughts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for block in &message.blocks {
        match block {
            Block::Text(text) if !is_blank(text) => texts.push(Cow::Borrowed(text.as_str())),
            Block::Thinking(thought) if thought.wire == Wire::OpenaiChat => {
                let field = thought.signature.as_deref().unwrap_or(REASONING);
                if !is_blank(&thought.text) {
                    thoughts.entry(field).or_default().push(&thought.text);
                }
            }
            Block::Thinking(thought) => texts.extend(foreign_thought(thought).map(Cow::Owned)),
            Block::ToolUse(call) => tool_calls.push(ToolCall {
                id: call_id(&call.call),
                kind: "function",
                function: CalledFunction { name: wire_name(&call.name, NAME_LIMIT), arguments: call.input.as_str() },
            }),
            Block::Text(_) | Block::ToolResult(_) | Block::Image(_) => {}
        }
    }
    if texts.is_empty() && tool_calls.is_empty() {
        return None;
    }
    let content = (!texts.is_empty()).then(|| texts.join("\n\n"));
    if tool_calls.is_empty() {
        thoughts.clear();
    }
    let reasoning = thoughts.into_iter().map(|(field, thoughts)| (field, thoughts.join("\n\n"))).collect();
    Some(Message::Assistant { content, reasoning, tool_calls })
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    parameters: &'a Json,
}

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(tool: &'a ToolSpec) -> Self {
        let name = wire_name(&tool.name, NAME_LIMIT);
        Self { kind: "function", function: Function { name, description: &tool.description, parameters: &tool.schema } }
    }
}

/// Returns the request for a response.
pub fn body(config: &SessionConfig, segments: &[EncodedMessage], options: &BodyOptions) -> ByteChunks {
    #[derive(Serialize)]
    struct StreamOptions {
        include_usage: bool,
    }
    let mut body = Object::with_capacity(capacity(config));
    body.field("model", &config.model);
    // OpenAI's reasoning models reject `max_tokens`; most other servers do not know `max_completion_tokens`.
    let limit = if is_reasoning_model(config) && is_vendors_own(&config.model) {
        "max_completion_tokens"
    } else {
        "max_tokens"
    };
    body.field(limit, &options.max_output.unwrap_or(config.max_output).max(1));
    if options.stream {
        body.field("stream", &true).field("stream_options", &StreamOptions { include_usage: true });
    }
    if let Some(effort) = &config.effort {
        body.field("reasoning_effort", effort);
    }
    if !config.tools.is_empty() {
        body.field("tools", &config.tools.iter().map(Tool::from).collect::<Vec<_>>());
    }
    let system = system(config);
    body.array(
        "messages",
        system.into_iter().map(Bytes::from).chain(segments.iter().map(|segment| segment.bytes().clone())),
    );
    body.finish()
}

fn is_vendors_own(model: &str) -> bool {
    let model = model.strip_prefix("openai/").unwrap_or(model);
    (model.starts_with("gpt-") && !model.starts_with("gpt-oss"))
        || model.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        || model.starts_with("codex")
}

fn system(config: &SessionConfig) -> Option<Vec<u8>> {
    let parts = [&config.system.stable, &config.system.variable];
    let content = parts.into_iter().filter(|text| !is_blank(text)).map(String::as_str).collect::<Vec<_>>().join("\n\n");
    if content.is_empty() {
        return None;
    }
    serde_json::to_vec(&Message::System { content: &content }).ok()
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;

//! Spells a conversation for Chat Completions, in the dialect that the most servers understand.
//!
//! Contents are plain strings wherever no image forces parts. A failed tool says so in words. A model's own reasoning
//! goes back with the calls it led to, which some servers demand within a tool loop, and in the field it came in, for
//! others refuse the field of their neighbours; reasoning that led to no call is over and is not sent again.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Serialize;

use crate::base::Json;
use crate::model::conversation::{Block, Role, Speech, Wire};
use crate::model::event::SessionConfig;
use crate::model::tool::ToolSpec;
use crate::provider::encode::names::legal;
use crate::provider::encode::turn::{ToolImages, UserTurn, foreign_thought, is_blank};
use crate::provider::encode::{BlobSource, BodyOptions, EncodeError, Object, Pieces, Segment, capacity};
use crate::provider::openai_responses::reasons;

/// The longest tool name that is safe on every server.
pub const NAME_LIMIT: usize = 64;
/// The longest id of a call that is safe on every server.
const CALL_LIMIT: usize = 40;
/// Where most servers put a model's reasoning.
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

/// Returns `speech` as messages.
pub fn encode_speech(speech: &Speech, blobs: &dyn BlobSource) -> Result<Segment, EncodeError> {
    let segment = match speech.role {
        Role::User => Segment::of(&user_messages(&UserTurn::of(speech, ToolImages::InTurn, blobs)?)),
        Role::Assistant => Segment::of(assistant_message(speech).as_slice()),
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

/// Returns the id as the server gave it: some read in it which tool was called. One that came from elsewhere and is
/// too long is shortened.
fn call_id(id: &str) -> Cow<'_, str> {
    if id.len() <= CALL_LIMIT && !id.is_empty() && id.chars().all(|c| c.is_ascii_graphic()) {
        return Cow::Borrowed(id);
    }
    legal(id, CALL_LIMIT)
}

fn assistant_message(speech: &Speech) -> Option<Message<'_>> {
    let (mut texts, mut tool_calls) = (Vec::new(), Vec::new());
    let mut thoughts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for block in &speech.blocks {
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
                function: CalledFunction { name: legal(&call.name, NAME_LIMIT), arguments: call.input.as_str() },
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
        let name = legal(&tool.name, NAME_LIMIT);
        Self { kind: "function", function: Function { name, description: &tool.description, parameters: &tool.schema } }
    }
}

/// Returns the request for a response.
pub fn body(config: &SessionConfig, segments: &[Segment], options: &BodyOptions) -> Pieces {
    #[derive(Serialize)]
    struct StreamOptions {
        include_usage: bool,
    }
    let mut body = Object::with_capacity(capacity(config));
    body.field("model", &config.model);
    // The vendor's reasoning models refuse the old word, most other servers do not know the new one.
    let limit = if reasons(config) && is_vendors_own(&config.model) { "max_completion_tokens" } else { "max_tokens" };
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

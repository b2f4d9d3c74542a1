//! Encodes a conversation for the Messages API.
//!
//! Cache marks go on the last tool, the last block of the system prompt and the last block of the last message, with
//! lifetimes that never grow along the prefix. A thought that Anthropic signed or encrypted is sent back unchanged. Any
//! other thought becomes text, because the API rejects an unsigned one.

use serde::Serialize;

use crate::base::Json;
use crate::model::conversation::{Block, Role, RoleMessage, Thought, ToolUse, Wire};
use crate::model::event::{CacheLife, SessionConfig};
use crate::model::tool::ToolSpec;
use crate::provider::encode::names::wire_name;
use crate::provider::encode::turn::{ToolImages, UserTurn, WireImage, foreign_thought, is_blank};
use crate::provider::encode::{BlobSource, BodyOptions, ByteChunks, EncodeError, EncodedMessage, Object, capacity};

/// Maximum length of tool names and call ids.
pub const NAME_LIMIT: usize = 128;
/// Number of blocks before a mark in which the API looks for an earlier cache entry.
const LOOKBACK: usize = 18;
const LEAST_BUDGET: u64 = 1024;

#[derive(Serialize)]
struct Message<'a> {
    role: Role,
    content: Vec<Item<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Text {
        text: &'a str,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: String,
        name: String,
        input: Json,
    },
    ToolResult {
        tool_use_id: String,
        content: Vec<Self>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    Image {
        source: ImageSource<'a>,
    },
}

#[derive(Serialize)]
struct ImageSource<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'a str,
    data: &'a str,
}

#[derive(Clone, Copy, Serialize)]
struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

impl From<CacheLife> for CacheControl {
    fn from(life: CacheLife) -> Self {
        let ttl = match life {
            CacheLife::FiveMinutes => None,
            CacheLife::OneHour => Some("1h"),
        };
        Self { kind: "ephemeral", ttl }
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct SystemBlock<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

/// Encodes a message. The result is empty if nothing of it can be sent.
pub fn encode_message(message: &RoleMessage, blobs: &dyn BlobSource) -> Result<EncodedMessage, EncodeError> {
    match message.role {
        Role::User => {
            let turn = UserTurn::of(message, ToolImages::InResult, blobs)?;
            let caption = turn.caption();
            encode_content(Role::User, user_items(&turn, caption.as_deref()))
        }
        Role::Assistant => {
            let foreign: Vec<Option<String>> = message.blocks.iter().map(foreign_text).collect();
            let items = message.blocks.iter().zip(&foreign).filter_map(|(block, foreign)| match (block, foreign) {
                (_, Some(text)) => Some(Item::Text { text }),
                (Block::Text(text), None) => (!is_blank(text)).then_some(Item::Text { text }),
                (Block::Thinking(thought), None) => signed_thought(thought),
                (Block::ToolUse(call), None) => Some(tool_use(call)),
                (Block::ToolResult(_) | Block::Image(_), None) => None,
            });
            let mut items: Vec<_> = items.collect();
            // The API rejects a message that ends with thinking, as when a response ended before any text.
            while matches!(items.last(), Some(Item::Thinking { .. } | Item::RedactedThinking { .. })) {
                items.pop();
            }
            encode_content(Role::Assistant, items)
        }
    }
}

fn encode_content(role: Role, content: Vec<Item<'_>>) -> Result<EncodedMessage, EncodeError> {
    if content.is_empty() {
        return Ok(EncodedMessage::default());
    }
    let blocks = content.len();
    let bytes = serde_json::to_vec(&Message { role, content })?;
    // The bytes end with `}]}`: the last block, the content and the message.
    let mark = bytes.len() - 3;
    Ok(EncodedMessage::marked(bytes, Some(mark), blocks))
}

fn user_items<'a>(turn: &'a UserTurn<'_>, caption: Option<&'a str>) -> Vec<Item<'a>> {
    let results = turn.outcomes.iter().map(|outcome| {
        let mut content = vec![Item::Text { text: &outcome.text }];
        content.extend(outcome.images.iter().map(image));
        Item::ToolResult {
            tool_use_id: wire_name(outcome.call, NAME_LIMIT).into_owned(),
            content,
            is_error: outcome.is_error,
        }
    });
    let texts = turn.texts.iter().map(|text| Item::Text { text });
    let captions = caption.map(|text| Item::Text { text });
    results.chain(texts).chain(turn.images.iter().map(image)).chain(captions).collect()
}

fn image<'a>(picture: &'a WireImage<'_>) -> Item<'a> {
    Item::Image { source: ImageSource { kind: "base64", media_type: picture.media_type, data: &picture.base64 } }
}

fn tool_use(call: &ToolUse) -> Item<'static> {
    let input = if call.input.as_str().trim_start().starts_with('{') { call.input.clone() } else { Json::object() };
    Item::ToolUse {
        id: wire_name(&call.call, NAME_LIMIT).into_owned(),
        name: wire_name(&call.name, NAME_LIMIT).into_owned(),
        input,
    }
}

/// Returns a thought that Anthropic signed or encrypted, or `None` for any other.
fn signed_thought(thought: &Thought) -> Option<Item<'_>> {
    match (thought.wire, &thought.redacted, &thought.signature) {
        (Wire::Anthropic, Some(data), _) => Some(Item::RedactedThinking { data }),
        (Wire::Anthropic, None, Some(signature)) => Some(Item::Thinking { thinking: &thought.text, signature }),
        (Wire::Anthropic, None, None) | (Wire::OpenaiResponses | Wire::OpenaiChat | Wire::Scripted, _, _) => None,
    }
}

fn foreign_text(block: &Block) -> Option<String> {
    match block {
        Block::Thinking(thought) if signed_thought(thought).is_none() => foreign_thought(thought),
        Block::Thinking(_) | Block::Text(_) | Block::ToolUse(_) | Block::ToolResult(_) | Block::Image(_) => None,
    }
}

/// Returns the request for a response.
pub fn body(config: &SessionConfig, segments: &[EncodedMessage], options: &BodyOptions) -> ByteChunks {
    let max_output = options.max_output.unwrap_or(config.max_output).max(1);
    let mut body = Object::with_capacity(capacity(config));
    body.field("model", &config.model).field("max_tokens", &max_output);
    if options.stream {
        body.field("stream", &true);
    }
    add_thinking(&mut body, config, max_output);
    prefix_and_messages(&mut body, config, segments);
    body.finish()
}

/// Returns the request for a token count: the same prompt without the options of the response.
pub fn count_body(config: &SessionConfig, segments: &[EncodedMessage]) -> ByteChunks {
    let mut body = Object::with_capacity(capacity(config));
    body.field("model", &config.model);
    add_thinking(&mut body, config, config.max_output);
    prefix_and_messages(&mut body, config, segments);
    body.finish()
}

/// Returns true if the configured effort is a number of thinking tokens, the older of the API's two forms.
pub fn thinks_by_budget(config: &SessionConfig) -> bool {
    config.effort.as_deref().is_some_and(|effort| effort.parse::<u64>().is_ok())
}

/// Adds the thinking options. Effort is one of the API's levels (`low` … `max`), a number of thinking tokens for models
/// without levels, or `off`.
fn add_thinking(body: &mut Object, config: &SessionConfig, max_output: u64) {
    #[derive(Serialize)]
    struct Thinking {
        #[serde(rename = "type")]
        kind: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        budget_tokens: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<&'static str>,
    }
    #[derive(Serialize)]
    struct OutputConfig<'a> {
        effort: &'a str,
    }
    let Some(effort) = config.effort.as_deref() else { return };
    if matches!(effort, "off" | "none" | "0") {
        body.field("thinking", &Thinking { kind: "disabled", budget_tokens: None, display: None });
    } else if let Ok(budget) = effort.parse::<u64>() {
        // The budget is part of the output limit and must leave room for an answer.
        let budget = budget.max(LEAST_BUDGET).min(max_output.saturating_sub(LEAST_BUDGET));
        if budget >= LEAST_BUDGET {
            body.field("thinking", &Thinking { kind: "enabled", budget_tokens: Some(budget), display: None });
        }
    } else {
        body.field("thinking", &Thinking { kind: "adaptive", budget_tokens: None, display: Some("summarized") });
        body.field("output_config", &OutputConfig { effort });
    }
}

fn prefix_and_messages(body: &mut Object, config: &SessionConfig, segments: &[EncodedMessage]) {
    let prefix = CacheControl::from(config.cache.prefix);
    if !config.tools.is_empty() {
        body.field("tools", &tools(&config.tools, prefix));
    }
    let mut system: Vec<SystemBlock<'_>> = [&config.system.stable, &config.system.variable]
        .into_iter()
        .filter(|text| !is_blank(text))
        .map(|text| SystemBlock { kind: "text", text, cache_control: None })
        .collect();
    if let Some(last) = system.last_mut() {
        last.cache_control = Some(prefix);
        body.field("system", &system);
    }
    // The API rejects a longer lifetime after a shorter one, so the messages live no longer than the prefix.
    let life = CacheControl::from(config.cache.messages.min(config.cache.prefix));
    let mark = format!(
        r#","cache_control":{}"#,
        match life.ttl {
            None => r#"{"type":"ephemeral"}"#.to_owned(),
            Some(ttl) => format!(r#"{{"type":"ephemeral","ttl":"{ttl}"}}"#),
        }
    );
    let marked = marks(segments);
    let parts = segments.iter().enumerate().filter(|(_, segment)| !segment.is_empty()).map(|(index, segment)| {
        let cut = segment.mark().filter(|_| marked.contains(&Some(index)));
        (segment.bytes().clone(), cut)
    });
    body.marked_array("messages", parts, &mark.into());
}

fn tools(tools: &[ToolSpec], mark: CacheControl) -> Vec<ToolWithName<'_>> {
    let last = tools.len().saturating_sub(1);
    tools
        .iter()
        .enumerate()
        .map(|(index, tool)| ToolWithName { tool, cache_control: (index == last).then_some(mark) })
        .collect()
}

struct ToolWithName<'a> {
    tool: &'a ToolSpec,
    cache_control: Option<CacheControl>,
}

impl Serialize for ToolWithName<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Tool {
            name: &wire_name(&self.tool.name, NAME_LIMIT),
            description: &self.tool.description,
            input_schema: &self.tool.schema,
            cache_control: self.cache_control,
        }
        .serialize(serializer)
    }
}

/// Returns the messages to mark: the last one, and the last one of the previous request if it is too far back for the
/// API to find its cache entry.
fn marks(segments: &[EncodedMessage]) -> [Option<usize>; 2] {
    let mut sent = (0..segments.len()).rev().filter(|index| !segments[*index].is_empty());
    let Some(last) = sent.next().filter(|last| segments[*last].mark().is_some()) else { return [None, None] };
    // Requests end with a user message, so the previous request ended two messages earlier.
    let Some(before) = sent.nth(1).filter(|before| segments[*before].mark().is_some()) else {
        return [Some(last), None];
    };
    let step: usize = segments[before + 1..=last].iter().map(EncodedMessage::blocks).sum();
    [Some(last), (step > LOOKBACK).then_some(before)]
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;

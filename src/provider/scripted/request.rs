//! The format of requests to the scripted provider, and a simulation of their token usage.

use serde::{Deserialize, Serialize};

use crate::base::Json;
use crate::model::conversation::{Block, Role, RoleMessage};
use crate::model::event::{CacheLife, SessionConfig};
use crate::model::usage::Tokens;
use crate::provider::encode::turn::{ToolImages, UserTurn, is_blank};
use crate::provider::encode::{BlobSource, BodyOptions, ByteChunks, EncodeError, EncodedMessage, Object, capacity};
use crate::provider::error::{ApiError, ErrorClass};
use crate::provider::scripted::select::Answer;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ScriptedMessage {
    pub(super) role: Role,
    pub(super) blocks: Vec<ScriptedBlock>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ScriptedBlock {
    Text(String),
    Thinking(String),
    Call { id: String, name: String, input: Json },
    Result { call: String, text: String, is_error: bool },
    Image(String),
}

/// Encodes a message as one item.
pub fn encode_message(message: &RoleMessage, blobs: &dyn BlobSource) -> Result<EncodedMessage, EncodeError> {
    let blocks: Vec<ScriptedBlock> = match message.role {
        Role::User => {
            let turn = UserTurn::of(message, ToolImages::InTurn, blobs)?;
            let results = turn.outcomes.iter().map(|outcome| ScriptedBlock::Result {
                call: outcome.call.to_owned(),
                text: outcome.text.clone(),
                is_error: outcome.is_error,
            });
            let texts = turn.texts.iter().map(|text| ScriptedBlock::Text((*text).to_owned()));
            results.chain(texts).chain(turn.caption().map(ScriptedBlock::Image)).collect()
        }
        Role::Assistant => {
            let pieces = message.blocks.iter().filter_map(|block| match block {
                Block::Text(text) => (!is_blank(text)).then(|| ScriptedBlock::Text(text.clone())),
                Block::Thinking(thought) => {
                    (!is_blank(&thought.text)).then(|| ScriptedBlock::Thinking(thought.text.clone()))
                }
                Block::ToolUse(call) => Some(ScriptedBlock::Call {
                    id: call.call.clone(),
                    name: call.name.clone(),
                    input: call.input.clone(),
                }),
                Block::ToolResult(_) | Block::Image(_) => None,
            });
            pieces.collect()
        }
    };
    if blocks.is_empty() {
        return Ok(EncodedMessage::default());
    }
    Ok(EncodedMessage::of(&[ScriptedMessage { role: message.role, blocks }])?)
}

/// Returns the body of a request.
pub fn body(config: &SessionConfig, segments: &[EncodedMessage], options: &BodyOptions) -> ByteChunks {
    let mut body = Object::with_capacity(capacity(config));
    body.field("model", &config.model);
    body.field("max_output", &options.max_output.unwrap_or(config.max_output));
    body.field("tools", &config.tools);
    body.field("system", &format!("{}\n\n{}", config.system.stable, config.system.variable));
    body.array("messages", segments.iter().map(|segment| segment.bytes().clone()));
    body.finish()
}

/// A decoded request.
#[derive(Debug, Deserialize)]
pub(super) struct Request {
    pub(super) model: String,
    pub(super) system: String,
    pub(super) messages: Vec<ScriptedMessage>,
}

impl Request {
    pub(super) fn read(body: &[u8]) -> Result<Self, ApiError> {
        serde_json::from_slice(body).map_err(|problem| {
            ApiError::new(
                ErrorClass::InvalidRequest,
                format!("the scripted provider cannot read the request: {problem}"),
            )
        })
    }

    /// Returns the usage that a caching API would report: everything before the last answer is read from the cache, the
    /// rest is written to it.
    pub(super) fn usage(&self, config: &SessionConfig, body: &[u8], answer: &Answer) -> Tokens {
        let answered = self.messages.iter().rposition(|message| message.role == Role::Assistant);
        let size = |messages: &[ScriptedMessage]| tokens_of(messages.iter().map(ScriptedMessage::bytes).sum());
        let fresh = size(&self.messages[answered.unwrap_or(0)..]);
        let whole = tokens_of(body.len()).max(fresh);
        let (read, prefix) = if answered.is_some() { (whole - fresh, 0) } else { (0, whole - fresh) };
        let mut tokens = Tokens { input: 4, output: answer.tokens(), cache_read: read, ..Tokens::default() };
        for (life, written) in [(config.cache.prefix, prefix), (config.cache.messages, fresh)] {
            match life {
                CacheLife::FiveMinutes => tokens.cache_write_5m += written,
                CacheLife::OneHour => tokens.cache_write_1h += written,
            }
        }
        tokens
    }
}

impl ScriptedMessage {
    /// Returns the texts and the tool results, separately.
    pub(super) fn texts_and_results(&self) -> (Vec<&str>, Vec<&str>) {
        let (mut texts, mut results) = (Vec::new(), Vec::new());
        for piece in &self.blocks {
            match piece {
                ScriptedBlock::Text(text) | ScriptedBlock::Image(text) => texts.push(text.as_str()),
                ScriptedBlock::Result { text, .. } => results.push(text.as_str()),
                ScriptedBlock::Thinking(_) | ScriptedBlock::Call { .. } => {}
            }
        }
        (texts, results)
    }

    fn bytes(&self) -> usize {
        let sizes = self.blocks.iter().map(|piece| match piece {
            ScriptedBlock::Text(text)
            | ScriptedBlock::Thinking(text)
            | ScriptedBlock::Image(text)
            | ScriptedBlock::Result { text, .. } => text.len(),
            ScriptedBlock::Call { name, input, .. } => name.len() + input.as_str().len(),
        });
        sizes.sum::<usize>() + 16
    }
}

/// Estimates four bytes per token.
pub(super) fn tokens_of(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

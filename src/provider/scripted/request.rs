//! The scripted wire: a conversation in our own words, as compact as a script needs it, and what it would cost.

use serde::{Deserialize, Serialize};

use crate::base::Json;
use crate::model::conversation::{Block, Role, Speech};
use crate::model::event::{CacheLife, SessionConfig};
use crate::model::usage::Tokens;
use crate::provider::encode::turn::{ToolImages, UserTurn, is_blank};
use crate::provider::encode::{BlobSource, BodyOptions, EncodeError, Object, Pieces, Segment, capacity};
use crate::provider::error::{ApiError, ErrorClass};
use crate::provider::scripted::select::Answer;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Said {
    pub(super) role: Role,
    pub(super) blocks: Vec<Piece>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Piece {
    Text(String),
    Thinking(String),
    Call { id: String, name: String, input: Json },
    Result { call: String, text: String, is_error: bool },
    Image(String),
}

/// Returns `speech` as one item.
pub fn encode_speech(speech: &Speech, blobs: &dyn BlobSource) -> Result<Segment, EncodeError> {
    let blocks: Vec<Piece> = match speech.role {
        Role::User => {
            let turn = UserTurn::of(speech, ToolImages::InTurn, blobs)?;
            let results = turn.outcomes.iter().map(|outcome| Piece::Result {
                call: outcome.call.to_owned(),
                text: outcome.text.clone(),
                is_error: outcome.is_error,
            });
            let texts = turn.texts.iter().map(|text| Piece::Text((*text).to_owned()));
            results.chain(texts).chain(turn.caption().map(Piece::Image)).collect()
        }
        Role::Assistant => {
            let pieces = speech.blocks.iter().filter_map(|block| match block {
                Block::Text(text) => (!is_blank(text)).then(|| Piece::Text(text.clone())),
                Block::Thinking(thought) => (!is_blank(&thought.text)).then(|| Piece::Thinking(thought.text.clone())),
                Block::ToolUse(call) => {
                    Some(Piece::Call { id: call.call.clone(), name: call.name.clone(), input: call.input.clone() })
                }
                Block::ToolResult(_) | Block::Image(_) => None,
            });
            pieces.collect()
        }
    };
    if blocks.is_empty() {
        return Ok(Segment::default());
    }
    Ok(Segment::of(&[Said { role: speech.role, blocks }])?)
}

/// Returns the request.
pub fn body(config: &SessionConfig, segments: &[Segment], options: &BodyOptions) -> Pieces {
    let mut body = Object::with_capacity(capacity(config));
    body.field("model", &config.model);
    body.field("max_output", &options.max_output.unwrap_or(config.max_output));
    body.field("tools", &config.tools);
    body.field("system", &format!("{}\n\n{}", config.system.stable, config.system.variable));
    body.array("messages", segments.iter().map(|segment| segment.bytes().clone()));
    body.finish()
}

/// A request as a script sees it.
#[derive(Debug, Deserialize)]
pub(super) struct Request {
    pub(super) model: String,
    pub(super) system: String,
    pub(super) messages: Vec<Said>,
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

    /// Returns what a caching API would count: everything up to the last answer read from the cache, the rest written
    /// to it.
    pub(super) fn usage(&self, config: &SessionConfig, body: &[u8], answer: &Answer) -> Tokens {
        let answered = self.messages.iter().rposition(|said| said.role == Role::Assistant);
        let size = |said: &[Said]| tokens_of(said.iter().map(Said::bytes).sum());
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

impl Said {
    /// Returns the texts and the results of tools, separately.
    pub(super) fn heard(&self) -> (Vec<&str>, Vec<&str>) {
        let (mut texts, mut results) = (Vec::new(), Vec::new());
        for piece in &self.blocks {
            match piece {
                Piece::Text(text) | Piece::Image(text) => texts.push(text.as_str()),
                Piece::Result { text, .. } => results.push(text.as_str()),
                Piece::Thinking(_) | Piece::Call { .. } => {}
            }
        }
        (texts, results)
    }

    fn bytes(&self) -> usize {
        let sizes = self.blocks.iter().map(|piece| match piece {
            Piece::Text(text) | Piece::Thinking(text) | Piece::Image(text) | Piece::Result { text, .. } => text.len(),
            Piece::Call { name, input, .. } => name.len() + input.as_str().len(),
        });
        sizes.sum::<usize>() + 16
    }
}

/// The usual rule of thumb: four bytes to a token.
pub(super) fn tokens_of(bytes: usize) -> u64 {
    bytes.div_ceil(4) as u64
}

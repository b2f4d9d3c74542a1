//! The canonical conversation: what every wire format is encoded from.
//!
//! Plain data. How it grows is decided by the fold in `agent`; how it is spelled is decided by `provider`.

use serde::{Deserialize, Serialize};

use crate::base::Json;
use crate::model::content::{Content, Image};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

/// One party's uninterrupted contribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speech {
    pub role: Role,
    pub blocks: Vec<Block>,
}

/// A piece of a contribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    Text(String),
    Thinking(Thought),
    ToolUse(ToolUse),
    ToolResult(ToolOutcome),
    Image(Image),
}

/// Which wire format a model's private data belongs to: a signature means nothing to another vendor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    #[default]
    Anthropic,
    OpenaiResponses,
    OpenaiChat,
    Scripted,
}

/// A model's thinking, with what its vendor needs to accept it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thought {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Thinking that the vendor shows to nobody: opaque data to be sent back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<String>,
    pub wire: Wire,
}

/// A model's request to run a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    pub call: String,
    pub name: String,
    /// The input as the model wrote it; an empty object if what it wrote was not JSON.
    pub input: Json,
    /// What it wrote instead, if that was not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
}

/// What running a tool gave, as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutcome {
    pub call: String,
    pub content: Content,
    pub is_error: bool,
    pub images: Vec<Image>,
}

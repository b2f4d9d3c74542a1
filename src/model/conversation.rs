//! The canonical conversation, from which every wire format is encoded.
//!
//! Plain data. The fold in `agent` builds it; `provider` encodes it.

use serde::{Deserialize, Serialize};

use crate::base::Json;
use crate::model::content::{Content, Image};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
}

/// Consecutive blocks of one role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleMessage {
    pub role: Role,
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    Text(String),
    Thinking(Thought),
    ToolUse(ToolUse),
    ToolResult(ToolOutcome),
    Image(Image),
}

/// The wire format of a model's private data: a signature means nothing to another vendor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    #[default]
    Anthropic,
    OpenaiResponses,
    OpenaiChat,
    Scripted,
}

/// A model's thinking, with the data that its vendor needs to accept it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thought {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Encrypted thinking: opaque data to send back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<String>,
    pub wire: Wire,
}

/// A model's request to run a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    pub call: String,
    pub name: String,
    /// The input as the model wrote it; an empty object if that was not JSON.
    pub input: Json,
    /// The text that the model wrote, if it was not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
}

/// The result of a tool call, as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutcome {
    pub call: String,
    pub content: Content,
    pub is_error: bool,
    pub images: Vec<Image>,
}

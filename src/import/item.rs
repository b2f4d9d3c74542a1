//! The common form of foreign conversations.

use crate::base::{Json, Timestamp};

#[derive(Clone, Debug, PartialEq)]
pub struct SessionItem {
    pub at: Timestamp,
    pub kind: ItemKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// A message to the agent.
    UserMessage {
        text: String,
        pictures: Vec<Picture>,
    },
    AssistantText(String),
    Thinking(String),
    Call {
        call: String,
        name: String,
        input: Json,
    },
    Result {
        call: String,
        text: String,
        is_error: bool,
        pictures: Vec<Picture>,
    },
    /// A summary that replaces the conversation before it.
    Compaction {
        summary: String,
        tokens: u64,
    },
    Error(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub media_type: String,
    pub bytes: Vec<u8>,
}

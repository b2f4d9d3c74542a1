//! What a foreign conversation consists of, whoever wrote it down.

use crate::base::{Json, Timestamp};

/// Something that happened, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub at: Timestamp,
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// Something was said to the agent.
    Heard {
        text: String,
        pictures: Vec<Picture>,
    },
    Said(String),
    Thought(String),
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
    /// What came before was summarised.
    Compacted {
        summary: String,
        tokens: u64,
    },
    Failed(String),
}

/// A picture with its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub media_type: String,
    pub bytes: Vec<u8>,
}

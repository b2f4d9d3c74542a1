//! What happens right now and is gone a moment later: shown, never kept.
//!
//! A separate type from [`crate::model::Body`], so that the store cannot be handed one by mistake.

use serde::{Deserialize, Serialize};

use crate::base::Timestamp;

/// What the live run of a task is doing. Asked of the run, never replayed from a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    #[default]
    Idle,
    Thinking,
    Streaming,
    Tool,
    /// For an Ask.
    Waiting,
    Retrying,
    Compacting,
    Stopped,
}

/// Which stream of a tool's process a chunk came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    Output,
    Error,
}

/// An update for the screen alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Live {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        text: String,
    },
    /// A tool call is being written by the model.
    CallDelta {
        call: String,
        name: String,
        bytes: u64,
    },
    OutputChunk {
        call: String,
        channel: Channel,
        text: String,
    },
    /// What a process in the background prints.
    ProcessOutput {
        process: String,
        text: String,
    },
    Activity {
        activity: Activity,
    },
    /// A failed request will be tried again at `until`.
    Retry {
        attempt: u32,
        of: u32,
        until: Timestamp,
        reason: String,
    },
    /// The response so far is void: a retry starts it anew.
    Discarded,
}

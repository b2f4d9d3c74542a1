//! Updates that are displayed and never stored.
//!
//! A separate type from [`crate::model::Body`], so that the store cannot get one by mistake.

use serde::{Deserialize, Serialize};

use crate::base::Timestamp;

/// The activity of a task's live run. Never replayed from a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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

/// The stream of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    Output,
    Error,
}

/// A display-only update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Live {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        text: String,
    },
    /// The model is writing a tool call.
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
    /// Output of a background process.
    ProcessOutput {
        process: String,
        text: String,
    },
    Activity {
        activity: Activity,
    },
    /// A failed request will be retried at `until`.
    Retry {
        attempt: u32,
        of: u32,
        until: Timestamp,
        reason: String,
    },
    /// The response so far is void: a retry starts over.
    Discarded,
}

/// The largest piece of joined text.
const LARGEST_PIECE: usize = 64 * 1024;

impl Live {
    /// Appends the next update to this one, if that loses nothing. Otherwise returns it.
    pub fn join(&mut self, next: Self) -> Option<Self> {
        match (self, next) {
            (Self::TextDelta { text }, Self::TextDelta { text: more })
            | (Self::ThinkingDelta { text }, Self::ThinkingDelta { text: more })
                if text.len() < LARGEST_PIECE =>
            {
                text.push_str(&more);
                None
            }
            (Self::CallDelta { call, bytes, .. }, Self::CallDelta { call: same, bytes: more, .. }) if *call == same => {
                *bytes = more;
                None
            }
            (Self::OutputChunk { call, channel, text }, Self::OutputChunk { call: same, channel: too, text: more })
                if *call == same && *channel == too && text.len() < LARGEST_PIECE =>
            {
                text.push_str(&more);
                None
            }
            (Self::ProcessOutput { process, text }, Self::ProcessOutput { process: same, text: more })
                if *process == same && text.len() < LARGEST_PIECE =>
            {
                text.push_str(&more);
                None
            }
            (_, next) => Some(next),
        }
    }
}

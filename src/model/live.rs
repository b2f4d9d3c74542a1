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

/// How large a piece of streamed text grows while it waits to be shown.
const LARGEST_PIECE: usize = 64 * 1024;

impl Live {
    /// Puts what came next together with this, where nothing is lost by it. Returns it if that cannot be done.
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

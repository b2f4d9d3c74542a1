//! What a tool gives back.

use std::time::Duration;

use crate::model::event::{BackgroundRef, ToolResult, Verdict};
use crate::model::{BlobRef, Content, Image};

/// What running a tool came to. Always something a model can read, also when it failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// What the model sees.
    pub text: String,
    pub is_error: bool,
    pub images: Vec<Image>,
    /// The whole output, where the text is only a part of it.
    pub full: Option<BlobRef>,
    /// The process that goes on running.
    pub background: Option<BackgroundRef>,
    /// The background process whose end this reports.
    pub ended: Option<String>,
    /// Where the agent's shell stands from now on, as [`ToolResult::cwd`] spells it. Nothing: where it stood before.
    pub cwd: Option<String>,
    /// Filled in by the path, not by tools.
    pub duration: Duration,
    pub control: Option<Control>,
}

/// What a tool asks of the run that called it, beyond being answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// Sleep until a message arrives.
    Yield,
    /// The task is finished.
    Done { verdict: Verdict, result: String },
    /// The task is not finished: its check failed, and has failed so many times in a row in the same way.
    CheckFailed { in_a_row: u32 },
}

impl Reply {
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, ..Self::default() }
    }

    /// Returns the event that puts this into a session.
    pub fn into_result(self, call: &str, name: &str) -> ToolResult {
        ToolResult {
            call: call.to_owned(),
            name: name.to_owned(),
            content: Content::text(self.text),
            is_error: self.is_error,
            images: self.images,
            full: self.full,
            background: self.background,
            ended: self.ended,
            cwd: self.cwd,
            duration_ms: u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

//! The replies of tools.

use std::time::Duration;

use crate::model::ask::HeldRequest;
use crate::model::event::{BackgroundRef, PermissionNote, ToolResult, Verdict};
use crate::model::hook::HookEvent;
use crate::model::{BlobRef, Content, Image};

/// The result of a tool call. Always readable by a model, even if it failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The text for the model.
    pub text: String,
    pub is_error: bool,
    pub images: Vec<Image>,
    /// The whole output, if the text is only a part of it.
    pub full: Option<BlobRef>,
    /// The process that keeps running.
    pub background: Option<BackgroundRef>,
    /// The background process whose end this reports.
    pub ended: Option<String>,
    /// The new folder of the agent's shell, as in [`ToolResult::cwd`]. `None` if it did not change.
    pub cwd: Option<String>,
    /// Set by `execute`, not by tools.
    pub permission: Option<PermissionNote>,
    /// Set by `execute`, not by tools.
    pub duration: Duration,
    pub control: Option<ControlRequest>,
}

/// A request of a tool to the run that called it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlRequest {
    /// Sleep until a message arrives.
    Yield,
    /// The task is finished.
    Done { verdict: Verdict, result: String },
    /// A hook ends the agent's turn.
    EndTurn { event: HookEvent, reason: String },
    /// The task is not finished: its check failed, so many times in a row in the same way.
    CheckFailed { in_a_row: u32 },
    /// The call did not run. It waits until the user has decided about it, and this is no result.
    Hold(Box<HeldRequest>),
    /// The task is not finished, for another reason.
    DoneRefused,
}

impl Reply {
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, ..Self::default() }
    }

    /// Returns the event for the session.
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
            permission: self.permission,
            duration_ms: u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

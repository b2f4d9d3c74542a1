//! What a task is doing, in a word: the same on the screen and on the command line.

use serde::{Deserialize, Serialize};

use crate::engine::snapshot::{TaskView, Wait};
use crate::model::live::Activity;
use crate::model::task::Status;

/// The state of a task: its status, and while it is in progress what it does or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    Draft,
    Pending,
    Thinking,
    Writing,
    RunningTool,
    Retrying,
    Summarising,
    /// It asks the user something.
    Asking,
    Queued {
        ahead: usize,
    },
    SettingUp,
    /// It waits for another task or for a process.
    Waiting,
    MergeQueued,
    /// The model sends nothing.
    NoResponse,
    /// The agent ended its turn with words.
    Idle,
    /// It cannot continue without the user, and others wait for it.
    Stuck,
    /// The user or a limit stopped it.
    Stopped,
    /// It continues as soon as an engine has the project.
    Paused,
    Passed,
    /// It passed, and its target has its work.
    Merged,
    Failed,
    Closed,
}

impl TaskState {
    pub fn word(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Pending => "pending",
            Self::Thinking => "thinking",
            Self::Writing => "writing",
            Self::RunningTool => "tool",
            Self::Retrying => "retrying",
            Self::Summarising => "summarising",
            Self::Asking => "ask",
            Self::Queued { ahead: 0 } => "next in queue",
            Self::Queued { .. } => "queued",
            Self::SettingUp => "setting up",
            Self::Waiting => "waiting",
            Self::MergeQueued => "merge queued",
            Self::NoResponse => "no response",
            Self::Idle => "idle",
            Self::Stuck => "stuck",
            Self::Stopped => "stopped",
            Self::Paused => "paused",
            Self::Passed => "passed",
            Self::Merged => "merged",
            Self::Failed => "failed",
            Self::Closed => "closed",
        }
    }

    /// Returns true if a task in progress does nothing by itself at the moment.
    pub fn is_resting(self) -> bool {
        matches!(self, Self::Waiting | Self::MergeQueued | Self::Idle | Self::Stopped | Self::Paused)
    }

    /// Returns true if nothing goes on here without the user.
    pub fn needs_user(self) -> bool {
        match self {
            Self::Asking | Self::Stuck | Self::Failed => true,
            Self::Draft
            | Self::Pending
            | Self::Thinking
            | Self::Writing
            | Self::RunningTool
            | Self::Retrying
            | Self::Summarising
            | Self::Queued { .. }
            | Self::SettingUp
            | Self::Waiting
            | Self::MergeQueued
            | Self::NoResponse
            | Self::Idle
            | Self::Stopped
            | Self::Paused
            | Self::Passed
            | Self::Merged
            | Self::Closed => false,
        }
    }
}

impl TaskView {
    pub fn state(&self) -> TaskState {
        if !self.asks.is_empty() {
            return TaskState::Asking;
        }
        match &self.waits {
            Some(Wait::Slot { ahead }) => return TaskState::Queued { ahead: *ahead },
            Some(Wait::Setup { .. }) => return TaskState::SettingUp,
            Some(Wait::Task { .. } | Wait::Process { .. }) => return TaskState::Waiting,
            Some(Wait::Stalled { .. }) => return TaskState::Stuck,
            Some(Wait::Silence { .. }) => return TaskState::NoResponse,
            None | Some(Wait::Idle) if self.queued_merge.is_some() && !self.is_working() => {
                return TaskState::MergeQueued;
            }
            Some(Wait::Idle) => return TaskState::Idle,
            None => {}
        }
        match (self.node.status, self.activity) {
            (_, Activity::Thinking) => TaskState::Thinking,
            (_, Activity::Streaming) => TaskState::Writing,
            (_, Activity::Tool) => TaskState::RunningTool,
            (_, Activity::Retrying) => TaskState::Retrying,
            (_, Activity::Compacting) => TaskState::Summarising,
            (Status::InProgress, Activity::Idle) => TaskState::Idle,
            (Status::InProgress, Activity::Waiting) => TaskState::Waiting,
            (Status::InProgress, Activity::Stopped) => TaskState::Stopped,
            (Status::Draft, Activity::Idle | Activity::Waiting | Activity::Stopped) => TaskState::Draft,
            (Status::Pending, Activity::Idle | Activity::Waiting | Activity::Stopped) => TaskState::Pending,
            (Status::Passed, Activity::Idle | Activity::Waiting | Activity::Stopped) if self.is_merged() => {
                TaskState::Merged
            }
            (Status::Passed, Activity::Idle | Activity::Waiting | Activity::Stopped) => TaskState::Passed,
            (Status::Failed, Activity::Idle | Activity::Waiting | Activity::Stopped) => TaskState::Failed,
            (Status::Closed, Activity::Idle | Activity::Waiting | Activity::Stopped) => TaskState::Closed,
        }
    }

    /// Returns true if all commits of a finished task are in its target, whoever merged them.
    pub fn is_merged(&self) -> bool {
        // An agent merges with git, which leaves no record.
        let has_commits = self.last_merge.is_some()
            || (self.drift.is_some() && self.diff.is_some_and(|diff| diff.files > 0 && !diff.dirty));
        let has_all = self.drift.is_none_or(|drift| drift.ahead == 0);
        self.node.status == Status::Passed && has_commits && has_all
    }

    /// Returns true if the task cannot continue without the user, and others wait for it.
    pub fn is_stuck(&self) -> bool {
        self.state() == TaskState::Stuck
    }
}

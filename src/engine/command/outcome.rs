//! Outcomes of commands, as data. Each front end words its own sentences; [`super::sentence`] has the shared ones.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::base::{AskId, MessageId, TaskId};
use crate::engine::review::{DraftedConflicts, MergeStrategy, RewindScope};
use crate::model::Image;

/// The outcome of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Done,
    Created {
        task: TaskId,
        title: String,
        start: StartOutcome,
    },
    Sent {
        message: MessageId,
        /// The task has no run, so one is started to read the message.
        wakes: bool,
    },
    /// The question was put to the user.
    Asked(AskId),
    /// The task's agent was sent a message that asks it to do this.
    AgentAsked(MessageId),
    /// Number of agents that were stopped or kept from starting.
    Stopped {
        agents: usize,
    },
    Closed {
        task: TaskId,
        /// The task is recurring, so it is pending now instead of closed.
        recurs: bool,
        set_aside: ArchivedWork,
    },
    Reset {
        recurs: bool,
    },
    HandedOver {
        task: TaskId,
        /// `None` if nobody had it.
        from: Option<String>,
        to: String,
    },
    Restored(RestoredWorktree),
    /// A deleted task was restored.
    Revived(RevivedTask),
    Copied {
        events: usize,
    },
    Merged {
        task: TaskId,
        how: MergeStrategy,
        target: String,
        /// The checkout with the new files. `None` if only the branch moved.
        checkout: Option<PathBuf>,
    },
    /// The merge runs when the agent of `host` pauses: it works where the target is checked out.
    MergeQueued {
        task: TaskId,
        target: String,
        host: TaskId,
        host_title: String,
    },
    MergeCancelled {
        target: String,
    },
    NothingToMerge {
        target: String,
    },
    MergeUndone {
        target: String,
        checkout: Option<PathBuf>,
    },
    /// The task's branch already contains the target.
    UpToDate {
        target: String,
    },
    Verified {
        command: String,
        duration_ms: u64,
    },
    Rewound {
        task: TaskId,
        extent: RewindScope,
    },
    Redone,
    /// The files to edit, in order.
    ConflictDrafts(DraftedConflicts),
    Attached(Image),
}

/// Whether a new task has started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StartOutcome {
    Yes,
    /// It was created to start later.
    No,
    /// Writing its first message failed and is retried.
    Delayed {
        reason: String,
    },
}

/// The archived parts of a removed worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ArchivedWork {
    /// Unmerged work is in the task's archive.
    pub archived: bool,
    /// The folder with files that could not be archived.
    pub files: Option<PathBuf>,
    /// The folder with conflict drafts that the user was editing.
    pub drafts: Option<PathBuf>,
}

/// A restored worktree, and the state of its uncommitted changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RestoredWorktree {
    Clean,
    /// Number of files with uncommitted changes.
    Uncommitted(usize),
    /// The branch has new commits, so uncommitted changes stay in this archive.
    Archived(String),
}

/// A deleted task that was restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RevivedTask {
    pub title: String,
    /// The title of the parent task.
    pub parent: String,
    /// Number of restored tasks below it.
    pub sub_tasks: usize,
    /// The title of each task that had a worktree, with the restored worktree or the reason why it is missing.
    pub worktrees: Vec<(String, Result<RestoredWorktree, String>)>,
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;

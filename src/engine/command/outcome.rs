//! What a command came to, as data. Each front end says it in its own words, with its own keys or commands.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::base::{AskId, MessageId, TaskId};
use crate::engine::review::{Extent, How, Solving};
use crate::model::Image;

/// What a command came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Done,
    Created {
        task: TaskId,
        title: String,
        start: Begun,
    },
    Sent {
        message: MessageId,
        /// No agent was at work on the task: one is started to read it.
        wakes: bool,
    },
    /// The user has been asked.
    Asked(AskId),
    /// The agent of the task was told to do it.
    AgentAsked(MessageId),
    /// How many agents were stopped, or kept from beginning.
    Stopped {
        agents: usize,
    },
    Closed {
        task: TaskId,
        /// It is recurring: it is pending now, not closed.
        recurs: bool,
        set_aside: SetAside,
    },
    Reset {
        recurs: bool,
    },
    Restored(RestoredWorktree),
    /// A deleted task is in the tree again.
    Revived(Revived),
    /// A conversation was copied.
    Copied {
        events: usize,
    },
    Merged {
        task: TaskId,
        how: How,
        target: String,
        /// The checkout that has the new files. `None` if only the branch moved.
        checkout: Option<PathBuf>,
    },
    /// The merge is made when the agent of `host` pauses: it works where the target is checked out.
    MergeQueued {
        task: TaskId,
        target: String,
        host: TaskId,
        /// The title of the host.
        host_title: String,
    },
    /// The queued merge will not be made.
    MergeCancelled {
        target: String,
    },
    /// The target has everything already.
    NothingToMerge {
        target: String,
    },
    MergeUndone {
        target: String,
        checkout: Option<PathBuf>,
    },
    /// The task's branch has everything that the target has.
    UpToDate {
        target: String,
    },
    /// The check succeeded.
    Verified {
        command: String,
        duration_ms: u64,
    },
    Rewound {
        task: TaskId,
        extent: Extent,
    },
    Redone,
    /// The files to edit, in this order.
    ConflictDrafts(Solving),
    Attached(Image),
}

/// Whether a new task has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Begun {
    Yes,
    /// It was not to begin yet.
    No,
    /// Its first message could not be written yet. That is tried again until it can.
    Delayed {
        reason: String,
    },
}

/// What was kept of a worktree that was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAside {
    /// Work that was not merged is in the task's archive.
    pub archived: bool,
    /// Where what could not be archived is.
    pub files: Option<PathBuf>,
    /// Where conflicts that the user was solving by hand are.
    pub drafts: Option<PathBuf>,
}

/// A worktree that is back, with what became of changes that were not committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestoredWorktree {
    Clean,
    /// So many files are changed and not committed, as before.
    Uncommitted(usize),
    /// The branch has moved on: what was not committed stays in this archive.
    Archived(String),
}

/// A deleted task that is in the tree again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revived {
    pub title: String,
    /// The title of the task above.
    pub parent: String,
    /// How many tasks below it are back, too.
    pub sub_tasks: usize,
    /// The title of each task that had a worktree, and whether that is back. If not, why.
    pub worktrees: Vec<(String, Result<RestoredWorktree, String>)>,
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;

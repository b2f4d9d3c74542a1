//! Jobs on a task's work, as plain data. The continuation of a job travels with it and returns with its result, so a
//! result cannot be matched to the wrong job.

use std::path::PathBuf;

use crate::base::{EventId, Fault, TaskId, TurnId};
use crate::engine::command::OnConflict;
use crate::engine::machine::WorktreeLocation;
use crate::engine::machine::handover::{PendingHandover, SessionNote};
use crate::engine::machine::rewind::{PendingFork, PendingRewind};
use crate::engine::machine::work::{PendingCatchUp, PendingMerge, PendingUndo, PendingVerify};
use crate::engine::review::{CheckResult, Conflict, MergeRecord, MergeStrategy, RewindScope};
use crate::engine::snapshot::DiffStat;
use crate::engine::work_queries::TaskLocation;
use crate::model::message::Message;
use crate::model::work::{RewindIntent, RewindTarget, Rewound};

/// A job on a task's work, with its continuation.
#[derive(Clone, Debug)]
pub enum Job {
    /// Run the check and record its result.
    Verify {
        location: TaskLocation,
        then: PendingVerify,
    },
    /// Check whether the branch can be merged: conflicts, drafts that the user solved, the project's check.
    PrepareMerge {
        location: TaskLocation,
        target: String,
        conflicts: OnConflict,
        then: PendingMerge,
    },
    /// Merge the branch into another.
    Merge {
        location: TaskLocation,
        target: String,
        how: MergeStrategy,
        message: String,
        /// The commit that was prepared.
        commit: String,
        then: PendingMerge,
    },
    /// Undo a merge. `None` for the last one that the repository knows.
    UndoMerge {
        undo: Option<String>,
        then: PendingUndo,
    },
    /// Count the missing commits and find the conflicts of a merge from the target.
    PreviewCatchUp {
        branch: String,
        target: String,
        then: PendingCatchUp,
    },
    Rewind {
        rewind: RewindJob,
        then: PendingRewind,
    },
    /// Copy conversation and files into a new task.
    Fork {
        from: TaskLocation,
        at: Option<TurnId>,
        place: WorktreeLocation,
        title: String,
        description: String,
        then: PendingFork,
    },
    /// Read what the next profile should know of the task.
    Handover {
        location: TaskLocation,
        then: PendingHandover,
    },
    /// Measure the size of its changes.
    Measure {
        worktree: PathBuf,
        base: String,
    },
}

/// The result of a job, with its continuation.
#[derive(Debug)]
pub enum JobOutcome {
    Verified { then: PendingVerify, result: Result<CheckResult, Fault> },
    MergePrepared { then: PendingMerge, result: Result<MergePreparation, Fault> },
    Merged { then: PendingMerge, result: Result<MergeResult, Fault> },
    MergeUndone { then: PendingUndo, result: Result<UndoneMerge, Fault> },
    CatchUpPreviewed { then: PendingCatchUp, result: Result<CatchUpPreview, Fault> },
    Rewound { then: Box<PendingRewind>, result: Result<RewindOutcome, Fault> },
    Forked { then: PendingFork, result: Result<(), Fault> },
    HandoverNoted { then: PendingHandover, result: Result<SessionNote, Fault> },
    Measured { task: TaskId, diff: Option<DiffStat> },
}

/// Whether a branch can be merged.
#[derive(Clone, Debug)]
pub enum MergePreparation {
    Ready { commit: String },
    CheckFailed(CheckResult),
    Conflicts(Vec<Conflict>),
    NothingToMerge,
}

/// The result of a merge.
#[derive(Clone, Debug)]
pub enum MergeResult {
    Merged {
        merge: MergeRecord,
        /// The checkout with the new files. `None` if only the branch moved.
        checkout: Option<PathBuf>,
    },
    Conflicts(Vec<Conflict>),
    NothingToMerge,
}

/// A merge that was undone.
#[derive(Clone, Debug)]
pub struct UndoneMerge {
    pub undo: String,
    pub target: String,
    pub checkout: Option<PathBuf>,
}

/// The commits and conflicts of a merge from the target branch.
#[derive(Clone, Debug)]
pub struct CatchUpPreview {
    pub behind: usize,
    pub conflicts: Vec<Conflict>,
}

/// A rewind or a redo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewindJob {
    pub location: TaskLocation,
    pub target: RewindTarget,
    pub extent: RewindScope,
    /// The text to send instead of the message that is rewound to.
    pub words: Option<String>,
    /// For a redo: the rewind to undo.
    pub rewound: Option<Rewound>,
    /// For a rewind that a crash interrupted: its recorded intent.
    pub begun: Option<RewindIntent>,
}

/// The result of a rewind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RewindOutcome {
    /// The head of the conversation before.
    pub head: Option<EventId>,
    pub event: Option<EventId>,
    pub turn: Option<TurnId>,
    /// The current snapshot of the files: its turn and its tree.
    pub state: Option<(TurnId, String)>,
    pub files: Option<TurnId>,
    /// The commit of the branch before, if it was moved.
    pub branch: Option<String>,
    /// The messages that were read together with the message that is rewound to.
    pub others: Vec<Message>,
    /// The message that is rewound to.
    pub message: Option<Message>,
}

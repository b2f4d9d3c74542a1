//! Jobs with a task's work, as plain data. What goes on when a job is done belongs to the job: it goes out with it and comes
//! back with its result, so that no answer can meet a question that is not its own.

use std::path::PathBuf;

use crate::base::{EventId, Fault, TaskId, TurnId};
use crate::engine::command::OnConflict;
use crate::engine::machine::Place;
use crate::engine::machine::rewinding::{Forking, Return};
use crate::engine::machine::working::{CatchingUp, Merging, Undoing, Verifying};
use crate::engine::reading::Spot;
use crate::engine::review::{Conflict, Extent, How, Landing, Receipt};
use crate::engine::snapshot::DiffStat;
use crate::model::message::Message;
use crate::model::work::{Aim, Moving, Rewound};

/// Something to be done with a task's work, and what goes on then.
#[derive(Clone, Debug)]
pub enum Job {
    /// Run its check and keep the receipt.
    Verify {
        spot: Spot,
        then: Verifying,
    },
    /// Find out whether its branch can be brought into another, take in what the user solved, and check it.
    Prepare {
        spot: Spot,
        target: String,
        conflicts: OnConflict,
        then: Merging,
    },
    /// Bring its branch into another.
    Land {
        spot: Spot,
        target: String,
        how: How,
        message: String,
        /// The commit that was looked at.
        commit: String,
        then: Merging,
    },
    /// Take a landing back. Nothing: the last one that the repository knows of.
    UndoLanding {
        undo: Option<String>,
        then: Undoing,
    },
    /// Find out what a merge would be up against.
    Foresee {
        branch: String,
        target: String,
        then: CatchingUp,
    },
    GoBack {
        back: GoBack,
        then: Return,
    },
    /// Copy conversation and files into a task that has neither.
    Fork {
        from: Spot,
        at: Option<TurnId>,
        place: Place,
        title: String,
        description: String,
        then: Forking,
    },
    /// Measure how much it changed.
    Measure {
        worktree: PathBuf,
        base: String,
    },
}

/// What came of a job.
#[derive(Debug)]
pub enum Worked {
    Verified { then: Verifying, result: Result<Receipt, Fault> },
    Prepared { then: Merging, result: Result<Preparation, Fault> },
    Landed { then: Merging, result: Result<LandResult, Fault> },
    Undone { then: Undoing, result: Result<UndoneLanding, Fault> },
    Foreseen { then: CatchingUp, result: Result<Foreseen, Fault> },
    WentBack { then: Return, result: Result<Went, Fault> },
    Forked { then: Forking, result: Result<(), Fault> },
    Measured { task: TaskId, diff: Option<DiffStat> },
}

/// Whether a branch can be brought into another.
#[derive(Clone, Debug)]
pub enum Preparation {
    /// It can, with this commit.
    Ready {
        commit: String,
    },
    CheckFailed(Receipt),
    Conflicts(Vec<Conflict>),
    NothingToLand,
}

/// What became of a branch that was brought into another.
#[derive(Clone, Debug)]
pub enum LandResult {
    Landed {
        landing: Landing,
        /// The checkout that has the new files. Nothing: only the branch moved.
        checkout: Option<PathBuf>,
    },
    Conflicts(Vec<Conflict>),
    NothingToLand,
}

/// A landing that was taken back.
#[derive(Clone, Debug)]
pub struct UndoneLanding {
    pub undo: String,
    pub target: String,
    pub checkout: Option<PathBuf>,
}

/// What a merge would be up against.
#[derive(Clone, Debug)]
pub struct Foreseen {
    pub behind: usize,
    pub conflicts: Vec<Conflict>,
}

/// A way back, or forth again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoBack {
    pub spot: Spot,
    pub aim: Aim,
    pub extent: Extent,
    /// What is to be said instead of the message that is gone back to.
    pub words: Option<String>,
    /// The rewind that is taken back.
    pub rewound: Option<Rewound>,
    /// A crash interrupted it: this is what it had begun with.
    pub begun: Option<Moving>,
}

/// Where conversation and files went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Went {
    /// Where the conversation was.
    pub head: Option<EventId>,
    /// The last event that stays.
    pub event: Option<EventId>,
    /// The last turn that stays.
    pub turn: Option<TurnId>,
    /// The state of the files now: the turn it is kept under, and the tree.
    pub state: Option<(TurnId, String)>,
    /// The snapshot of the files before.
    pub files: Option<TurnId>,
    /// Where the branch was, if it was moved.
    pub branch: Option<String>,
    /// What was read together with the message that was gone back to.
    pub others: Vec<Message>,
    /// That message itself.
    pub message: Option<Message>,
}

//! Plain data about a task's work: diffs, turns, and previews of merges and rewinds.
//!
//! A front end requests it through [`crate::engine::Handle`], also for a project that is opened
//! [read-only](crate::engine::read_only).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::base::{EventId, MessageId, TaskId, Timestamp, TurnId};
pub use crate::git::diff::Whitespace;
pub use crate::git::merge::{Conflict, ConflictKind, DraftedConflicts, Excerpt};
use crate::model::diff::{Diff, FileDiff, FileStatus, Hunk, LineKind};
pub use crate::model::work::{
    CheckResult, DiffSide, MergeRecord, MergeStrategy, QueuedMerge, ReviewComment, ReviewRound, RewindScope,
};

/// The two states that a diff compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "range", rename_all = "snake_case")]
pub enum DiffRange {
    /// All changes since the task left its parent branch, committed or not.
    #[default]
    Base,
    /// The changes of one turn.
    Turn { turn: TurnId },
    /// The changes of one call in a turn. Counts the calls that may have changed files, from 1.
    Edit { turn: TurnId, number: usize },
    /// From the end of one turn to the end of another.
    Between { from: TurnId, to: TurnId },
    /// From the end of a turn to now.
    Since { turn: TurnId },
    /// From the start of the conversation to now, with all commits that the branch has gained meanwhile: what a root and
    /// its subtasks have done. If the first snapshots were pruned, from the first one that is left.
    Conversation,
    /// From the user's last review to now. All changes if there was no review.
    #[serde(rename = "look")]
    SinceReview,
}

/// Which diff to compute, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DiffRequest {
    pub range: DiffRange,
    pub whitespace: Whitespace,
    /// The number of unchanged lines around changes.
    pub context: u32,
    /// Limits the diff to these files and folders. Empty for all.
    pub only: Vec<PathBuf>,
}

impl Default for DiffRequest {
    fn default() -> Self {
        Self { range: DiffRange::Base, whitespace: Whitespace::Counts, context: 3, only: Vec::new() }
    }
}

/// A diff and what it compares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TaskDiff {
    pub task: TaskId,
    pub range: DiffRange,
    /// The name of the old side: a branch or a turn.
    pub old: String,
    pub new: String,
    #[serde(flatten)]
    pub diff: Diff,
    /// The tree of the new side, for [`ReviewMarks`] and for a review. `None` if it could not be saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// The parts of a task's work that the user has reviewed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReviewMarks {
    /// The tree that was reviewed: [`TaskDiff::state`].
    pub state: Option<String>,
    /// The reviewed hunks, by their [`fingerprint`].
    pub hunks: Vec<String>,
}

/// Returns an id for a hunk that does not depend on its position in the file.
pub fn fingerprint(file: &FileDiff, hunk: &Hunk) -> String {
    let mut hasher = blake3::Hasher::new();
    if let Some(path) = file.path() {
        hasher.update(path.as_os_str().as_encoded_bytes());
    }
    for line in &hunk.lines {
        let mark: &[u8] = match line.kind {
            LineKind::Context => b"\n ",
            LineKind::Added => b"\n+",
            LineKind::Removed => b"\n-",
        };
        hasher.update(mark).update(line.text.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// A turn of the current conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TurnView {
    pub turn: TurnId,
    /// Counts from 1 over the whole conversation.
    pub number: usize,
    pub at: Timestamp,
    /// The first line of the message that it answered, if there was one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// That message, if the user sent it: it can be edited and sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The first line of the agent's text.
    #[serde(rename = "said", default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The tools that it called, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// The calls that may have changed files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<EditView>,
    /// Whether it changed files.
    pub changed: bool,
    /// The git tree of the files after it, if a snapshot exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The last event that belongs to it.
    pub event: EventId,
}

/// A call that may have changed files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EditView {
    /// Counts from 1 within the turn.
    pub number: usize,
    pub tool: String,
    /// The file or the command.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what: String,
}

impl std::fmt::Display for EditView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "edit {}: {} {}", self.number, self.tool, self.what)
    }
}

/// The branch that a task is merged into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MergeTarget {
    /// The parent task's branch. Below the root this is the base branch.
    #[default]
    #[serde(rename = "above")]
    Parent,
    /// The project's base branch.
    Base,
}

/// A checkout with uncommitted changes that block a merge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DirtySide {
    pub path: PathBuf,
    /// Whether it is the task's own worktree rather than the checkout of the target.
    pub own: bool,
    pub files: usize,
    /// One sentence with the next step.
    pub reason: String,
}

/// A preview of a merge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MergePreview {
    pub task: TaskId,
    pub branch: String,
    /// The head of the branch.
    pub commit: String,
    pub target: String,
    /// Commits that the target would get.
    pub ahead: usize,
    /// Commits of the target that the branch does not have.
    pub behind: usize,
    pub files: usize,
    pub added: usize,
    pub removed: usize,
    pub conflicts: Vec<Conflict>,
    /// The checkouts that must be committed or stashed first.
    pub dirty: Vec<DirtySide>,
    /// The checkout that would be updated. `None` if only the branch would move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout: Option<PathBuf>,
    /// The verify command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<CheckResult>,
    /// Whether the receipt covers the commit that would be merged.
    pub fresh: bool,
}

impl MergePreview {
    /// Returns why the merge would be refused now, or `None`.
    pub fn refusal(&self) -> Option<String> {
        if let Some(side) = self.dirty.first() {
            return Some(side.reason.clone());
        }
        if self.ahead == 0 {
            return Some(format!("{} already contains {}", self.target, self.branch));
        }
        (!self.conflicts.is_empty()).then(|| {
            let files = crate::base::text::count(self.conflicts.len(), "file", "files");
            format!("{} and {} conflict in {files}", self.branch, self.target)
        })
    }
}

/// A preview of a rewind: the changes it would undo, and those it cannot undo.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RewindPreview {
    pub extent: RewindScope,
    /// `None` rewinds to before the first turn.
    pub to: Option<TurnId>,
    /// Turns that would be removed from the conversation.
    pub turns: usize,
    /// Messages that the agent has read and would no longer know.
    pub read: usize,
    /// Files that would change.
    pub files: Vec<FileChange>,
    /// How many more files would change.
    pub hidden_files: usize,
    /// Commits that the task's branch would lose, newest first.
    pub commits: Vec<CommitLine>,
    /// Messages that the task has sent to other tasks since.
    pub sent: Vec<String>,
    /// Tasks that it has created since.
    pub created: Vec<CreatedTask>,
    /// The effects that the rewind does not undo, one sentence each.
    pub stays: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FileChange {
    pub path: String,
    pub status: FileStatus,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CommitLine {
    pub id: String,
    pub subject: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CreatedTask {
    /// The id as the agent saw it.
    pub task: String,
    pub title: String,
}

/// A branch that conflicts with the task's branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BranchConflict {
    pub with: TaskId,
    pub files: Vec<String>,
}

/// How far a task's branch is from its target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Drift {
    pub ahead: usize,
    pub behind: usize,
}

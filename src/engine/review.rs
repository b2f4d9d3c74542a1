//! What a front end reads of a task's work, as plain data: differences, turns, what a merge or a rewind would do.
//!
//! Asked for through [`crate::engine::Handle`], of an engine or of a project that is [only read](crate::engine::read_only).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::base::{EventId, MessageId, TaskId, Timestamp, TurnId};
pub use crate::git::diff::Whitespace;
pub use crate::git::merge::{Conflict, ConflictKind, Excerpt, Solving};
use crate::model::diff::{Diff, FileDiff, FileStatus, Hunk, LineKind};
pub use crate::model::work::{Comment, Extent, How, Landing, QueuedMerge, Receipt, Round, Side};

/// What is compared with what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "range", rename_all = "snake_case")]
pub enum Range {
    /// Everything since the task left the branch it goes into, committed or not.
    #[default]
    Base,
    /// What one turn changed.
    Turn { turn: TurnId },
    /// What one call of a turn changed: which of those that may have changed files, counted from one.
    Edit { turn: TurnId, number: usize },
    /// From after one turn to after another.
    Between { from: TurnId, to: TurnId },
    /// From after a turn to now.
    Since { turn: TurnId },
    /// From when the person last looked to now. Everything, if they never did.
    Look,
}

/// Which difference is wanted, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffWish {
    pub range: Range,
    pub whitespace: Whitespace,
    /// Unchanged lines around what changed.
    pub context: u32,
    /// Only these files or folders; none: all.
    pub only: Vec<PathBuf>,
}

impl Default for DiffWish {
    fn default() -> Self {
        Self { range: Range::Base, whitespace: Whitespace::Counts, context: 3, only: Vec::new() }
    }
}

/// A difference, and of what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDiff {
    pub task: TaskId,
    pub range: Range,
    /// What the old side is called: a branch, a turn.
    pub old: String,
    pub new: String,
    #[serde(flatten)]
    pub diff: Diff,
    /// The state of the files on the new side, for [`Seen`] and for a review. Nothing: it could not be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// What the person has seen of a task's work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The state that was looked at: [`TaskDiff::state`].
    pub state: Option<String>,
    /// The hunks that were looked at, by their [`fingerprint`].
    pub hunks: Vec<String>,
}

/// Returns a name for a hunk that stays the same wherever in the file the hunk moves.
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

/// A turn, as one is chosen from a list: oldest first, only those of the conversation as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnView {
    pub turn: TurnId,
    /// Counted from one, over the whole conversation.
    pub number: usize,
    pub at: Timestamp,
    /// What it answered: the first line of the last message that came before it, if one did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// That message, if the person wrote it: it can be edited and sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The first line of what the agent said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// The tools that it called, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// Those of them that may have changed files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<EditView>,
    /// Whether it changed files.
    pub changed: bool,
    /// The state of the files after it, as a git tree, if one was kept by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The last event that belongs to it.
    pub event: EventId,
}

/// A call that may have changed files, as one is chosen from a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditView {
    /// Counted from one, within its turn.
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

/// Where a task's work goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Into the branch of the task above; for those below the root, the base branch.
    #[default]
    Above,
    /// Into the project's base branch.
    Base,
}

/// A checkout that is in the way of a merge, because something in it is not committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirtySide {
    pub path: PathBuf,
    /// Whether it is the task's own worktree, as opposed to the one that has the target.
    pub own: bool,
    pub files: usize,
    /// One sentence that says what to do.
    pub reason: String,
}

/// What bringing a task's work into another branch would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergePreview {
    pub task: TaskId,
    pub branch: String,
    /// The commit that the branch is at.
    pub commit: String,
    pub target: String,
    /// Commits that the target would get.
    pub ahead: usize,
    /// Commits that the branch does not have.
    pub behind: usize,
    pub files: usize,
    pub added: usize,
    pub removed: usize,
    pub conflicts: Vec<Conflict>,
    /// What has to be committed or put away first.
    pub dirty: Vec<DirtySide>,
    /// The checkout that would follow. Nothing: only the branch would move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout: Option<PathBuf>,
    /// The command that checks the work before it is merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// Whether the receipt speaks for what would be merged.
    pub fresh: bool,
}

impl MergePreview {
    /// Returns why it would be refused as things stand, if it would.
    pub fn refusal(&self) -> Option<String> {
        if let Some(side) = self.dirty.first() {
            return Some(side.reason.clone());
        }
        if self.ahead == 0 {
            return Some(format!("{} has everything that {} has", self.target, self.branch));
        }
        (!self.conflicts.is_empty()).then(|| {
            let files = crate::base::text::count(self.conflicts.len(), "file", "files");
            format!("{} and {} conflict in {files}", self.branch, self.target)
        })
    }
}

/// What a rewind would undo, and what it cannot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindPreview {
    pub extent: Extent,
    /// Nothing: to before the first turn.
    pub to: Option<TurnId>,
    /// Turns that would no longer be part of the conversation.
    pub turns: usize,
    /// Messages that the agent had read and would no longer know.
    pub read: usize,
    /// Files that would be different.
    pub files: Vec<FileChange>,
    /// Files that would be different and are not in `files`.
    pub hidden_files: usize,
    /// Commits that the task's branch would no longer have, newest first.
    pub commits: Vec<CommitLine>,
    /// Messages that it sent to other tasks since.
    pub sent: Vec<String>,
    /// Tasks that it made since.
    pub created: Vec<CreatedTask>,
    /// What stays as it is, one sentence each.
    pub stays: Vec<String>,
}

/// A file that a rewind would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub path: String,
    pub status: FileStatus,
}

/// A commit in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitLine {
    pub id: String,
    pub subject: String,
}

/// A task that was made in a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatedTask {
    /// As the agent was told it.
    pub task: String,
    pub title: String,
}

/// A branch that would conflict with a task's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clash {
    pub with: TaskId,
    pub files: Vec<String>,
}

/// How far a task's branch is from the one that it goes into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    pub ahead: usize,
    pub behind: usize,
}

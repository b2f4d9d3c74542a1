//! Merges a task's branch into another: preview, merge, squash or rebase, undo, and recovery after a crash.
//!
//! The result is computed in memory. Then, in this order: the new commits are written; a record of the pending merge
//! (`refs/mxd/pending/<task-id>`) and the undo record (`refs/mxd/undo/<task-id>/<n>`) are written; the target moves if
//! it is still where it was; the checkout of the target is updated; the pending record is deleted. A checkout is
//! changed only if it has no other changes.

mod apply;
mod drafts;
mod execute;
mod recover;
mod solve;

use std::path::PathBuf;

use git2::{Oid, Repository};

use super::conflict;
pub use super::conflict::{Conflict, ConflictKind, Excerpt};
use super::diff;
use super::error::{Error, blocking};
use super::refs;
use super::status::DiffStat;
use super::worktree::Worktrees;
use crate::base::TaskId;
pub use crate::model::work::MergeStrategy;
pub use drafts::TaskDrafts;
pub use execute::{MergeSides, Side};
pub(super) use recover::pending_targets;
pub use recover::{RecoveredMerge, UndoableMerge};
pub use solve::DraftedConflicts;
pub(super) use solve::SOLVING;

/// A branch to merge into another.
#[derive(Clone, Debug)]
pub struct MergeRequest {
    pub task: TaskId,
    pub branch: String,
    /// The branch to merge into.
    pub target: String,
    pub strategy: MergeStrategy,
    /// The message of the commit. A rebase keeps each commit's own.
    pub message: String,
    /// The commit that the branch is expected at. `None` accepts any.
    pub expected: Option<String>,
}

/// The expected result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// Commits that the target would get.
    pub ahead: usize,
    /// Commits that the branch does not have.
    pub behind: usize,
    pub conflicts: Vec<Conflict>,
    /// The size of the change to the target.
    pub stat: DiffStat,
    /// The commits of both sides at the time of the preview.
    pub branch: String,
    pub target: String,
}

/// The effect of a merge on the checkout of the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckoutFate {
    /// Its files were updated.
    Updated(PathBuf),
    /// The target is not checked out: only the branch moved.
    OnlyRef,
}

/// Result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    Done {
        /// The target before and after.
        from: String,
        to: String,
        checkout: CheckoutFate,
        /// The ref for [`Worktrees::undo_merge`].
        undo: String,
    },
    /// The target has everything already.
    Nothing,
    /// Nothing was changed.
    Conflicts(Vec<Conflict>),
}

/// Result of merging the target into a task's own branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetMergeOutcome {
    /// The branch has everything that the target has. These files were resolved by hand.
    Done { files: Vec<PathBuf> },
    /// There was nothing to merge.
    Nothing,
}

impl Worktrees {
    /// Previews a merge. Changes nothing.
    pub async fn preview(&self, branch: &str, target: &str) -> Result<Preview, Error> {
        let (main, branch, target) = (self.main().clone(), branch.to_owned(), target.to_owned());
        blocking(move || {
            let repository = main.open()?;
            let (theirs, ours) = (tip(&repository, &branch)?, tip(&repository, &target)?);
            let (ahead, behind) = repository.graph_ahead_behind(theirs, ours).map_err(Error::read(&main.path))?;
            let conflicts = if ahead == 0 || behind == 0 {
                Vec::new()
            } else {
                conflict::conflicts(&repository, &conflict::merge(&repository, ours, theirs)?)?
            };
            let stat = changes_since_fork(&repository, ours, theirs)?;
            Ok(Preview { ahead, behind, conflicts, stat, branch: theirs.to_string(), target: ours.to_string() })
        })
        .await
    }
}

/// Returns the size of a branch's changes since it forked from another.
fn changes_since_fork(repository: &Repository, ours: Oid, theirs: Oid) -> Result<DiffStat, Error> {
    let failed = Error::read(repository.path());
    let from = repository.merge_base(ours, theirs).unwrap_or(ours);
    let tree = |id| repository.find_commit(id).and_then(|commit| commit.tree()).map_err(&failed);
    let mut diff = repository.diff_tree_to_tree(Some(&tree(from)?), Some(&tree(theirs)?), None).map_err(&failed)?;
    diff::find_renames(&mut diff).map_err(&failed)?;
    let stats = diff.stats().map_err(&failed)?;
    Ok(DiffStat { files: stats.files_changed(), added: stats.insertions(), removed: stats.deletions() })
}

fn tip(repository: &Repository, branch: &str) -> Result<Oid, Error> {
    refs::branch_tip(repository, branch)?.ok_or_else(|| Error::NoBranch(branch.to_owned()))
}

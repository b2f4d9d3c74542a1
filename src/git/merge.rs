//! Bringing a task's branch into another: preview, merge, squash or rebase, undo, and what a crash in between left.
//!
//! Everything is computed in memory; then, in this order: the new commits are written, a note of what is about to happen
//! (`refs/mxd/pending/<task-id>`) and the way back (`refs/mxd/undo/<task-id>/<n>`) are kept, the target moves if it still
//! is where it was seen, the checkout that has the target follows, the note goes. A checkout is only ever changed if
//! nothing in it was changed by others.

mod apply;
mod drafts;
mod land;
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
pub use crate::model::work::How;
pub use drafts::Drafts;
pub use land::{Side, Sides};
pub(super) use recover::announced_targets;
pub use recover::{Recovered, Undoable};
pub(super) use solve::SOLVING;
pub use solve::Solving;

/// A branch to be brought into another.
#[derive(Clone, Debug)]
pub struct Landing {
    pub task: TaskId,
    pub branch: String,
    /// The branch that it goes into.
    pub target: String,
    pub how: How,
    /// The message of the commit that is made. A rebase keeps each commit's own.
    pub message: String,
    /// The commit that the branch is expected at. Nothing: wherever it is.
    pub seen: Option<String>,
}

/// What would happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// Commits that the target would get.
    pub ahead: usize,
    /// Commits that the branch does not have.
    pub behind: usize,
    pub conflicts: Vec<Conflict>,
    /// How much the target would get.
    pub stat: DiffStat,
    /// What each side was when this was found out.
    pub branch: String,
    pub target: String,
}

/// What happened to the checkout that has the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckoutFate {
    /// It has the new files.
    Updated(PathBuf),
    /// No checkout has the target: only the branch moved.
    OnlyRef,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landed {
    Done {
        /// The target before and after.
        from: String,
        to: String,
        checkout: CheckoutFate,
        /// What takes it back, for [`Worktrees::undo_landing`].
        undo: String,
    },
    /// The target has everything already.
    Nothing,
    /// Nothing was changed.
    Conflicts(Vec<Conflict>),
}

/// What came of taking the target into a task's own branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TookIn {
    /// The branch has everything that the target has. These files were solved by hand.
    Done { files: Vec<PathBuf> },
    /// There was nothing to take in.
    Nothing,
}

impl Worktrees {
    /// Finds out what bringing a branch into another would do. Changes nothing.
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
            let stat = gained(&repository, ours, theirs)?;
            Ok(Preview { ahead, behind, conflicts, stat, branch: theirs.to_string(), target: ours.to_string() })
        })
        .await
    }
}

/// Returns how much a branch changed since it left another.
fn gained(repository: &Repository, ours: Oid, theirs: Oid) -> Result<DiffStat, Error> {
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

//! Removes a worktree: archive, move the folder away, remove the entry, delete the branch. An interrupted removal can
//! be repeated. The folder is moved only after everything in it is safe.

use std::path::{Path, PathBuf};

use super::Worktrees;
use super::trash::{ASIDE, TRASH, delete_later, move_beside};
use crate::base::TaskId;
use crate::git::entry;
use crate::git::error::{Error, blocking};
use crate::git::refs;
use crate::git::tree_capture::LeftOut;

/// Whether the branch of a removed worktree is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchFate {
    Keep,
    /// Deleted, unless it is checked out elsewhere. Commits that are only on it are archived.
    Delete,
}

/// A worktree to remove.
#[derive(Clone, Debug)]
pub struct Removal {
    pub task: TaskId,
    /// As stored when it was created.
    pub path: PathBuf,
    pub branch: String,
    pub fate: BranchFate,
    /// Commits on one of these branches need no archive.
    pub bases: Vec<String>,
}

/// Result of a removal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovalOutcome {
    /// The archive of uncommitted or unmerged work.
    pub archive: Option<String>,
    /// Where the folder is, if something in it could not be archived. Only the user deletes it.
    pub aside: Option<PathBuf>,
    /// Paths that could not be archived.
    pub left_out: Vec<LeftOut>,
    pub branch_deleted: bool,
}

impl Worktrees {
    /// Removes a worktree, after archiving uncommitted and unmerged work. Succeeds if it is already gone.
    pub async fn remove(&self, removal: &Removal) -> Result<RemovalOutcome, Error> {
        let path = entry::plain(&removal.path);
        if self.main.path.starts_with(&path) || self.main.common.starts_with(&path) {
            return Err(Error::Refused(format!("cannot remove {}: it contains the repository itself", path.display())));
        }
        let _lock = self.lock_worktree(&removal.path).await;
        let found = self.entry_of(&path).await?;
        let found_there = path.symlink_metadata().ok();
        let is_there = found_there.as_ref().is_some_and(std::fs::Metadata::is_dir);
        // Keep a link, so that the user can see where it led. Its target is not ours.
        let is_link = found_there.is_some_and(|found| found.is_symlink());
        if is_there && path.join(".git").is_dir() {
            return Err(Error::InTheWay(path));
        }
        if is_there && found.as_ref().is_some_and(|entry| entry::link_of(&path).as_ref() != Some(&entry.git_dir)) {
            // Restore its link, so that git can archive its files.
            self.relink(&path).await?;
        }
        // An incomplete worktree has no work in it.
        let untouched = found.as_ref().is_some_and(entry::WorktreeEntry::is_being_made);
        let checkout =
            found.as_ref().filter(|_| is_there && !untouched).map(|entry| entry.checkout(&path, &self.main.common));
        if let Some(checkout) = &checkout {
            self.repair_checkout(checkout, &removal.branch).await?;
        }
        let archived = self.archive(removal.task, &removal.branch, &removal.bases, checkout.as_ref()).await?;

        let unknown = is_there && found.is_none() && path.read_dir().is_ok_and(|mut entries| entries.next().is_some());
        let modules = found.as_ref().map(|entry| entry.git_dir.join("modules")).filter(|modules| modules.exists());
        let mut removed =
            RemovalOutcome { archive: archived.commit, left_out: archived.left_out, ..RemovalOutcome::default() };
        if is_there || is_link {
            let keep = unknown || is_link || !removed.left_out.is_empty();
            let gone = path.clone();
            let moved = blocking(move || {
                let moved = move_beside(&gone, if keep { ASIDE } else { TRASH })?;
                if let Some(modules) = modules.filter(|_| keep && !is_link) {
                    save_modules(&modules, &moved.path())?;
                }
                Ok(moved)
            })
            .await?;
            if keep {
                removed.aside = Some(moved.path());
            } else {
                delete_later(moved);
            }
        }
        if found.is_some() {
            self.remove_entry(&path).await?;
        }
        if removal.fate == BranchFate::Delete && self.other_checkout_of(&removal.branch, &path).await?.is_none() {
            removed.branch_deleted = self.delete_branch(&removal.branch, archived.tip).await?;
        }
        Ok(removed)
    }

    /// Deletes a branch that is still where it was archived.
    async fn delete_branch(&self, branch: &str, expected: Option<git2::Oid>) -> Result<bool, Error> {
        let Some(expected) = expected else { return Ok(false) };
        let _entries = self.entries.lock().await;
        let name = format!("{}{branch}", refs::HEADS);
        self.main.git(["update-ref", "-d", &name, &expected.to_string()]).durable().run_with_retries().await?;
        Ok(true)
    }
}

/// Saves the repositories of submodules, which are in the entry: their commits may be nowhere else.
fn save_modules(modules: &Path, folder: &Path) -> Result<(), Error> {
    std::fs::rename(modules, folder.join(".mxd-modules")).map_err(Error::disk("keep the submodules of", folder))
}

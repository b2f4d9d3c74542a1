//! Putting a worktree away: archive, move the folder out, forget the entry, delete the branch. Each step is found done by
//! the next call; the folder leaves its place only after everything in it is safe.

use std::path::{Path, PathBuf};

use super::Worktrees;
use super::trash::{ASIDE, TRASH, delete_later, move_beside};
use crate::base::TaskId;
use crate::git::capture::LeftOut;
use crate::git::entry;
use crate::git::error::{Error, blocking};
use crate::git::refs;

/// What happens to the branch of a worktree that is put away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchFate {
    Keep,
    /// Deleted, unless somebody else has it checked out. What is only on it is in the archive.
    Delete,
}

/// A worktree to be put away.
#[derive(Clone, Debug)]
pub struct Removal {
    pub task: TaskId,
    /// As it was stored when it was made.
    pub path: PathBuf,
    pub branch: String,
    pub fate: BranchFate,
    /// Commits that one of these branches has need no archive.
    pub bases: Vec<String>,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// The commit that keeps what was not committed or not merged.
    pub archive: Option<String>,
    /// Where the folder is, if something in it could not be archived. It stays until a person deletes it.
    pub aside: Option<PathBuf>,
    /// What could not be archived.
    pub left_out: Vec<LeftOut>,
    pub branch_deleted: bool,
}

impl Worktrees {
    /// Puts a worktree away. Uncommitted and unmerged work is archived first. Removing what is gone is no error.
    pub async fn remove(&self, removal: &Removal) -> Result<Removed, Error> {
        let path = entry::plain(&removal.path);
        if self.main.path.starts_with(&path) || self.main.common.starts_with(&path) {
            return Err(Error::Refused(format!("{} holds the repository itself; it is not removed", path.display())));
        }
        let _place = self.place(&removal.path).await;
        let found = self.entry_of(&path).await?;
        let found_there = path.symlink_metadata().ok();
        let is_there = found_there.as_ref().is_some_and(std::fs::Metadata::is_dir);
        // What is behind a link is not ours; the link is kept beside, for whoever wants to know where it led.
        let is_link = found_there.is_some_and(|found| found.is_symlink());
        if is_there && path.join(".git").is_dir() {
            return Err(Error::InTheWay(path));
        }
        if is_there && found.as_ref().is_some_and(|entry| entry::link_of(&path).as_ref() != Some(&entry.git_dir)) {
            // Its files are archived like any others, once git can look at them.
            self.relink(&path).await?;
        }
        // Where files were never all written nobody can have worked.
        let untouched = found.as_ref().is_some_and(entry::Entry::is_being_made);
        let checkout =
            found.as_ref().filter(|_| is_there && !untouched).map(|entry| entry.checkout(&path, &self.main.common));
        if let Some(checkout) = &checkout {
            self.mend_checkout(checkout, &removal.branch).await?;
        }
        let archived = self.archive(removal.task, &removal.branch, &removal.bases, checkout.as_ref()).await?;

        let unknown = is_there && found.is_none() && path.read_dir().is_ok_and(|mut entries| entries.next().is_some());
        let modules = found.as_ref().map(|entry| entry.git_dir.join("modules")).filter(|modules| modules.exists());
        let mut removed = Removed { archive: archived.commit, left_out: archived.left_out, ..Removed::default() };
        if is_there || is_link {
            let keep = unknown || is_link || !removed.left_out.is_empty();
            let gone = path.clone();
            let moved = blocking(move || {
                let moved = move_beside(&gone, if keep { ASIDE } else { TRASH })?;
                if let Some(modules) = modules.filter(|_| keep && !is_link) {
                    keep_modules(&modules, &moved.path())?;
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
            self.forget(&path).await?;
        }
        if removal.fate == BranchFate::Delete && self.users_of(&removal.branch, &path).await?.is_none() {
            removed.branch_deleted = self.delete_branch(&removal.branch, archived.tip).await?;
        }
        Ok(removed)
    }

    /// Deletes a branch that still is where it was archived.
    async fn delete_branch(&self, branch: &str, seen: Option<git2::Oid>) -> Result<bool, Error> {
        let Some(seen) = seen else { return Ok(false) };
        let _entries = self.entries.lock().await;
        let name = format!("{}{branch}", refs::HEADS);
        self.main.git(["update-ref", "-d", &name, &seen.to_string()]).durable().run_patiently().await?;
        Ok(true)
    }
}

/// The repositories of submodules lie in the entry, which goes; their commits may be nowhere else.
fn keep_modules(modules: &Path, folder: &Path) -> Result<(), Error> {
    std::fs::rename(modules, folder.join(".mxd-modules")).map_err(Error::disk("keep the submodules of", folder))
}

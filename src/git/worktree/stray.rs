//! Finds our worktrees, folders and branches that no known task owns, and undoes interrupted creations.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::Worktrees;
use super::trash::{ASIDE, TRASH};
use crate::git::branch;
use crate::git::entry::{self, Head, WorktreeEntry};
use crate::git::error::{Error, blocking};
use crate::git::merge::SOLVING;
use crate::git::program::Checkout;
use crate::git::refs;

/// A task's worktree and branch, as stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnedWorktree {
    pub path: PathBuf,
    pub branch: String,
}

/// A worktree, folder or branch without an owner.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stray {
    /// A worktree, with the branch it is on.
    Worktree { path: PathBuf, branch: Option<String> },
    /// A folder without an entry in the repository.
    Folder(PathBuf),
    /// A task's branch.
    Branch(String),
    /// A folder waiting to be deleted.
    Trash(PathBuf),
    /// A folder that was moved aside, because it may contain work.
    Aside(PathBuf),
}

impl Worktrees {
    /// Lists what no known task owns. Changes nothing.
    pub async fn stray(&self, known: &[OwnedWorktree]) -> Result<Vec<Stray>, Error> {
        let (main, folder, known) = (self.main.clone(), self.folder.clone(), known.to_vec());
        blocking(move || {
            let paths: BTreeSet<PathBuf> = known.iter().map(|known| entry::plain(&known.path)).collect();
            let branches: BTreeSet<&str> = known.iter().map(|known| known.branch.as_str()).collect();
            let mut stray = BTreeSet::new();
            let mut recorded = BTreeSet::new();
            for (path, head) in worktrees_below(&entry::all(&main.common)?, &folder) {
                recorded.insert(path.clone());
                if !paths.contains(&path) {
                    let branch = if let Head::Branch(branch) = head { Some(branch) } else { None };
                    stray.insert(Stray::Worktree { path, branch });
                }
            }
            for path in inside(&folder) {
                if path.file_name().is_some_and(|name| [TRASH, ASIDE, SOLVING].iter().any(|ours| name == *ours)) {
                    continue;
                }
                if !paths.contains(&path) && !recorded.contains(&path) {
                    stray.insert(Stray::Folder(path));
                }
            }
            stray.extend(inside(&folder.join(TRASH)).into_iter().map(Stray::Trash));
            stray.extend(inside(&folder.join(ASIDE)).into_iter().map(Stray::Aside));
            let repository = main.open()?;
            let heads = repository.references_glob(&format!("{}{}*", refs::HEADS, branch::PREFIX));
            for head in heads.map_err(Error::read(&main.path))?.flatten() {
                let name = String::from_utf8_lossy(head.name_bytes()).into_owned();
                let name = name.strip_prefix(refs::HEADS).unwrap_or(&name);
                if !branches.contains(name) && branch::task_of(name).is_some() {
                    stray.insert(Stray::Branch(name.to_owned()));
                }
            }
            Ok(stray.into_iter().collect())
        })
        .await
    }

    /// Undoes interrupted creations that no known task owns; they contain no work. Those of known tasks are finished by
    /// the next `create`. Call it at the start, before anything is created.
    pub async fn tidy(&self, known: &[OwnedWorktree]) -> Result<Vec<PathBuf>, Error> {
        let (main, folder, known) = (self.main.clone(), self.folder.clone(), known.to_vec());
        let half_made = blocking(move || {
            unlock_missing_branches(&main, &known)?;
            let paths: BTreeSet<PathBuf> = known.iter().map(|known| entry::plain(&known.path)).collect();
            let entries = entry::all(&main.common)?;
            for entry in entries.iter().filter(|entry| entry.path.is_none() && entry.is_being_made()) {
                fs::remove_dir_all(&entry.git_dir)
                    .map_err(Error::disk("remove the half-made entry", &entry.git_dir))?;
            }
            let unfinished =
                entries.iter().filter(|entry| entry.is_being_made()).filter_map(|entry| entry.path.clone());
            Ok(unfinished.filter(|path| path.starts_with(&folder) && !paths.contains(path)).collect::<Vec<_>>())
        })
        .await?;
        for path in &half_made {
            let _lock = self.lock_worktree(path).await;
            if path.symlink_metadata().is_ok() {
                let gone = path.clone();
                super::trash::delete_later(blocking(move || super::trash::move_beside(&gone, TRASH)).await?);
            }
            self.remove_entry(path).await?;
        }
        Ok(half_made)
    }
}

/// Removes ref locks left by a crash during the creation of a branch. Only we create these branches, so while the
/// branch does not exist the lock is ours.
fn unlock_missing_branches(main: &Checkout, known: &[OwnedWorktree]) -> Result<(), Error> {
    for OwnedWorktree { branch, .. } in known {
        let lock = main.common.join(format!("{}{branch}.lock", refs::HEADS));
        if lock.exists() && refs::branch_tip(&main.open()?, branch)?.is_none() {
            fs::remove_file(&lock).map_err(Error::disk("remove the abandoned lock", &lock))?;
        }
    }
    Ok(())
}

/// Returns the worktrees below our folder, with their HEAD.
fn worktrees_below(entries: &[WorktreeEntry], folder: &Path) -> Vec<(PathBuf, Head)> {
    let with_path = entries.iter().filter_map(|entry| Some((entry.path.clone()?, entry.head.clone())));
    with_path.filter(|(path, _)| path.starts_with(folder)).collect()
}

fn inside(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

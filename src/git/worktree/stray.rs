//! What lies in our folder and among our branches that no known task owns, and the undoing of what was never finished.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::Worktrees;
use super::trash::{ASIDE, TRASH};
use crate::git::branch;
use crate::git::entry::{self, Entry, Head};
use crate::git::error::{Error, blocking};
use crate::git::merge::SOLVING;
use crate::git::program::Checkout;
use crate::git::refs;

/// What a task owns, as it was stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Known {
    pub path: PathBuf,
    pub branch: String,
}

/// Something of ours that nobody owns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stray {
    /// A worktree, with the branch it is on.
    Worktree { path: PathBuf, branch: Option<String> },
    /// A folder among the worktrees that the repository does not know.
    Folder(PathBuf),
    /// A branch of a task.
    Branch(String),
    /// A folder that was to be deleted.
    Trash(PathBuf),
    /// A folder that was moved aside, because it may hold work.
    Aside(PathBuf),
}

impl Worktrees {
    /// Lists what no known task owns. Changes nothing.
    pub async fn stray(&self, known: &[Known]) -> Result<Vec<Stray>, Error> {
        let (main, folder, known) = (self.main.clone(), self.folder.clone(), known.to_vec());
        blocking(move || {
            let paths: BTreeSet<PathBuf> = known.iter().map(|known| entry::plain(&known.path)).collect();
            let branches: BTreeSet<&str> = known.iter().map(|known| known.branch.as_str()).collect();
            let mut stray = BTreeSet::new();
            let mut noted = BTreeSet::new();
            for (path, head) in ours(&entry::all(&main.common)?, &folder) {
                noted.insert(path.clone());
                if !paths.contains(&path) {
                    let branch = if let Head::Branch(branch) = head { Some(branch) } else { None };
                    stray.insert(Stray::Worktree { path, branch });
                }
            }
            for path in inside(&folder) {
                if path.file_name().is_some_and(|name| [TRASH, ASIDE, SOLVING].iter().any(|ours| name == *ours)) {
                    continue;
                }
                if !paths.contains(&path) && !noted.contains(&path) {
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

    /// Undoes what a crash left half made and no known task owns: nobody has worked there. What a known task owns is
    /// finished by the next `create`. To be called at the start, before anything is made.
    pub async fn tidy(&self, known: &[Known]) -> Result<Vec<PathBuf>, Error> {
        let (main, folder, known) = (self.main.clone(), self.folder.clone(), known.to_vec());
        let half_made = blocking(move || {
            unlock_unmade(&main, &known)?;
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
            let _place = self.place(path).await;
            if path.symlink_metadata().is_ok() {
                let gone = path.clone();
                super::trash::delete_later(blocking(move || super::trash::move_beside(&gone, TRASH)).await?);
            }
            self.forget(path).await?;
        }
        Ok(half_made)
    }
}

/// Removes the locks of branches that we died making. Nobody else makes them, so as long as there is no such branch the lock
/// is ours, and nothing would ever take it away.
fn unlock_unmade(main: &Checkout, known: &[Known]) -> Result<(), Error> {
    for Known { branch, .. } in known {
        let lock = main.common.join(format!("{}{branch}.lock", refs::HEADS));
        if lock.exists() && refs::branch_tip(&main.open()?, branch)?.is_none() {
            fs::remove_file(&lock).map_err(Error::disk("remove the abandoned lock", &lock))?;
        }
    }
    Ok(())
}

/// Returns the worktrees below our folder, with what they are on.
fn ours(entries: &[Entry], folder: &Path) -> Vec<(PathBuf, Head)> {
    let with_path = entries.iter().filter_map(|entry| Some((entry.path.clone()?, entry.head.clone())));
    with_path.filter(|(path, _)| path.starts_with(folder)).collect()
}

fn inside(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

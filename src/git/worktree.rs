//! The worktrees of one project's tasks: create, find, remove, restore.
//!
//! One [`Worktrees`] per project. It serialises what git cannot do concurrently (entries and refs, a few milliseconds)
//! and lets the slow part, writing files, run in parallel. Every step can be interrupted: the next call finishes or
//! undoes it from what is on disk. Nothing that may contain work is deleted: it is archived, moved aside or refused.

mod archive;
mod make;
mod relocate;
mod remove;
mod restore;
mod stray;
mod trash;

use std::collections::HashMap;
use std::fmt;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::anchor;
use super::dir::Dir;
use super::discover;
use super::entry::{self, Head, WorktreeEntry};
use super::error::{Error, blocking};
use super::library;
use super::program::Checkout;
use super::snapshot_cache::SnapshotCache;
use super::status::Operation;
use crate::base::TaskId;

pub use super::snapshot_cache::SnapshotCounts;
pub use super::worktree_diagnosis::RecreateReason;
pub use archive::ARCHIVE;
pub use relocate::repair_links;
pub use remove::{BranchFate, Removal, RemovalOutcome};
pub use restore::{RestoreOutcome, Uncommitted};
pub use stray::{OwnedWorktree, Stray};

/// Where a new branch starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchStart {
    Branch(String),
    Commit(String),
}

/// A worktree to create or restore.
#[derive(Clone, Debug)]
pub struct WorktreeSpec {
    pub task: TaskId,
    pub branch: String,
    pub path: PathBuf,
}

/// The state of a worktree after [`Worktrees::create`], and what had to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorktreeState {
    /// It existed.
    Present,
    Created,
    /// It had to be recreated or repaired. What was in its place and may contain work is in `aside`.
    Recreated {
        why: RecreateReason,
        aside: Option<PathBuf>,
    },
    /// It exists, on another branch. Nothing was changed.
    OtherBranch(String),
    /// It exists, without a branch. Nothing was changed.
    Detached {
        operation: Option<Operation>,
    },
}

impl WorktreeState {
    /// Returns a notice for the agent that works there.
    pub fn notice(&self) -> Option<String> {
        match self {
            Self::Present | Self::Created => None,
            Self::Recreated { why, aside } => {
                let aside = aside
                    .as_ref()
                    .map_or(String::new(), |path| format!(" Its previous content was moved to {}.", path.display()));
                Some(format!("{why}{aside}"))
            }
            Self::OtherBranch(branch) => Some(format!(
                "Your worktree is on the branch \"{branch}\", which is not the branch of your task. Nothing was changed."
            )),
            Self::Detached { operation: Some(operation) } => {
                Some(format!("Your worktree is in the middle of a {operation}."))
            }
            Self::Detached { operation: None } => {
                Some("Your worktree has no branch checked out (its HEAD is detached). Nothing was changed.".to_owned())
            }
        }
    }
}

impl fmt::Display for RecreateReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deleted => f.write_str(
                "Your worktree had been deleted and was recreated from your branch. Uncommitted work is lost.",
            ),
            Self::Emptied => f.write_str(
                "Your worktree had been emptied and its files were restored. Work that was not committed or staged is lost.",
            ),
            Self::LinkLost => f.write_str("The .git file of your worktree was missing and was restored. Your files are unchanged."),
            Self::EntryLost => {
                f.write_str("The repository no longer had an entry for your worktree. It was recreated from your branch.")
            }
            Self::Moved(from) => write!(f, "Your worktree had been moved to {} and was moved back.", from.display()),
            Self::BranchLost => f.write_str("Your branch had been deleted and was recreated at the last commit of your worktree."),
        }
    }
}

/// The worktrees of one project. Cheap to clone; clones share the locks.
#[derive(Clone, Debug)]
pub struct Worktrees {
    /// The main checkout.
    main: Checkout,
    /// The folder for new worktrees.
    pub(in crate::git) folder: PathBuf,
    /// The folder for process records.
    records: Option<PathBuf>,
    /// Held around operations that git cannot do concurrently.
    entries: Arc<Mutex<()>>,
    /// Held while a merge moves its target.
    merge_lock: Arc<Mutex<()>>,
    /// One lock per worktree, so that creating and removing one do not overlap.
    locks: Arc<StdMutex<HashMap<PathBuf, Arc<Mutex<()>>>>>,
    snapshot_cache: SnapshotCache,
}

impl Worktrees {
    /// Opens the worktrees of the repository whose main checkout is `top`; new ones go below `folder`. `records` is the
    /// folder for process records, so that a crash leaves no git running.
    pub async fn open(top: &Path, folder: &Path, records: Option<&Path>) -> Result<Self, Error> {
        let (top, folder) = (top.to_owned(), folder.to_owned());
        let records = records.map(Path::to_owned);
        blocking(move || {
            anchor::refuse_link_to_folder(&folder)?;
            let mut private = std::fs::DirBuilder::new();
            private.recursive(true).mode(0o700).create(&folder).map_err(Error::disk("make the folder", &folder))?;
            let folder = std::fs::canonicalize(&folder).map_err(Error::disk("find", &folder))?;
            let repository = library::open(&top).map_err(Error::read(&top))?;
            discover::refuse_other_folder(&repository, &top).map_err(|error| Error::Refused(error.to_string()))?;
            let common = repository.commondir();
            let common = std::fs::canonicalize(common).map_err(Error::disk("find", common))?;
            let main = Checkout { path: top, git_dir: common.clone(), common };
            Ok(Self {
                main,
                folder,
                records,
                entries: Arc::default(),
                merge_lock: Arc::default(),
                locks: Arc::default(),
                snapshot_cache: SnapshotCache::default(),
            })
        })
        .await
    }

    /// Returns the main checkout, which is the user's own.
    pub fn main(&self) -> &Checkout {
        &self.main
    }

    pub(in crate::git) fn snapshot_cache(&self) -> &SnapshotCache {
        &self.snapshot_cache
    }

    pub(in crate::git) fn folder(&self) -> Result<Dir, Error> {
        Dir::open(&self.folder).map_err(Error::disk("open", &self.folder))
    }

    /// Returns the path for a task's worktree. The caller stores it: only a stored path is ever removed.
    pub fn path_for(&self, task: TaskId, title: &str) -> PathBuf {
        self.folder.join(super::branch::folder(task, title))
    }

    /// Returns the checkout in a worktree's folder. Refuses a link in its place.
    pub async fn checkout(&self, path: &Path) -> Result<Checkout, Error> {
        if path == self.main.path {
            return Ok(self.main.clone());
        }
        anchor::refuse_link(path)?;
        let found = self.entry_of(path).await?;
        found.map(|entry| entry.checkout(path, &self.main.common)).ok_or_else(|| Error::InTheWay(path.to_owned()))
    }

    async fn entry_of(&self, path: &Path) -> Result<Option<WorktreeEntry>, Error> {
        let (common, path) = (self.main.common.clone(), path.to_owned());
        blocking(move || {
            if let Some(entry) = entry::of(&path, &common) {
                return Ok(Some(entry));
            }
            let path = entry::plain(&path);
            Ok(entry::all(&common)?.into_iter().find(|entry| entry.path.as_ref() == Some(&path)))
        })
        .await
    }

    /// Returns another checkout that has a branch checked out.
    async fn other_checkout_of(&self, branch: &str, except: &Path) -> Result<Option<PathBuf>, Error> {
        let (main, branch, except) = (self.main.clone(), branch.to_owned(), except.to_owned());
        blocking(move || {
            let except = entry::plain(&except);
            if entry::head(&main.git_dir) == Head::Branch(branch.clone()) {
                return Ok(Some(main.path));
            }
            let on_branch = |entry: &WorktreeEntry| entry.head == Head::Branch(branch.clone());
            Ok(entry::all(&main.common)?
                .into_iter()
                .filter(on_branch)
                .filter_map(|e| e.path)
                .find(|path| *path != except))
        })
        .await
    }

    /// Waits for the merge lock.
    pub(in crate::git) async fn lock_merges(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.merge_lock.lock().await
    }

    /// Locks one worktree.
    pub(in crate::git) async fn lock_worktree(&self, path: &Path) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            Arc::clone(locks.entry(path.to_owned()).or_default())
        };
        lock.lock_owned().await
    }
}

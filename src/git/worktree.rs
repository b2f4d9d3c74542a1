//! The worktrees of one project's tasks: made, found again, put away, brought back.
//!
//! One [`Worktrees`] per project. It serialises what git cannot do twice at once (entries and refs, a few milliseconds),
//! and lets the slow part, writing the files, run side by side. Every step is found half done by the next call and is
//! finished or undone, from what lies on the disk alone. Nothing that may hold work is deleted: it is archived, moved
//! aside or refused.

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
use super::entry::{self, Entry, Head};
use super::error::{Error, blocking};
use super::last_kept::LastKept;
use super::library;
use super::place;
use super::program::Checkout;
use super::status::Operation;
use crate::base::TaskId;

pub use super::last_kept::Looks;
pub use super::situation::Why;
pub use archive::ARCHIVE;
pub use relocate::repair_links;
pub use remove::{BranchFate, Removal, Removed};
pub use restore::{Restored, Uncommitted};
pub use stray::{Known, Stray};

/// Where a new branch starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    Branch(String),
    Commit(String),
}

/// A worktree that is wanted.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub task: TaskId,
    pub branch: String,
    pub path: PathBuf,
}

/// How a worktree stands, and what had to be done for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was there.
    Present,
    Created,
    /// It had to be made again or mended. What lay in its place and may hold work is in `aside`.
    Recreated {
        why: Why,
        aside: Option<PathBuf>,
    },
    /// It is there, on another branch. Nothing was changed.
    OtherBranch(String),
    /// It is there, without a branch. Nothing was changed.
    Detached {
        operation: Option<Operation>,
    },
}

impl Standing {
    /// Returns what the agent who works there should know.
    pub fn notice(&self) -> Option<String> {
        match self {
            Self::Present | Self::Created => None,
            Self::Recreated { why, aside } => {
                let aside = aside
                    .as_ref()
                    .map_or(String::new(), |path| format!(" What lay there before was moved to {}.", path.display()));
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

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deleted => f.write_str(
                "Your worktree had been deleted and was made again from your branch. Work that was not committed is gone.",
            ),
            Self::Emptied => f.write_str(
                "Your worktree had been emptied and its files were written again. Work that was not committed or staged is gone.",
            ),
            Self::LinkLost => f.write_str("The .git of your worktree was gone and was written again. Your files are as they were."),
            Self::EntryLost => {
                f.write_str("The repository no longer knew your worktree. It was made again from your branch.")
            }
            Self::Moved(from) => write!(f, "Your worktree had been moved to {} and was moved back.", from.display()),
            Self::BranchLost => f.write_str("Your branch had been deleted and was made again where your worktree last stood."),
        }
    }
}

/// The worktrees of one project. Cheap to clone; clones share the locks.
#[derive(Clone, Debug)]
pub struct Worktrees {
    /// The main checkout.
    main: Checkout,
    /// Where new worktrees go.
    pub(in crate::git) folder: PathBuf,
    /// Where the notes of running processes are kept.
    records: Option<PathBuf>,
    /// Held around what git cannot do twice at once.
    entries: Arc<Mutex<()>>,
    /// Held by whoever moves a target.
    landings: Arc<Mutex<()>>,
    /// One lock per worktree, so that nobody removes what another is making.
    places: Arc<StdMutex<HashMap<PathBuf, Arc<Mutex<()>>>>>,
    last_kept: LastKept,
}

impl Worktrees {
    /// Returns the worktrees of the repository whose main checkout is `top`; new ones go below `folder`. `records`: where
    /// the notes of running processes are kept, so that a crash leaves no git behind.
    pub async fn open(top: &Path, folder: &Path, records: Option<&Path>) -> Result<Self, Error> {
        let (top, folder) = (top.to_owned(), folder.to_owned());
        let records = records.map(Path::to_owned);
        blocking(move || {
            anchor::refuse_link_to_folder(&folder)?;
            let mut private = std::fs::DirBuilder::new();
            private.recursive(true).mode(0o700).create(&folder).map_err(Error::disk("make the folder", &folder))?;
            let folder = std::fs::canonicalize(&folder).map_err(Error::disk("find", &folder))?;
            let repository = library::open(&top).map_err(Error::read(&top))?;
            place::refuse_other_folder(&repository, &top).map_err(|error| Error::Refused(error.to_string()))?;
            let common = repository.commondir();
            let common = std::fs::canonicalize(common).map_err(Error::disk("find", common))?;
            let main = Checkout { path: top, git_dir: common.clone(), common };
            Ok(Self {
                main,
                folder,
                records,
                entries: Arc::default(),
                landings: Arc::default(),
                places: Arc::default(),
                last_kept: LastKept::default(),
            })
        })
        .await
    }

    /// Returns the main checkout, the person's own.
    pub fn main(&self) -> &Checkout {
        &self.main
    }

    pub(in crate::git) fn last_kept(&self) -> &LastKept {
        &self.last_kept
    }

    /// Opens the folder of the worktrees.
    pub(in crate::git) fn folder(&self) -> Result<Dir, Error> {
        Dir::open(&self.folder).map_err(Error::disk("open", &self.folder))
    }

    /// Returns where the worktree of a task goes. The caller stores it: only a stored path is ever removed.
    pub fn path_for(&self, task: TaskId, title: &str) -> PathBuf {
        self.folder.join(super::branch::folder(task, title))
    }

    /// Returns the checkout in a worktree's folder. Refused if a link stands in its place.
    pub async fn checkout(&self, path: &Path) -> Result<Checkout, Error> {
        if path == self.main.path {
            return Ok(self.main.clone());
        }
        anchor::refuse_link(path)?;
        let found = self.entry_of(path).await?;
        found.map(|entry| entry.checkout(path, &self.main.common)).ok_or_else(|| Error::InTheWay(path.to_owned()))
    }

    async fn entry_of(&self, path: &Path) -> Result<Option<Entry>, Error> {
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

    /// Returns who else has a branch checked out.
    async fn users_of(&self, branch: &str, except: &Path) -> Result<Option<PathBuf>, Error> {
        let (main, branch, except) = (self.main.clone(), branch.to_owned(), except.to_owned());
        blocking(move || {
            let except = entry::plain(&except);
            if entry::head(&main.git_dir) == Head::Branch(branch.clone()) {
                return Ok(Some(main.path));
            }
            let on_branch = |entry: &Entry| entry.head == Head::Branch(branch.clone());
            Ok(entry::all(&main.common)?
                .into_iter()
                .filter(on_branch)
                .filter_map(|e| e.path)
                .find(|path| *path != except))
        })
        .await
    }

    /// Waits until nobody else brings one branch into another.
    pub(in crate::git) async fn landings(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.landings.lock().await
    }

    /// Locks one worktree's place.
    pub(in crate::git) async fn place(&self, path: &Path) -> OwnedMutexGuard<()> {
        let lock = {
            let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
            places.retain(|_, lock| Arc::strong_count(lock) > 1);
            Arc::clone(places.entry(path.to_owned()).or_default())
        };
        lock.lock_owned().await
    }
}

//! Where a folder stands in git: which repository, which checkout of it, on which branch.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Repository, RepositoryOpenFlags};

use super::library;
use super::program::Checkout;
use crate::base::{Fault, TaskId};

/// The repository that a folder is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The top folder of the repository's main checkout.
    pub top: PathBuf,
    /// The folder asked about is in this other checkout of the same repository.
    pub linked: Option<PathBuf>,
    /// The git folder that all checkouts of the repository share.
    pub common: PathBuf,
}

/// Why a folder cannot be worked on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    #[error("{} is not inside a git repository", .0.display())]
    NotARepository(PathBuf),
    #[error("{} is a bare repository: it has no checkout to work in", .0.display())]
    Bare(PathBuf),
    #[error("the repository {} has no commit yet", .0.display())]
    NoCommit(PathBuf),
    #[error("the repository {} has no branch checked out (its HEAD is detached)", .0.display())]
    Detached(PathBuf),
    #[error("the repository {} belongs to another user, and git refuses to trust it", .0.display())]
    NotOurs(PathBuf),
    #[error(
        "the repository {} keeps its files in {} (its setting core.worktree says so), which mxd does not support",
        .git_dir.display(), .top.display()
    )]
    OtherFolder { git_dir: PathBuf, top: PathBuf },
    #[error("the branch name {0:?} is not valid UTF-8")]
    BranchName(String),
    #[error("git cannot read {}: {message}", .path.display())]
    Git { path: PathBuf, message: String },
}

impl From<PlaceError> for Fault {
    fn from(error: PlaceError) -> Self {
        let fault = Self::user(error.to_string());
        match error {
            PlaceError::Missing(_) => fault.hint("check the path"),
            PlaceError::NotARepository(path) => fault
                .hint(format!("make it one with `git init {0}`", quoted(&path)))
                .hint("or go to a folder that is in one"),
            PlaceError::Bare(path) => {
                fault.hint(format!("make a clone with a checkout and use that: `git clone {} FOLDER`", quoted(&path)))
            }
            PlaceError::NoCommit(top) => {
                fault.hint(format!("make the first one with `git -C {} commit --allow-empty -m start`", quoted(&top)))
            }
            PlaceError::Detached(top) => {
                fault.hint(format!("check out a branch with `git -C {} switch <branch>`", quoted(&top)))
            }
            PlaceError::NotOurs(top) => {
                fault.hint(format!("if you trust it: `git config --global --add safe.directory {}`", quoted(&top)))
            }
            PlaceError::OtherFolder { git_dir, .. } => {
                fault.hint("nothing was read or changed in that folder").hint(format!(
                    "if the setting is not yours: `git --git-dir {} config --unset core.worktree`",
                    quoted(&git_dir)
                ))
            }
            PlaceError::BranchName(_) => fault.hint("rename the branch with `git branch -m <name>`"),
            PlaceError::Git { .. } => fault,
        }
    }
}

/// Returns a path as it can be pasted into a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-'));
    if plain { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

impl Place {
    /// Returns the repository that `folder` is in.
    pub fn of(folder: &Path) -> Result<Self, PlaceError> {
        let folder = std::fs::canonicalize(folder).map_err(|_| PlaceError::Missing(folder.to_owned()))?;
        let repository = open(&folder)?;
        let checkout = repository.workdir().map(canonical);
        let main = if repository.is_worktree() {
            // The main checkout is the one whose folder holds what all checkouts share.
            open(repository.commondir())?
        } else {
            repository
        };
        let bare = || PlaceError::Bare(main.path().to_owned());
        let top = main.workdir().map(canonical).filter(|_| !main.is_bare()).ok_or_else(bare)?;
        refuse_other_folder(&main, &top)?;
        let linked = checkout.filter(|checkout| *checkout != top);
        let common = canonical(main.commondir());
        Ok(Self { top, linked, common })
    }

    /// Tells whether this is the same repository on the disk as another one, however both are spelled.
    pub fn is_same(&self, other: &Self) -> bool {
        let identity = |place: &Self| std::fs::metadata(&place.common).map(|found| (found.dev(), found.ino())).ok();
        identity(self).is_some_and(|ours| identity(other) == Some(ours))
    }

    /// Returns the tasks that branches and refs of this repository are named after.
    pub fn tasks(&self) -> BTreeSet<TaskId> {
        let Ok(repository) = open(&self.top) else { return BTreeSet::new() };
        let mut tasks = BTreeSet::new();
        for (glob, from) in [("refs/heads/mxd/*", "refs/heads/mxd/"), ("refs/mxd/*", "refs/mxd/")] {
            for name in repository.references_glob(glob).into_iter().flatten().flatten() {
                let name = String::from_utf8_lossy(name.name_bytes()).into_owned();
                let parts = name.strip_prefix(from).unwrap_or_default().split('/');
                tasks.extend(parts.take(2).filter_map(|part| part.parse::<TaskId>().ok()));
            }
        }
        tasks
    }

    /// Tells whether the repository has a branch of this name.
    pub fn has_branch(&self, name: &str) -> bool {
        open(&self.top).is_ok_and(|repository| repository.find_branch(name, git2::BranchType::Local).is_ok())
    }

    /// Returns the branch that the main checkout is on, if work can start from there.
    pub fn branch(&self) -> Result<String, PlaceError> {
        let failed =
            |error: git2::Error| PlaceError::Git { path: self.top.clone(), message: error.message().to_owned() };
        let repository = open(&self.top)?;
        if repository.head_detached().map_err(failed)? {
            return Err(PlaceError::Detached(self.top.clone()));
        }
        match repository.head() {
            Ok(head) => head
                .shorthand()
                .map(str::to_owned)
                .map_err(|_| PlaceError::BranchName(String::from_utf8_lossy(head.shorthand_bytes()).into_owned())),
            Err(error) if error.code() == ErrorCode::UnbornBranch => Err(PlaceError::NoCommit(self.top.clone())),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Refuses a repository whose settings name another folder for its files than the one that its `.git` is in.
pub(super) fn refuse_other_folder(repository: &Repository, top: &Path) -> Result<(), PlaceError> {
    let git_dir = canonical(repository.commondir());
    let checkout = Checkout { path: top.to_owned(), git_dir: git_dir.clone(), common: git_dir.clone() };
    let is_elsewhere = repository.workdir().map(canonical).is_none_or(|folder| folder != canonical(top));
    if is_elsewhere || checkout.handle().is_err() {
        let top = repository.workdir().map_or_else(|| top.to_owned(), canonical);
        return Err(PlaceError::OtherFolder { git_dir, top });
    }
    Ok(())
}

fn canonical(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn open(folder: &Path) -> Result<Repository, PlaceError> {
    // Environment variables such as GIT_DIR must not decide which project is meant.
    let flags = RepositoryOpenFlags::CROSS_FS;
    let none: [&Path; 0] = [];
    library::prepare();
    Repository::open_ext(folder, flags, none).map_err(|error| match error.code() {
        ErrorCode::NotFound => PlaceError::NotARepository(folder.to_owned()),
        ErrorCode::Owner => PlaceError::NotOurs(folder.to_owned()),
        _ => PlaceError::Git { path: folder.to_owned(), message: error.message().to_owned() },
    })
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;

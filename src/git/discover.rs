//! Finds the repository of a folder, its checkout and its branch.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Repository, RepositoryOpenFlags};

use super::library;
use super::program::Checkout;
use crate::base::{Fault, TaskId};

/// The repository that contains a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepoLocation {
    /// The top folder of the repository's main checkout.
    pub top: PathBuf,
    /// The linked checkout that the folder is in, if it is not the main one.
    pub linked: Option<PathBuf>,
    /// The git folder that all checkouts of the repository share.
    pub common: PathBuf,
}

/// Why a folder cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoverError {
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
    OtherOwner(PathBuf),
    #[error(
        "the repository {} has its files in {} (setting core.worktree), which mxd does not support",
        .git_dir.display(), .top.display()
    )]
    OtherFolder { git_dir: PathBuf, top: PathBuf },
    #[error("the branch name {0:?} is not valid UTF-8")]
    BranchName(String),
    #[error("git cannot read {}: {message}", .path.display())]
    Git { path: PathBuf, message: String },
}

impl From<DiscoverError> for Fault {
    fn from(error: DiscoverError) -> Self {
        let fault = Self::user(error.to_string());
        match error {
            DiscoverError::Missing(_) => fault.hint("check the path"),
            DiscoverError::NotARepository(path) => fault
                .hint(format!("create one with `git init {0}`", quote(&path)))
                .hint("or run mxd in a folder inside a repository"),
            DiscoverError::Bare(path) => {
                fault.hint(format!("use a clone with a checkout: `git clone {} FOLDER`", quote(&path)))
            }
            DiscoverError::NoCommit(top) => fault
                .hint(format!("create the first commit with `git -C {} commit --allow-empty -m start`", quote(&top))),
            DiscoverError::Detached(top) => {
                fault.hint(format!("check out a branch with `git -C {} switch <branch>`", quote(&top)))
            }
            DiscoverError::OtherOwner(top) => {
                fault.hint(format!("if you trust it: `git config --global --add safe.directory {}`", quote(&top)))
            }
            DiscoverError::OtherFolder { git_dir, .. } => {
                fault.hint("nothing was read or changed in that folder").hint(format!(
                    "if the setting is not yours: `git --git-dir {} config --unset core.worktree`",
                    quote(&git_dir)
                ))
            }
            DiscoverError::BranchName(_) => fault.hint("rename the branch with `git branch -m <name>`"),
            DiscoverError::Git { .. } => fault,
        }
    }
}

/// Quotes a path for a shell.
fn quote(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-'));
    if plain { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

impl RepoLocation {
    /// Finds the repository that contains `folder`.
    pub fn of(folder: &Path) -> Result<Self, DiscoverError> {
        let folder = std::fs::canonicalize(folder).map_err(|_| DiscoverError::Missing(folder.to_owned()))?;
        let repository = open(&folder)?;
        let checkout = repository.workdir().map(canonical);
        let main = if repository.is_worktree() {
            // The main checkout is the one whose folder holds the common git folder.
            open(repository.commondir())?
        } else {
            repository
        };
        let bare = || DiscoverError::Bare(main.path().to_owned());
        let top = main.workdir().map(canonical).filter(|_| !main.is_bare()).ok_or_else(bare)?;
        refuse_other_folder(&main, &top)?;
        let linked = checkout.filter(|checkout| *checkout != top);
        let common = canonical(main.commondir());
        Ok(Self { top, linked, common })
    }

    /// Returns true if both are the same repository on disk, whatever their paths.
    pub fn is_same(&self, other: &Self) -> bool {
        let identity =
            |location: &Self| std::fs::metadata(&location.common).map(|found| (found.dev(), found.ino())).ok();
        identity(self).is_some_and(|ours| identity(other) == Some(ours))
    }

    /// Returns the tasks named in the branches and refs of this repository.
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

    pub fn has_branch(&self, name: &str) -> bool {
        open(&self.top).is_ok_and(|repository| repository.find_branch(name, git2::BranchType::Local).is_ok())
    }

    /// Returns the branch of the checkout that contains `folder`. `None` if its `HEAD` is at no branch.
    pub fn head_of(folder: &Path) -> Result<Option<String>, DiscoverError> {
        let failed =
            |error: git2::Error| DiscoverError::Git { path: folder.to_owned(), message: error.message().to_owned() };
        let head = open(folder)?;
        let head = head.find_reference("HEAD").map_err(failed)?;
        Ok(head.symbolic_target().ok().flatten().and_then(|name| name.strip_prefix("refs/heads/")).map(str::to_owned))
    }

    /// Returns the branch of the main checkout, or an error if work cannot start from there.
    pub fn branch(&self) -> Result<String, DiscoverError> {
        let failed =
            |error: git2::Error| DiscoverError::Git { path: self.top.clone(), message: error.message().to_owned() };
        let repository = open(&self.top)?;
        if repository.head_detached().map_err(failed)? {
            return Err(DiscoverError::Detached(self.top.clone()));
        }
        match repository.head() {
            Ok(head) => head
                .shorthand()
                .map(str::to_owned)
                .map_err(|_| DiscoverError::BranchName(String::from_utf8_lossy(head.shorthand_bytes()).into_owned())),
            Err(error) if error.code() == ErrorCode::UnbornBranch => Err(DiscoverError::NoCommit(self.top.clone())),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Refuses a repository whose `core.worktree` names another folder than the one its `.git` is in.
pub(super) fn refuse_other_folder(repository: &Repository, top: &Path) -> Result<(), DiscoverError> {
    let git_dir = canonical(repository.commondir());
    let checkout = Checkout { path: top.to_owned(), git_dir: git_dir.clone(), common: git_dir.clone() };
    let is_elsewhere = repository.workdir().map(canonical).is_none_or(|folder| folder != canonical(top));
    if is_elsewhere || checkout.handle().is_err() {
        let top = repository.workdir().map_or_else(|| top.to_owned(), canonical);
        return Err(DiscoverError::OtherFolder { git_dir, top });
    }
    Ok(())
}

fn canonical(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn open(folder: &Path) -> Result<Repository, DiscoverError> {
    // Environment variables such as GIT_DIR must not select the project.
    let flags = RepositoryOpenFlags::CROSS_FS;
    let none: [&Path; 0] = [];
    library::prepare();
    Repository::open_ext(folder, flags, none).map_err(|error| match error.code() {
        ErrorCode::NotFound => DiscoverError::NotARepository(folder.to_owned()),
        ErrorCode::Owner => DiscoverError::OtherOwner(folder.to_owned()),
        _ => DiscoverError::Git { path: folder.to_owned(), message: error.message().to_owned() },
    })
}

#[cfg(test)]
#[path = "discover_tests.rs"]
mod tests;

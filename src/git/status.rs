//! Status of a checkout: uncommitted changes, operations in progress, distance to another branch.
//!
//! Read-only. Takes no lock that an agent's git could run into.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use git2::{DiffOptions, Oid, StatusOptions};

use super::diff;
use super::error::{Error, blocking};
use super::program::Checkout;
use super::refs;
use super::repo_file;

/// A git operation in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Merge,
    Rebase,
    CherryPick,
    Revert,
    Bisect,
    /// `git am`.
    Apply,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Merge => "merge",
            Self::Rebase => "rebase",
            Self::CherryPick => "cherry-pick",
            Self::Revert => "revert",
            Self::Bisect => "bisect",
            Self::Apply => "series of patches",
        })
    }
}

impl Operation {
    const ALL: [Self; 6] = [Self::Merge, Self::Rebase, Self::CherryPick, Self::Revert, Self::Bisect, Self::Apply];

    /// Returns the word in the file [`OPERATION`].
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Rebase => "rebase",
            Self::CherryPick => "cherry-pick",
            Self::Revert => "revert",
            Self::Bisect => "bisect",
            Self::Apply => "apply",
        }
    }
}

/// The file in a checkout's git folder that names an operation in progress in its shadow.
pub(super) const OPERATION: &str = "mxd-operation";

/// Returns the operation in progress in a checkout's shadow.
pub(super) fn published_operation(git_dir: &Path) -> Option<Operation> {
    let word = repo_file::read_plain(&git_dir.join(OPERATION), 64)?;
    Operation::ALL.into_iter().find(|operation| operation.word().as_bytes() == word.trim_ascii())
}

/// Returns the operation in progress in a checkout, or in its shadow.
pub(super) fn operation(git_dir: &Path) -> Option<Operation> {
    // A rebase that stopped at a merge or a pick has their files, too.
    let marks = [
        ("rebase-merge", Operation::Rebase),
        ("rebase-apply/applying", Operation::Apply),
        ("rebase-apply", Operation::Rebase),
        ("MERGE_HEAD", Operation::Merge),
        ("CHERRY_PICK_HEAD", Operation::CherryPick),
        ("REVERT_HEAD", Operation::Revert),
        ("BISECT_LOG", Operation::Bisect),
    ];
    let found = marks.into_iter().find(|(mark, _)| git_dir.join(mark).exists()).map(|(_, operation)| operation);
    found.or_else(|| published_operation(git_dir))
}

/// How a path differs from the last commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    Added,
    Modified,
    Deleted,
    TypeChanged,
    Conflicted,
    Untracked,
}

/// A changed path. An untracked folder stands for everything in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub path: PathBuf,
    pub kind: ChangeKind,
}

/// The uncommitted changes of a checkout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dirty {
    pub tracked: usize,
    pub untracked: usize,
    pub conflicted: usize,
    /// The first of them; the counts cover all.
    pub changes: Vec<Changed>,
    pub operation: Option<Operation>,
    /// The age of the index lock, if there is one: a git runs there, or was killed.
    pub index_lock: Option<Duration>,
}

impl Dirty {
    /// Returns true if everything is committed.
    pub fn is_clean(&self) -> bool {
        self.count() == 0
    }

    pub fn count(&self) -> usize {
        self.tracked + self.untracked + self.conflicted
    }

    /// Returns the error for an operation that needs a clean checkout, or `None` if it is clean.
    pub(super) fn refusal(&self, path: &Path) -> Option<Error> {
        if let Some(operation) = self.operation {
            return Some(Error::Unfinished { path: path.to_owned(), operation: operation.to_string() });
        }
        let example = self.changes.first()?.path.display().to_string();
        Some(Error::Dirty { path: path.to_owned(), files: self.count(), example })
    }
}

/// Returns the uncommitted changes of a checkout, with at most `cap` paths.
pub async fn dirty(checkout: &Checkout, cap: usize) -> Result<Dirty, Error> {
    list(checkout, "--untracked-files=normal", cap).await
}

/// Returns true if a checkout has uncommitted changes, without starting a process: for checking many of them. Does not
/// run filters, so a file that only they would report as unchanged counts as changed. Use [`dirty`] where that matters.
pub async fn is_dirty(checkout: &Checkout) -> Result<bool, Error> {
    let checkout = checkout.clone();
    blocking(move || {
        let repository = checkout.open()?;
        let mut options = StatusOptions::new();
        options.include_untracked(true).recurse_untracked_dirs(false).exclude_submodules(true).update_index(false);
        let found = repository.statuses(Some(&mut options)).map_err(Error::read(&checkout.path))?;
        Ok(!found.is_empty())
    })
    .await
}

/// Returns every path that differs from the last commit.
pub(super) async fn changed_paths(checkout: &Checkout) -> Result<Vec<PathBuf>, Error> {
    let dirty = list(checkout, "--untracked-files=all", usize::MAX).await?;
    Ok(dirty.changes.into_iter().map(|change| change.path).collect())
}

async fn list(checkout: &Checkout, untracked: &str, cap: usize) -> Result<Dirty, Error> {
    let arguments = ["status", "--porcelain=v2", "-z", untracked, "--no-renames", "--ignore-submodules=untracked"];
    let listed = checkout.git(arguments).long(None).run().await?;
    let mut dirty = parse(&listed, cap);
    dirty.operation = operation(&checkout.git_dir);
    dirty.index_lock = lock_age(&checkout.git_dir);
    Ok(dirty)
}

pub(super) fn lock_age(git_dir: &Path) -> Option<Duration> {
    let made = fs::metadata(git_dir.join("index.lock")).and_then(|found| found.modified()).ok()?;
    Some(made.elapsed().unwrap_or_default())
}

/// Parses `git status --porcelain=v2 -z`.
fn parse(listed: &[u8], cap: usize) -> Dirty {
    let mut dirty = Dirty::default();
    for record in listed.split(|byte| *byte == 0) {
        // A letter, the two states, then a fixed number of fields before the path.
        let (fields, kind) = match record.first() {
            Some(b'1') => (8, kind_of(record.get(2..4).unwrap_or_default())),
            Some(b'u') => (10, ChangeKind::Conflicted),
            Some(b'?') => (1, ChangeKind::Untracked),
            _ => continue,
        };
        let Some(path) = record.splitn(fields + 1, |byte| *byte == b' ').nth(fields) else { continue };
        match kind {
            ChangeKind::Conflicted => dirty.conflicted += 1,
            ChangeKind::Untracked => dirty.untracked += 1,
            ChangeKind::Added | ChangeKind::Modified | ChangeKind::Deleted | ChangeKind::TypeChanged => {
                dirty.tracked += 1;
            }
        }
        if dirty.changes.len() < cap {
            dirty.changes.push(Changed { path: PathBuf::from(OsStr::from_bytes(path)), kind });
        }
    }
    dirty
}

/// Combines the states of index and worktree, relative to the last commit.
fn kind_of(states: &[u8]) -> ChangeKind {
    match states {
        [_, b'D'] | [b'D', b'.'] => ChangeKind::Deleted,
        [b'A', _] => ChangeKind::Added,
        [_, b'T'] | [b'T', _] => ChangeKind::TypeChanged,
        _ => ChangeKind::Modified,
    }
}

/// The size of a diff.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiffStat {
    pub files: usize,
    pub added: usize,
    pub removed: usize,
}

/// Returns the size of the diff between a checkout, including uncommitted changes, and its fork point from the branch
/// `base`. A branch that was merged keeps the size it had.
pub async fn diffstat(checkout: &Checkout, base: &str) -> Result<DiffStat, Error> {
    let (checkout, base) = (checkout.clone(), base.to_owned());
    blocking(move || {
        let repository = checkout.open()?;
        let failed = Error::read(&checkout.path);
        let from = Oid::from_str(&diff::read_fork_point(&checkout, None, &base)?).map_err(&failed)?;
        let tree = repository.find_commit(from).and_then(|commit| commit.tree()).map_err(&failed)?;
        let mut options = DiffOptions::new();
        options
            .include_untracked(true)
            .recurse_untracked_dirs(true)
            .show_untracked_content(true)
            .ignore_submodules(true);
        let mut diff = repository.diff_tree_to_workdir_with_index(Some(&tree), Some(&mut options)).map_err(&failed)?;
        diff::find_renames(&mut diff).map_err(&failed)?;
        let stats = diff.stats().map_err(&failed)?;
        Ok(DiffStat { files: stats.files_changed(), added: stats.insertions(), removed: stats.deletions() })
    })
    .await
}

/// The distance between two branches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drift {
    /// Commits that only the branch has.
    pub ahead: usize,
    /// Commits that only the base has.
    pub behind: usize,
}

/// Returns the distance of `branch` from `base`.
pub async fn drift(checkout: &Checkout, branch: &str, base: &str) -> Result<Drift, Error> {
    let (checkout, branch, base) = (checkout.clone(), branch.to_owned(), base.to_owned());
    blocking(move || {
        let repository = checkout.open()?;
        let tip = |name: &str| -> Result<Oid, Error> {
            refs::branch_tip(&repository, name)?.ok_or_else(|| Error::NoBranch(name.to_owned()))
        };
        let (ahead, behind) =
            repository.graph_ahead_behind(tip(&branch)?, tip(&base)?).map_err(Error::read(&checkout.path))?;
        Ok(Drift { ahead, behind })
    })
    .await
}

//! Snapshots: the state of a worktree's files after a turn, saved under `refs/mxd/snapshots/<task-id>/<turn-id>`, and
//! restored from there.
//!
//! A snapshot is a commit: its tree is what `tree_capture` sees, its parent the commit that the worktree was on. Taking
//! or restoring one does not touch the user's index, HEAD, stash or reflogs. Callers decide how many to keep
//! (`prune_snapshots`). The message lists the files that the snapshot leaves out.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository, Signature};

use super::crash_points::crash_point;
use super::dir::is_folder;
use super::entry::{self, Head};
use super::error::{Error, blocking};
use super::filters;
use super::program::{Checkout, MXD_IDENTITY};
use super::refs;
use super::snapshot_cache::CaptureOutcome;
use super::status;
use super::tree_capture::{CapturedTree, LeftOut, add_files, capture, capture_read_only, stat_below};
use super::worktree::Worktrees;
use super::worktree_files::{self, Change};
use crate::base::{TaskId, TurnId};

/// The ref prefix of snapshots.
pub const SNAPSHOTS: &str = "refs/mxd/snapshots/";
/// The default size limit for files in a snapshot.
pub const FILE_CAP: u64 = 20 << 20;
const LEFT_OUT: &[u8] = b"Left-Out: ";

/// A saved snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub turn: TurnId,
    pub commit: String,
    pub tree: String,
    /// The commit that the worktree was on.
    pub head: Option<String>,
    /// Files that it does not contain and that a restore leaves alone.
    pub left_out: Vec<PathBuf>,
}

/// Result of taking a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotOutcome {
    New {
        snapshot: Snapshot,
        left_out: Vec<LeftOut>,
    },
    /// Nothing has changed since this one; no new one was made.
    Same(Snapshot),
}

impl SnapshotOutcome {
    pub fn snapshot(&self) -> &Snapshot {
        match self {
            Self::New { snapshot, .. } | Self::Same(snapshot) => snapshot,
        }
    }
}

/// Result of restoring a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotRestore {
    /// The state before the restore, for undo.
    pub before: Snapshot,
    pub written: Vec<PathBuf>,
    pub removed: Vec<PathBuf>,
    /// Files that were left alone because the snapshot does not contain them or they are ignored.
    pub left_alone: Vec<PathBuf>,
}

impl Worktrees {
    /// Saves the state of a worktree's files. Leaves out files larger than `cap`.
    pub async fn take_snapshot(
        &self,
        task: TaskId,
        turn: TurnId,
        path: &Path,
        cap: u64,
    ) -> Result<SnapshotOutcome, Error> {
        let _lock = self.lock_worktree(path).await;
        crash_point("files are about to be captured");
        let (checkout, captured, detector) = match self.capture_if_changed(task, path, cap).await? {
            CaptureOutcome::Same(snapshot) => return Ok(SnapshotOutcome::Same(snapshot)),
            CaptureOutcome::Captured(checkout, captured, detector) => (checkout, captured, detector),
        };
        crash_point("files are captured");
        let outcome = save(&checkout, task, turn, captured.clone()).await?;
        self.remember(task, cap, checkout, (captured, detector), outcome.snapshot().clone());
        Ok(outcome)
    }

    /// Returns the snapshots of a task, oldest first.
    pub async fn snapshots(&self, task: TaskId) -> Result<Vec<Snapshot>, Error> {
        let main = self.main().clone();
        blocking(move || all(&main.open()?, task)).await
    }

    /// Returns the state of a worktree's files as a tree without a ref. It stays readable until git's garbage
    /// collection.
    pub async fn state(&self, path: &Path) -> Result<String, Error> {
        let _lock = self.lock_worktree(path).await;
        let checkout = self.checkout(path).await?;
        Ok(capture(&checkout, Some(FILE_CAP)).await?.tree.to_string())
    }

    /// Like [`Worktrees::state`], but safe while another process takes snapshots there.
    pub async fn state_read_only(&self, path: &Path) -> Result<String, Error> {
        let checkout = self.checkout(path).await?;
        Ok(capture_read_only(&checkout, Some(FILE_CAP)).await?.tree.to_string())
    }

    /// Returns the commit that a checkout is on.
    pub async fn head(&self, checkout: &Checkout) -> Result<String, Error> {
        let checkout = checkout.clone();
        blocking(move || {
            let repository = checkout.open()?;
            let head = repository.head().and_then(|head| head.peel_to_commit()).map_err(Error::read(&checkout.path))?;
            Ok(head.id().to_string())
        })
        .await
    }

    /// Moves the branch of a worktree to another commit. Updates the index but not the files. Does nothing if the
    /// branch is there already, or if another one is checked out. Returns the previous commit if it was moved.
    pub async fn move_branch(&self, path: &Path, branch: &str, to: &str) -> Result<Option<String>, Error> {
        let _lock = self.lock_worktree(path).await;
        let checkout = self.checkout(path).await?;
        if entry::head(&checkout.git_dir) != Head::Branch(branch.to_owned()) {
            return Ok(None);
        }
        if let Some(operation) = status::operation(&checkout.git_dir) {
            return Err(Error::Unfinished { path: checkout.path, operation: operation.to_string() });
        }
        let (here, name) = (checkout.clone(), branch.to_owned());
        let tip = blocking(move || refs::branch_tip(&here.open()?, &name)).await?.map(|tip| tip.to_string());
        if tip.as_deref() == Some(to) {
            return Ok(None);
        }
        crash_point("a branch is about to go back");
        checkout.git(["reset", "-q", "--mixed"]).argument(to).long(None).run_with_retries().await?;
        crash_point("a branch went back");
        Ok(tip)
    }

    /// Returns the commits of a checkout that `head` does not have, newest first: ids and subjects.
    pub async fn commits_since(
        &self,
        checkout: &Checkout,
        head: Option<&str>,
        max: usize,
    ) -> Result<Vec<(String, String)>, Error> {
        let (checkout, head) = (checkout.clone(), head.map(parse).transpose()?);
        blocking(move || {
            let repository = checkout.open()?;
            let failed = Error::read(&checkout.path);
            let mut walk = repository.revwalk().map_err(&failed)?;
            walk.push_head().map_err(&failed)?;
            if let Some(head) = head {
                walk.hide(head).map_err(&failed)?;
            }
            let mut commits = Vec::new();
            for id in walk.take(max) {
                let commit = id.and_then(|id| repository.find_commit(id)).map_err(&failed)?;
                let subject = commit.message_raw_bytes().split(|byte| *byte == b'\n').next().unwrap_or_default();
                commits.push((commit.id().to_string(), String::from_utf8_lossy(subject).into_owned()));
            }
            Ok(commits)
        })
        .await
    }

    /// Returns the number of snapshots of each task.
    pub async fn snapshots_by_task(&self) -> Result<BTreeMap<TaskId, usize>, Error> {
        let main = self.main().clone();
        blocking(move || {
            let repository = main.open()?;
            let failed = Error::read(&main.path);
            let mut counts = BTreeMap::new();
            for found in repository.references_glob(&format!("{SNAPSHOTS}*")).map_err(&failed)? {
                let found = found.map_err(&failed)?;
                let name = String::from_utf8_lossy(found.name_bytes()).into_owned();
                let task = name.strip_prefix(SNAPSHOTS).and_then(|rest| rest.split('/').next()?.parse().ok());
                if let Some(task) = task {
                    *counts.entry(task).or_insert(0) += 1;
                }
            }
            Ok(counts)
        })
        .await
    }

    /// Deletes the oldest snapshots of a task beyond the last `keep`. Returns how many.
    pub async fn prune_snapshots(&self, task: TaskId, keep: usize) -> Result<usize, Error> {
        let all = self.snapshots(task).await?;
        let old = &all[..all.len().saturating_sub(keep)];
        if old.is_empty() {
            return Ok(0);
        }
        let line = |old: &Snapshot| format!("delete {} {}\n", name(task, old.turn), old.commit);
        let input = old.iter().map(line).collect::<String>().into_bytes();
        self.main().git(["update-ref", "--stdin"]).input(input).durable().run_with_retries().await?;
        Ok(old.len())
    }

    /// Restores the files of a worktree from a snapshot, byte for byte: writes changed files, removes those that it
    /// does not contain, and leaves ignored ones alone. Saves the state before as the snapshot of `turn`. After a
    /// crash, calling it again finishes it.
    pub async fn restore_snapshot(
        &self,
        task: TaskId,
        turn: TurnId,
        path: &Path,
        snapshot: &Snapshot,
    ) -> Result<SnapshotRestore, Error> {
        let _lock = self.lock_worktree(path).await;
        let checkout = self.checkout(path).await?;
        // The next snapshot must examine every file.
        self.snapshot_cache().take(path);
        // Save everything that may be overwritten: no size limit, and files that are ignored only now.
        let mut now = capture(&checkout, None).await?;
        let hidden = hidden(&checkout, now.tree, snapshot).await?;
        if !hidden.is_empty() {
            now.tree = add_files(&checkout, &hidden).await?;
        }
        let left_out: Vec<PathBuf> = now.left_out.iter().map(|left| left.path().to_owned()).collect();
        let tree = now.tree;
        let before = save(&checkout, task, turn, now).await?.snapshot().clone();

        let (here, wanted) = (checkout.clone(), snapshot.clone());
        let (mut changes, mut left_alone) = blocking(move || {
            let repository = here.open()?;
            let (from, to) = (find_tree(&repository, tree)?, find_tree(&repository, parse(&wanted.tree)?)?);
            let changes = worktree_files::changes(&repository, &from, &to)?;
            let is_left_out = |change: &Change| {
                let held = |left: &PathBuf| change.path.starts_with(left);
                wanted.left_out.iter().any(held) || left_out.iter().any(held)
            };
            let (left_alone, changes): (Vec<_>, Vec<_>) = changes.into_iter().partition(is_left_out);
            // The ignore rules of the snapshot apply, so write them first.
            let (rules, others): (Vec<_>, Vec<_>) = changes.into_iter().partition(is_ignore_file);
            worktree_files::apply(&repository, &here.anchor()?, &rules)?;
            let all: Vec<Change> = rules.into_iter().chain(others).collect();
            Ok((all, left_alone.into_iter().map(|change| change.path).collect::<Vec<_>>()))
        })
        .await?;
        let ignored = ignored(&checkout, &changes).await?;
        changes.retain(|change| change.wanted.is_some() || !ignored.contains(&change.path));
        left_alone.extend(ignored);
        filters::apply(&checkout, &changes, snapshot.head.as_deref()).await?;

        let (written, removed): (Vec<_>, Vec<_>) = changes.into_iter().partition(|change| change.wanted.is_some());
        let paths = |changes: Vec<Change>| changes.into_iter().map(|change| change.path).collect();
        Ok(SnapshotRestore { before, written: paths(written), removed: paths(removed), left_alone })
    }
}

fn is_ignore_file(change: &Change) -> bool {
    change.path.file_name().is_some_and(|name| name == ".gitignore") && change.wanted.is_some()
}

fn name(task: TaskId, turn: TurnId) -> String {
    format!("{SNAPSHOTS}{task}/{turn}")
}

fn parse(id: &str) -> Result<Oid, Error> {
    Oid::from_str(id).map_err(|_| Error::NoCommit(id.to_owned()))
}

fn find_tree(repository: &Repository, id: Oid) -> Result<git2::Tree<'_>, Error> {
    repository.find_tree(id).map_err(Error::read(repository.path()))
}

/// Saves a captured state, unless the last snapshot is the same.
async fn save(
    checkout: &Checkout,
    task: TaskId,
    turn: TurnId,
    captured: CapturedTree,
) -> Result<SnapshotOutcome, Error> {
    let checkout = checkout.clone();
    blocking(move || {
        let repository = checkout.open()?;
        let failed = Error::read(&checkout.path);
        let head = match entry::head(&checkout.git_dir) {
            Head::Branch(branch) => refs::branch_tip(&repository, &branch)?,
            Head::Detached(id) => Oid::from_str(&id).ok(),
            Head::Unreadable => None,
        };
        let text = message(task, turn, &captured.left_out);
        let left_out = left_out_of(&text);
        let (tree, head_text) = (captured.tree.to_string(), head.map(|head| head.to_string()));
        if let Some(last) = all(&repository, task)?.pop()
            && (&last.tree, &last.head, &last.left_out) == (&tree, &head_text, &left_out)
        {
            return Ok(SnapshotOutcome::Same(last));
        }
        let author = Signature::now(MXD_IDENTITY.0, MXD_IDENTITY.1).map_err(&failed)?;
        let parent = head.map(|head| repository.find_commit(head)).transpose().map_err(&failed)?;
        let parents: Vec<_> = parent.iter().collect();
        let files = find_tree(&repository, captured.tree)?;
        let buffer = repository.commit_create_buffer(&author, &author, "", &files, &parents).map_err(&failed)?;
        // The message may contain names that are not UTF-8, which libgit2's commit function does not accept.
        let whole = [&*buffer, &text].concat();
        let commit = repository.odb().and_then(|odb| odb.write(git2::ObjectType::Commit, &whole)).map_err(&failed)?;
        crash_point("a snapshot is written");
        let name = name(task, turn);
        refs::swap(&repository, &name, refs::target(&repository, &name)?, commit, "mxd: snapshot")?;
        let snapshot = Snapshot { turn, commit: commit.to_string(), tree, head: head_text, left_out };
        Ok(SnapshotOutcome::New { snapshot, left_out: captured.left_out })
    })
    .await
}

fn message(task: TaskId, turn: TurnId, left_out: &[LeftOut]) -> Vec<u8> {
    let mut text = format!("mxd: snapshot of task {task}\n\nTurn: {turn}\n").into_bytes();
    for left in left_out {
        text.extend_from_slice(LEFT_OUT);
        text.extend(left.path().as_os_str().as_bytes().escape_ascii());
        text.push(b'\n');
    }
    text
}

fn left_out_of(message: &[u8]) -> Vec<PathBuf> {
    let lines = message.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(LEFT_OUT));
    lines.map(|escaped| PathBuf::from(OsStr::from_bytes(&unescape(escaped)))).collect()
}

/// Reverses `escape_ascii`.
pub(super) fn unescape(escaped: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    while let [first, tail @ ..] = rest {
        let (byte, used) = match (first, tail) {
            (b'\\', [b'x', high, low, ..]) => {
                let digit =
                    |hex: u8| char::from(hex).to_digit(16).and_then(|digit| u8::try_from(digit).ok()).unwrap_or(0);
                (digit(*high) << 4 | digit(*low), 4)
            }
            (b'\\', [b't', ..]) => (b'\t', 2),
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [b'r', ..]) => (b'\r', 2),
            (b'\\', [other, ..]) => (*other, 2),
            (other, _) => (*other, 1),
        };
        plain.push(byte);
        rest = &rest[used..];
    }
    plain
}

fn all(repository: &Repository, task: TaskId) -> Result<Vec<Snapshot>, Error> {
    let failed = Error::read(repository.path());
    let mut snapshots = Vec::new();
    for found in repository.references_glob(&format!("{SNAPSHOTS}{task}/*")).map_err(&failed)? {
        let found = found.map_err(&failed)?;
        let name = String::from_utf8_lossy(found.name_bytes()).into_owned();
        let Some(turn) = name.rsplit('/').next().and_then(|turn| turn.parse().ok()) else { continue };
        let commit = found.peel_to_commit().map_err(&failed)?;
        snapshots.push(Snapshot {
            turn,
            commit: commit.id().to_string(),
            tree: commit.tree_id().to_string(),
            head: commit.parent_id(0).ok().map(|head| head.to_string()),
            left_out: left_out_of(commit.message_raw_bytes()),
        });
    }
    snapshots.sort_by_key(|snapshot| snapshot.turn);
    Ok(snapshots)
}

/// Returns files of a snapshot that exist in the worktree but were not captured, because they are ignored now.
async fn hidden(checkout: &Checkout, now: Oid, snapshot: &Snapshot) -> Result<Vec<PathBuf>, Error> {
    let (checkout, wanted) = (checkout.clone(), snapshot.clone());
    blocking(move || {
        let repository = checkout.open()?;
        let (from, to) = (find_tree(&repository, now)?, find_tree(&repository, parse(&wanted.tree)?)?);
        let changes = worktree_files::changes(&repository, &from, &to)?;
        let written = changes.into_iter().filter(|change| change.wanted.is_some()).map(|change| change.path);
        let top = checkout.anchor()?;
        let is_there =
            |path: &PathBuf| stat_below(&top, path).is_ok_and(|found| found.is_some_and(|found| !is_folder(&found)));
        Ok(written.filter(|path| from.get_path(path).is_err()).filter(is_there).collect())
    })
    .await
}

/// Returns which of the files to be removed are ignored by git.
async fn ignored(checkout: &Checkout, changes: &[Change]) -> Result<BTreeSet<PathBuf>, Error> {
    let removed = changes.iter().filter(|change| change.wanted.is_none());
    let input: Vec<u8> =
        removed.flat_map(|change| [change.path.as_os_str().as_bytes(), b"\0"]).flatten().copied().collect();
    if input.is_empty() {
        return Ok(BTreeSet::new());
    }
    let output = checkout.git(["check-ignore", "-z", "--stdin"]).input(input).output().await?;
    Ok(output
        .out
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| OsStr::from_bytes(path).into())
        .collect())
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;

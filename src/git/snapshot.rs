//! The state of a worktree's files after a turn, kept under `refs/mxd/snapshots/<task-id>/<turn-id>`, and put back.
//!
//! A snapshot is a commit: its tree is what `capture` sees, its parent the commit that the worktree
//! stood on. Nothing of the person's (index, HEAD, stash, reflogs) is touched, neither by taking one nor by putting it back.
//! How many are kept is the caller's decision (`prune`); what one does not hold is written in it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository, Signature};

use super::capture::{Captured, LeftOut, capture, capture_aside, include_also, look};
use super::dir::is_folder;
use super::entry::{self, Head};
use super::error::{Error, blocking};
use super::last_kept::Looked;
use super::program::{Checkout, OURSELVES};
use super::refs;
use super::smudge;
use super::status;
use super::step::step;
use super::worktree::Worktrees;
use super::worktree_files::{self, Change};
use crate::base::{TaskId, TurnId};

/// Where snapshots are kept.
pub const SNAPSHOTS: &str = "refs/mxd/snapshots/";
/// How large a file may be to be in a snapshot, unless the caller says otherwise.
pub const FILE_CAP: u64 = 20 << 20;
const LEFT_OUT: &[u8] = b"Left-Out: ";

/// A snapshot that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub turn: TurnId,
    pub commit: String,
    pub tree: String,
    /// The commit that the worktree stood on.
    pub head: Option<String>,
    /// Files that it does not hold, and that putting it back leaves alone.
    pub left_out: Vec<PathBuf>,
}

/// What taking a snapshot came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    New {
        snapshot: Snapshot,
        left_out: Vec<LeftOut>,
    },
    /// Nothing has changed since this one; no new one was made.
    Same(Snapshot),
}

impl Taken {
    pub fn snapshot(&self) -> &Snapshot {
        match self {
            Self::New { snapshot, .. } | Self::Same(snapshot) => snapshot,
        }
    }
}

/// What putting a snapshot back came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutBack {
    /// The state before, so that this can be undone.
    pub before: Snapshot,
    pub written: Vec<PathBuf>,
    pub removed: Vec<PathBuf>,
    /// What would have been changed and was left alone: the snapshot does not hold it, or it is ignored.
    pub left_alone: Vec<PathBuf>,
}

impl Worktrees {
    /// Keeps the state of a worktree's files. Files larger than `cap` are left out.
    pub async fn take_snapshot(&self, task: TaskId, turn: TurnId, path: &Path, cap: u64) -> Result<Taken, Error> {
        let _place = self.place(path).await;
        step("files are about to be captured");
        let (checkout, captured, evidence) = match self.look_again(task, path, cap).await? {
            Looked::Same(snapshot) => return Ok(Taken::Same(snapshot)),
            Looked::Captured(checkout, captured, evidence) => (checkout, captured, evidence),
        };
        step("files are captured");
        let taken = keep(&checkout, task, turn, captured.clone()).await?;
        self.remember(task, cap, checkout, (captured, evidence), taken.snapshot().clone());
        Ok(taken)
    }

    /// Returns the snapshots of a task, oldest first.
    pub async fn snapshots(&self, task: TaskId) -> Result<Vec<Snapshot>, Error> {
        let main = self.main().clone();
        blocking(move || all(&main.open()?, task)).await
    }

    /// Returns the state of a worktree's files as a tree, without keeping it: it stays readable for as long as git leaves
    /// objects alone that nothing points at.
    pub async fn state(&self, path: &Path) -> Result<String, Error> {
        let _place = self.place(path).await;
        let checkout = self.checkout(path).await?;
        Ok(capture(&checkout, Some(FILE_CAP)).await?.tree.to_string())
    }

    /// As [`Worktrees::state`], also while another process takes snapshots there.
    pub async fn state_aside(&self, path: &Path) -> Result<String, Error> {
        let checkout = self.checkout(path).await?;
        Ok(capture_aside(&checkout, Some(FILE_CAP)).await?.tree.to_string())
    }

    /// Returns the commit that a checkout stands on.
    pub async fn head(&self, checkout: &Checkout) -> Result<String, Error> {
        let checkout = checkout.clone();
        blocking(move || {
            let repository = checkout.open()?;
            let head = repository.head().and_then(|head| head.peel_to_commit()).map_err(Error::read(&checkout.path))?;
            Ok(head.id().to_string())
        })
        .await
    }

    /// Moves the branch that a worktree stands on to another commit. The index follows, the files stay. Nothing happens if
    /// it is there already, or if the worktree stands elsewhere. Returns where the branch was, if it was moved.
    pub async fn move_branch(&self, path: &Path, branch: &str, to: &str) -> Result<Option<String>, Error> {
        let _place = self.place(path).await;
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
        step("a branch is about to go back");
        checkout.git(["reset", "-q", "--mixed"]).argument(to).long(None).run_patiently().await?;
        step("a branch went back");
        Ok(tip)
    }

    /// Returns the commits that a checkout has and `head` has not, newest first: their ids and first lines.
    pub async fn commits_since(
        &self,
        checkout: &Checkout,
        head: Option<&str>,
        most: usize,
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
            for id in walk.take(most) {
                let commit = id.and_then(|id| repository.find_commit(id)).map_err(&failed)?;
                let subject = commit.message_raw_bytes().split(|byte| *byte == b'\n').next().unwrap_or_default();
                commits.push((commit.id().to_string(), String::from_utf8_lossy(subject).into_owned()));
            }
            Ok(commits)
        })
        .await
    }

    /// Returns which tasks have snapshots, and how many.
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

    /// Forgets the oldest snapshots of a task beyond the last `keep`. Returns how many.
    pub async fn prune_snapshots(&self, task: TaskId, keep: usize) -> Result<usize, Error> {
        let kept = self.snapshots(task).await?;
        let old = &kept[..kept.len().saturating_sub(keep)];
        if old.is_empty() {
            return Ok(0);
        }
        let line = |old: &Snapshot| format!("delete {} {}\n", name(task, old.turn), old.commit);
        let input = old.iter().map(line).collect::<String>().into_bytes();
        self.main().git(["update-ref", "--stdin"]).input(input).durable().run_patiently().await?;
        Ok(old.len())
    }

    /// Makes the files of a worktree what they were in a snapshot, byte for byte: changed ones are written, ones that it
    /// does not have are removed, ignored ones are left alone. The state before is kept first, as the snapshot of `turn`.
    /// Called again after a crash, it finishes.
    pub async fn put_back(
        &self,
        task: TaskId,
        turn: TurnId,
        path: &Path,
        snapshot: &Snapshot,
    ) -> Result<PutBack, Error> {
        let _place = self.place(path).await;
        let checkout = self.checkout(path).await?;
        // The next snapshot looks at every file.
        self.last_kept().take(path);
        // Nothing may be written over that is not kept: no cap, and what is only ignored now comes in too.
        let mut now = capture(&checkout, None).await?;
        let hidden = hidden(&checkout, now.tree, snapshot).await?;
        if !hidden.is_empty() {
            now.tree = include_also(&checkout, &hidden).await?;
        }
        let left_out: Vec<PathBuf> = now.left_out.iter().map(|left| left.path().to_owned()).collect();
        let tree = now.tree;
        let before = keep(&checkout, task, turn, now).await?.snapshot().clone();

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
            // What is ignored is decided by the rules of that time.
            let (rules, others): (Vec<_>, Vec<_>) = changes.into_iter().partition(is_rule);
            worktree_files::apply(&repository, &here.anchor()?, &rules)?;
            let all: Vec<Change> = rules.into_iter().chain(others).collect();
            Ok((all, left_alone.into_iter().map(|change| change.path).collect::<Vec<_>>()))
        })
        .await?;
        let ignored = ignored(&checkout, &changes).await?;
        changes.retain(|change| change.wanted.is_some() || !ignored.contains(&change.path));
        left_alone.extend(ignored);
        smudge::apply(&checkout, &changes, snapshot.head.as_deref()).await?;

        let (written, removed): (Vec<_>, Vec<_>) = changes.into_iter().partition(|change| change.wanted.is_some());
        let paths = |changes: Vec<Change>| changes.into_iter().map(|change| change.path).collect();
        Ok(PutBack { before, written: paths(written), removed: paths(removed), left_alone })
    }
}

fn is_rule(change: &Change) -> bool {
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

/// Keeps a captured state, unless the last snapshot is the same.
async fn keep(checkout: &Checkout, task: TaskId, turn: TurnId, captured: Captured) -> Result<Taken, Error> {
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
            return Ok(Taken::Same(last));
        }
        let author = Signature::now(OURSELVES.0, OURSELVES.1).map_err(&failed)?;
        let parent = head.map(|head| repository.find_commit(head)).transpose().map_err(&failed)?;
        let parents: Vec<_> = parent.iter().collect();
        let files = find_tree(&repository, captured.tree)?;
        let buffer = repository.commit_create_buffer(&author, &author, "", &files, &parents).map_err(&failed)?;
        // The message may hold names that are not text, which the ordinary way of making a commit does not take.
        let whole = [&*buffer, &text].concat();
        let commit = repository.odb().and_then(|odb| odb.write(git2::ObjectType::Commit, &whole)).map_err(&failed)?;
        step("a snapshot is written");
        let name = name(task, turn);
        refs::swap(&repository, &name, refs::target(&repository, &name)?, commit, "mxd: snapshot")?;
        let snapshot = Snapshot { turn, commit: commit.to_string(), tree, head: head_text, left_out };
        Ok(Taken::New { snapshot, left_out: captured.left_out })
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

/// Takes back what `escape_ascii` does.
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

/// Returns the files that a snapshot has, that lie in the worktree, and that a capture does not see: they are ignored now.
async fn hidden(checkout: &Checkout, now: Oid, snapshot: &Snapshot) -> Result<Vec<PathBuf>, Error> {
    let (checkout, wanted) = (checkout.clone(), snapshot.clone());
    blocking(move || {
        let repository = checkout.open()?;
        let (from, to) = (find_tree(&repository, now)?, find_tree(&repository, parse(&wanted.tree)?)?);
        let changes = worktree_files::changes(&repository, &from, &to)?;
        let written = changes.into_iter().filter(|change| change.wanted.is_some()).map(|change| change.path);
        let top = checkout.anchor()?;
        let is_there =
            |path: &PathBuf| look(&top, path).is_ok_and(|found| found.is_some_and(|found| !is_folder(&found)));
        Ok(written.filter(|path| from.get_path(path).is_err()).filter(is_there).collect())
    })
    .await
}

/// Returns which of the files that would be removed git ignores.
async fn ignored(checkout: &Checkout, changes: &[Change]) -> Result<BTreeSet<PathBuf>, Error> {
    let removed = changes.iter().filter(|change| change.wanted.is_none());
    let input: Vec<u8> =
        removed.flat_map(|change| [change.path.as_os_str().as_bytes(), b"\0"]).flatten().copied().collect();
    if input.is_empty() {
        return Ok(BTreeSet::new());
    }
    let answer = checkout.git(["check-ignore", "-z", "--stdin"]).input(input).answer().await?;
    Ok(answer
        .out
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| OsStr::from_bytes(path).into())
        .collect())
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;

//! Recovers from a crash in the middle of a merge: finishes it if the target moved, undoes it if not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use git2::{Oid, Repository};

use super::execute::{MergeNote, PENDING, UNDO, delete_refs, read_note};
use crate::base::TaskId;
use crate::git::error::{Error, blocking};
use crate::git::locks;
use crate::git::program::Checkout;
use crate::git::refs;
use crate::git::repo_file;
use crate::git::status;
use crate::git::worktree::Worktrees;
use crate::git::worktree_files::{self, Change};

/// Result of recovering an interrupted merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecoveredMerge {
    /// The target had not moved: all traces were removed.
    Undone { task: TaskId },
    /// The target had moved; its checkout is up to date now.
    Finished { task: TaskId, checkout: Option<PathBuf> },
    /// The target had moved, and its checkout has foreign changes. The user has to resolve it.
    Blocked { task: TaskId, checkout: PathBuf, files: Vec<PathBuf> },
}

impl Worktrees {
    /// Finishes or undoes interrupted merges. Call it at the start, before anything runs.
    pub async fn recover_merges(&self) -> Result<Vec<RecoveredMerge>, Error> {
        let _lock = self.lock_merges().await;
        let main = self.main().clone();
        let pending = blocking(move || pending(&main.open()?)).await?;
        let mut recovered = Vec::new();
        for (task, note) in pending {
            match self.recover(task, &note).await {
                Ok(done) => recovered.push(done),
                // The checkout is in use. Leave this one to the next start and go on with the others.
                Err(error) if error.is_contention() => {
                    tracing::warn!(%task, %error, "an interrupted merge is finished at the next start");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(recovered)
    }

    async fn recover(&self, task: TaskId, note: &MergeNote) -> Result<RecoveredMerge, Error> {
        let (main, record) = (self.main().clone(), note.clone());
        let moved = blocking(move || {
            let repository = main.open()?;
            let Some(tip) = refs::branch_tip(&repository, &record.target)? else { return Ok(None) };
            if tip == record.from {
                discard(&repository, task, record.commit)?;
                return Ok(None);
            }
            Ok(Some(tip))
        })
        .await?;
        let Some(tip) = moved else {
            self.clear_pending(task).await?;
            return Ok(RecoveredMerge::Undone { task });
        };
        // If the target moved further, that update included its checkout.
        let checkout = if tip == note.to { self.checkout_of(&note.target).await? } else { None };
        if let Some(checkout) = &checkout {
            let files = catch_up(checkout, note.from, note.to).await?;
            if !files.is_empty() {
                return Ok(RecoveredMerge::Blocked { task, checkout: checkout.path.clone(), files });
            }
        }
        let (main, record) = (self.main().clone(), note.clone());
        blocking(move || delete_reversed_undo(&main.open()?, task, &record)).await?;
        self.clear_pending(task).await?;
        Ok(RecoveredMerge::Finished { task, checkout: checkout.map(|checkout| checkout.path) })
    }
}

/// A merge that can be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoableMerge {
    pub task: TaskId,
    /// The ref that undoes it.
    pub undo: String,
    pub target: String,
    pub from: String,
    pub to: String,
}

impl Worktrees {
    /// Returns the last undoable merge of every task.
    pub async fn undoable_merges(&self) -> Result<Vec<UndoableMerge>, Error> {
        let main = self.main().clone();
        blocking(move || undoable(&main.open()?)).await
    }
}

/// How long undo records are kept for merges that are not the last of their task.
const UNDO_MAX_AGE: Duration = Duration::from_hours(30 * 24);

impl Worktrees {
    /// Returns the undo refs of old merges: not the last of its task, and older than 30 days.
    pub async fn old_undo_refs(&self) -> Result<Vec<String>, Error> {
        let main = self.main().clone();
        blocking(move || old_undo_refs(&main.open()?, SystemTime::now())).await
    }

    /// Deletes the refs that [`Worktrees::old_undo_refs`] returned.
    pub async fn delete_undo_refs(&self, names: &[String]) -> Result<(), Error> {
        let (main, names) = (self.main().clone(), names.to_vec());
        blocking(move || {
            let repository = main.open()?;
            names.iter().filter(|name| name.starts_with(UNDO)).try_for_each(|name| refs::delete(&repository, name))
        })
        .await
    }
}

fn old_undo_refs(repository: &Repository, now: SystemTime) -> Result<Vec<String>, Error> {
    let latest: BTreeSet<String> = undoable(repository)?.into_iter().map(|last| last.undo).collect();
    let mut old = Vec::new();
    for found in repository.references_glob(&format!("{UNDO}*")).map_err(Error::read(repository.path()))?.flatten() {
        let name = String::from_utf8_lossy(found.name_bytes()).into_owned();
        let Ok(note) = found.peel_to_commit() else { continue };
        let made = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(note.time().seconds()).unwrap_or(0));
        if !latest.contains(&name) && now.duration_since(made).is_ok_and(|age| age > UNDO_MAX_AGE) {
            old.push(name);
        }
    }
    Ok(old)
}

fn undoable(repository: &Repository) -> Result<Vec<UndoableMerge>, Error> {
    let mut last: BTreeMap<TaskId, (u64, UndoableMerge)> = BTreeMap::new();
    for found in repository.references_glob(&format!("{UNDO}*")).map_err(Error::read(repository.path()))?.flatten() {
        let undo = String::from_utf8_lossy(found.name_bytes()).into_owned();
        let Some((task, number)) = undo.strip_prefix(UNDO).and_then(|rest| rest.split_once('/')) else { continue };
        let (Ok(task), Ok(number), Some(id)) = (task.parse(), number.parse(), found.target()) else { continue };
        let MergeNote { target, from, to, .. } = read_note(repository, id)?;
        if last.get(&task).is_none_or(|(highest, _)| *highest < number) {
            let (from, to) = (from.to_string(), to.to_string());
            last.insert(task, (number, UndoableMerge { task, undo: undo.clone(), target, from, to }));
        }
    }
    Ok(last.into_values().map(|(_, undoable)| undoable).collect())
}

/// Returns the targets of pending merges.
pub(in crate::git) fn pending_targets(repository: &Repository) -> Result<Vec<String>, Error> {
    Ok(pending(repository)?.into_iter().map(|(_, note)| note.target).collect())
}

fn pending(repository: &Repository) -> Result<Vec<(TaskId, MergeNote)>, Error> {
    let mut all = Vec::new();
    for found in repository.references_glob(&format!("{PENDING}*")).map_err(Error::read(repository.path()))?.flatten() {
        let name = String::from_utf8_lossy(found.name_bytes()).into_owned();
        let task = name.strip_prefix(PENDING).and_then(|task| task.parse().ok());
        if let (Some(task), Some(id)) = (task, found.target()) {
            all.push((task, read_note(repository, id)?));
        }
    }
    Ok(all)
}

/// Removes the pending record and the undo record of a merge that did not happen.
fn discard(repository: &Repository, task: TaskId, note: Oid) -> Result<(), Error> {
    let ours = format!("refs/mxd/undo/{task}/*");
    let mut names = vec![format!("{PENDING}{task}")];
    for found in repository.references_glob(&ours).map_err(Error::read(repository.path()))?.flatten() {
        if found.target() == Some(note) {
            names.push(String::from_utf8_lossy(found.name_bytes()).into_owned());
        }
    }
    delete_refs(repository, &names.iter().map(String::as_str).collect::<Vec<_>>());
    Ok(())
}

/// Removes the undo record of the merge that the finished undo has reversed.
fn delete_reversed_undo(repository: &Repository, task: TaskId, finished: &MergeNote) -> Result<(), Error> {
    for known in undoable(repository)? {
        let is_reverse = (known.from, known.to) == (finished.to.to_string(), finished.from.to_string());
        if known.task == task && known.target == finished.target && is_reverse {
            delete_refs(repository, &[&known.undo]);
        }
    }
    Ok(())
}

/// Updates a checkout to `to` whose files are partly as in `from` and partly as in `to`, possibly with one half
/// written. Returns the files that are neither; then nothing was changed.
pub(super) async fn catch_up(checkout: &Checkout, from: Oid, to: Oid) -> Result<Vec<PathBuf>, Error> {
    // The lock may be from our own killed git, or from one that the user runs now.
    locks::unlock_index(checkout).await?;
    let changed = status::changed_paths(checkout).await?;
    let (here, candidates) = (checkout.clone(), changed);
    let foreign = blocking(move || {
        let repository = here.open()?;
        let failed = Error::read(&here.path);
        let tree = |id| repository.find_commit(id).and_then(|commit| commit.tree()).map_err(&failed);
        let (old, new) = (tree(from)?, tree(to)?);
        if is_updated(&repository, &old, &new)? {
            return Ok(None);
        }
        let ours = |path: &PathBuf| {
            let (before, after) = (entry_of(&old, path), entry_of(&new, path));
            before != after && is_between(&repository, &here.path.join(path), before, after)
        };
        let foreign = candidates.into_iter().filter(|path| !ours(path) && is_tracked(&old, &new, path));
        Ok(Some(foreign.collect::<Vec<_>>()))
    })
    .await?;
    let Some(foreign) = foreign else { return Ok(Vec::new()) };
    if foreign.is_empty() {
        checkout
            .git(["read-tree", "--reset", "-u"])
            .argument(to.to_string())
            .long(None)
            .fetching()
            .run_with_retries()
            .await?;
    }
    Ok(foreign)
}

/// Returns true if the index, which git writes last, has all changes.
fn is_updated(repository: &Repository, old: &git2::Tree<'_>, new: &git2::Tree<'_>) -> Result<bool, Error> {
    let index = repository.index().map_err(Error::read(repository.path()))?;
    let changes = worktree_files::changes(repository, old, new)?;
    let wanted = |change: &Change| change.wanted.map(|(id, _)| id);
    Ok(changes.iter().all(|change| index.get_path(&change.path, 0).map(|entry| entry.id) == wanted(change)))
}

fn entry_of(tree: &git2::Tree<'_>, path: &Path) -> Option<(Oid, i32)> {
    tree.get_path(path).ok().map(|entry| (entry.id(), entry.filemode()))
}

/// Returns true if either commit has the file.
fn is_tracked(old: &git2::Tree<'_>, new: &git2::Tree<'_>, path: &Path) -> bool {
    entry_of(old, path).or_else(|| entry_of(new, path)).is_some()
}

/// Returns true if a file is as before, as after, missing, or a prefix of its new content.
fn is_between(repository: &Repository, path: &Path, before: Option<(Oid, i32)>, after: Option<(Oid, i32)>) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else { return true };
    let content = if found.is_symlink() {
        fs::read_link(path).map(|target| std::os::unix::ffi::OsStrExt::as_bytes(target.as_os_str()).to_vec())
    } else {
        repo_file::read_plain(path, u64::MAX).ok_or_else(|| io::ErrorKind::InvalidInput.into())
    };
    let Ok(content) = content else { return false };
    // Line ends may have been converted on checkout.
    let plain = |bytes: &[u8]| bytes.iter().copied().filter(|byte| *byte != b'\r').collect::<Vec<u8>>();
    let content = plain(&content);
    let stored = |entry: Option<(Oid, i32)>| Some(plain(repository.find_blob(entry?.0).ok()?.content()));
    stored(before).is_some_and(|before| before == content)
        || stored(after).is_some_and(|after| after.starts_with(&content))
}

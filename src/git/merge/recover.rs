//! What a crash in the middle of a landing left: finished if the target moved, undone if it did not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use git2::{Oid, Repository};

use super::land::{Note, PENDING, UNDO, forget, read_note};
use crate::base::TaskId;
use crate::git::error::{Error, blocking};
use crate::git::locks;
use crate::git::program::Checkout;
use crate::git::refs;
use crate::git::repo_file;
use crate::git::status;
use crate::git::worktree::Worktrees;
use crate::git::worktree_files::{self, Change};

/// What was done about an interrupted landing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovered {
    /// The target had not moved: nothing happened, and nothing is left of it.
    Undone { task: TaskId },
    /// The target had moved; the checkout that has it follows now.
    Finished { task: TaskId, checkout: Option<PathBuf> },
    /// The target had moved, and the checkout that has it holds changes that are not ours. A person has to look at it.
    Unsettled { task: TaskId, checkout: PathBuf, files: Vec<PathBuf> },
}

impl Worktrees {
    /// Finishes or undoes what a crash interrupted. To be called at the start, before anything runs.
    pub async fn recover_landings(&self) -> Result<Vec<Recovered>, Error> {
        let _landings = self.landings().await;
        let main = self.main().clone();
        let pending = blocking(move || pending(&main.open()?)).await?;
        let mut recovered = Vec::new();
        for (task, note) in pending {
            match self.recover(task, &note).await {
                Ok(done) => recovered.push(done),
                // Somebody works in the checkout right now. The others need not wait for that; this one is for the next start.
                Err(error) if error.is_contention() => {
                    tracing::warn!(%task, %error, "an interrupted merge is finished at the next start");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(recovered)
    }

    async fn recover(&self, task: TaskId, note: &Note) -> Result<Recovered, Error> {
        let (main, noted) = (self.main().clone(), note.clone());
        let moved = blocking(move || {
            let repository = main.open()?;
            let Some(tip) = refs::branch_tip(&repository, &noted.target)? else { return Ok(None) };
            if tip == noted.from {
                forget_all(&repository, task, noted.commit)?;
                return Ok(None);
            }
            Ok(Some(tip))
        })
        .await?;
        let Some(tip) = moved else {
            self.landed(task).await?;
            return Ok(Recovered::Undone { task });
        };
        // Whoever moved it further had a checkout that they could move it with.
        let checkout = if tip == note.to { self.checkout_of(&note.target).await? } else { None };
        if let Some(checkout) = &checkout {
            let files = catch_up(checkout, note.from, note.to).await?;
            if !files.is_empty() {
                return Ok(Recovered::Unsettled { task, checkout: checkout.path.clone(), files });
            }
        }
        let (main, noted) = (self.main().clone(), note.clone());
        blocking(move || forget_way_back(&main.open()?, task, &noted)).await?;
        self.landed(task).await?;
        Ok(Recovered::Finished { task, checkout: checkout.map(|checkout| checkout.path) })
    }
}

/// A landing that can be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undoable {
    pub task: TaskId,
    /// What takes it back.
    pub undo: String,
    pub target: String,
    pub from: String,
    pub to: String,
}

impl Worktrees {
    /// Returns the last landing of every task that can be taken back.
    pub async fn undoable(&self) -> Result<Vec<Undoable>, Error> {
        let main = self.main().clone();
        blocking(move || undoable(&main.open()?)).await
    }
}

/// How long the way back from a merge is kept that is not the last one of its task.
const UNDO_KEPT: Duration = Duration::from_hours(30 * 24);

impl Worktrees {
    /// Returns the refs that take back merges which are long past: not the last merge of its task, and older than 30 days.
    pub async fn old_undos(&self) -> Result<Vec<String>, Error> {
        let main = self.main().clone();
        blocking(move || old_undos(&main.open()?, SystemTime::now())).await
    }

    /// Forgets the refs that [`Worktrees::old_undos`] returned.
    pub async fn forget_undos(&self, names: &[String]) -> Result<(), Error> {
        let (main, names) = (self.main().clone(), names.to_vec());
        blocking(move || {
            let repository = main.open()?;
            names.iter().filter(|name| name.starts_with(UNDO)).try_for_each(|name| refs::delete(&repository, name))
        })
        .await
    }
}

fn old_undos(repository: &Repository, now: SystemTime) -> Result<Vec<String>, Error> {
    let kept: BTreeSet<String> = undoable(repository)?.into_iter().map(|last| last.undo).collect();
    let mut old = Vec::new();
    for found in repository.references_glob(&format!("{UNDO}*")).map_err(Error::read(repository.path()))?.flatten() {
        let name = String::from_utf8_lossy(found.name_bytes()).into_owned();
        let Ok(note) = found.peel_to_commit() else { continue };
        let made = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(note.time().seconds()).unwrap_or(0));
        if !kept.contains(&name) && now.duration_since(made).is_ok_and(|age| age > UNDO_KEPT) {
            old.push(name);
        }
    }
    Ok(old)
}

fn undoable(repository: &Repository) -> Result<Vec<Undoable>, Error> {
    let mut last: BTreeMap<TaskId, (u64, Undoable)> = BTreeMap::new();
    for found in repository.references_glob(&format!("{UNDO}*")).map_err(Error::read(repository.path()))?.flatten() {
        let undo = String::from_utf8_lossy(found.name_bytes()).into_owned();
        let Some((task, number)) = undo.strip_prefix(UNDO).and_then(|rest| rest.split_once('/')) else { continue };
        let (Ok(task), Ok(number), Some(id)) = (task.parse(), number.parse(), found.target()) else { continue };
        let Note { target, from, to, .. } = read_note(repository, id)?;
        if last.get(&task).is_none_or(|(highest, _)| *highest < number) {
            let (from, to) = (from.to_string(), to.to_string());
            last.insert(task, (number, Undoable { task, undo: undo.clone(), target, from, to }));
        }
    }
    Ok(last.into_values().map(|(_, undoable)| undoable).collect())
}

/// Returns the branches that landings were announced for and are not known to be through.
pub(in crate::git) fn announced_targets(repository: &Repository) -> Result<Vec<String>, Error> {
    Ok(pending(repository)?.into_iter().map(|(_, note)| note.target).collect())
}

fn pending(repository: &Repository) -> Result<Vec<(TaskId, Note)>, Error> {
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

/// Removes the note of a landing that did not happen, and the way back from it.
fn forget_all(repository: &Repository, task: TaskId, note: Oid) -> Result<(), Error> {
    let ours = format!("refs/mxd/undo/{task}/*");
    let mut names = vec![format!("{PENDING}{task}")];
    for found in repository.references_glob(&ours).map_err(Error::read(repository.path()))?.flatten() {
        if found.target() == Some(note) {
            names.push(String::from_utf8_lossy(found.name_bytes()).into_owned());
        }
    }
    forget(repository, &names.iter().map(String::as_str).collect::<Vec<_>>());
    Ok(())
}

/// Removes the way back from a landing if it was that way that has just been finished.
fn forget_way_back(repository: &Repository, task: TaskId, finished: &Note) -> Result<(), Error> {
    for known in undoable(repository)? {
        let is_reverse = (known.from, known.to) == (finished.to.to_string(), finished.from.to_string());
        if known.task == task && known.target == finished.target && is_reverse {
            forget(repository, &[&known.undo]);
        }
    }
    Ok(())
}

/// Brings a checkout to `to` whose files are partly as in `from` and partly as in `to`, perhaps one of them half written.
/// Returns the files that are neither: then nothing was changed.
pub(super) async fn catch_up(checkout: &Checkout, from: Oid, to: Oid) -> Result<Vec<PathBuf>, Error> {
    // It may be the lock of our own git, which is gone, or that of a git which the user runs by now.
    locks::unlock_index(checkout).await?;
    let changed = status::changed_paths(checkout).await?;
    let (here, candidates) = (checkout.clone(), changed);
    let foreign = blocking(move || {
        let repository = here.open()?;
        let failed = Error::read(&here.path);
        let tree = |id| repository.find_commit(id).and_then(|commit| commit.tree()).map_err(&failed);
        let (old, new) = (tree(from)?, tree(to)?);
        if has_followed(&repository, &old, &new)? {
            return Ok(None);
        }
        let ours = |path: &PathBuf| {
            let (before, after) = (entry_of(&old, path), entry_of(&new, path));
            before != after && is_between(&repository, &here.path.join(path), before, after)
        };
        let foreign = candidates.into_iter().filter(|path| !ours(path) && tracked(&old, &new, path));
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
            .run_patiently()
            .await?;
    }
    Ok(foreign)
}

/// Tells whether the index, which git writes last, has everything that changed.
fn has_followed(repository: &Repository, old: &git2::Tree<'_>, new: &git2::Tree<'_>) -> Result<bool, Error> {
    let index = repository.index().map_err(Error::read(repository.path()))?;
    let changes = worktree_files::changes(repository, old, new)?;
    let wanted = |change: &Change| change.wanted.map(|(id, _)| id);
    Ok(changes.iter().all(|change| index.get_path(&change.path, 0).map(|entry| entry.id) == wanted(change)))
}

fn entry_of(tree: &git2::Tree<'_>, path: &Path) -> Option<(Oid, i32)> {
    tree.get_path(path).ok().map(|entry| (entry.id(), entry.filemode()))
}

/// Tells whether either commit has a file; what neither has is nobody's business here.
fn tracked(old: &git2::Tree<'_>, new: &git2::Tree<'_>, path: &Path) -> bool {
    entry_of(old, path).or_else(|| entry_of(new, path)).is_some()
}

/// Tells whether a file is as before, as after, gone, or the beginning of what it was to become.
fn is_between(repository: &Repository, path: &Path, before: Option<(Oid, i32)>, after: Option<(Oid, i32)>) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else { return true };
    let content = if found.is_symlink() {
        fs::read_link(path).map(|target| std::os::unix::ffi::OsStrExt::as_bytes(target.as_os_str()).to_vec())
    } else {
        repo_file::read_plain(path, u64::MAX).ok_or_else(|| io::ErrorKind::InvalidInput.into())
    };
    let Ok(content) = content else { return false };
    // Line endings may have been converted on the way to the disk.
    let plain = |bytes: &[u8]| bytes.iter().copied().filter(|byte| *byte != b'\r').collect::<Vec<u8>>();
    let content = plain(&content);
    let stored = |entry: Option<(Oid, i32)>| Some(plain(repository.find_blob(entry?.0).ok()?.content()));
    stored(before).is_some_and(|before| before == content)
        || stored(after).is_some_and(|after| after.starts_with(&content))
}

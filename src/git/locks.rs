//! Locks of git that a killed process left: without them gone, a ref or an index would never change again.
//!
//! Git itself removes no lock, because it cannot know whose it is. We can tell in two cases: the lock is on a ref that only
//! we write (below `refs/mxd` and `refs/heads/mxd`, or a branch that a landing was announced for), or nobody can be holding
//! it any more (see [`release`]). Whoever calls this holds the project.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::entry;
use super::error::{Error, blocking};
use super::merge::announced_targets;
use super::program::Checkout;
use super::refs;
use super::worktree::Worktrees;
use super::worktree_files::remove_if_there;
use crate::process;

/// A git that outlived the process which started it is done with a ref by then.
const LAST_BREATH: Duration = Duration::from_millis(300);
/// How old a lock must be that nobody can be seen to hold: what is written without a process of its own is through by then.
const SETTLED: Duration = Duration::from_secs(1);
/// How old a lock must be to look forgotten where the system does not say who holds it. No call of git's holds one this long
/// in ordinary repositories.
const FORGOTTEN: Duration = Duration::from_mins(5);
/// How old a lock must be to be reported by somebody who only looks.
const REPORTED: Duration = Duration::from_secs(10);
/// Names of our own refs: nobody else has a reason to lock one.
const OURS: [&str; 2] = ["refs/mxd", "refs/heads/mxd"];
/// Held while refs are packed, and while a ref is deleted.
pub(super) const PACKED_REFS: &str = "packed-refs.lock";

impl Worktrees {
    /// Removes the locks on refs that the last process left. To be called at the start, before anything runs.
    pub async fn break_locks(&self) -> Result<Vec<PathBuf>, Error> {
        let main = self.main().clone();
        let found = blocking(move || {
            let mut locks = Vec::new();
            OURS.iter().for_each(|folder| locks_below(&main.common.join(folder), &mut locks));
            let announced = announced_targets(&main.open()?)?;
            locks.extend(announced.iter().map(|target| main.common.join(format!("{}{target}.lock", refs::HEADS))));
            Ok(locks.into_iter().filter_map(|lock| Some((identity(&lock)?, lock))).collect::<Vec<_>>())
        })
        .await?;
        let mut broken = Vec::new();
        if !found.is_empty() {
            tokio::time::sleep(LAST_BREATH).await;
            broken = blocking(move || {
                let mut broken = Vec::new();
                for (seen, lock) in found.into_iter().filter(|(seen, lock)| identity(lock).as_ref() == Some(seen)) {
                    fs::remove_file(&lock).map_err(Error::disk("remove the abandoned lock", &lock))?;
                    tracing::info!(?lock, inode = seen.0, "a lock that a killed process had left was removed");
                    broken.push(lock);
                }
                Ok(broken)
            })
            .await?;
        }
        let packed = self.main().common.join(PACKED_REFS);
        if packed.symlink_metadata().is_ok() && release(packed.clone(), self.folders().await?).await? {
            tracing::info!(lock = ?packed, "a lock that a killed process had left was removed");
            broken.push(packed);
        }
        Ok(broken)
    }

    /// Removes the lock that a killed git left on a worktree's index, and tells whether it did. A lock that somebody may
    /// still hold stays: a git that runs would lose what it does. To be called when what ran there for us has ended.
    pub async fn unlock_index(&self, path: &Path) -> Result<bool, Error> {
        unlock_index(&self.checkout(path).await?).await
    }

    /// Returns every folder in which a git that works on this repository may stand.
    async fn folders(&self) -> Result<Vec<PathBuf>, Error> {
        let main = self.main().clone();
        blocking(move || folders(&main)).await
    }
}

pub(super) fn folders(main: &Checkout) -> Result<Vec<PathBuf>, Error> {
    let linked = entry::all(&main.common)?.into_iter().filter_map(|entry| entry.path);
    Ok([main.path.clone(), main.common.clone()].into_iter().chain(linked).collect())
}

/// As [`Worktrees::unlock_index`], for any checkout.
pub(super) async fn unlock_index(checkout: &Checkout) -> Result<bool, Error> {
    let lock = checkout.git_dir.join("index.lock");
    release(lock, vec![entry::plain(&checkout.path), checkout.git_dir.clone()]).await
}

/// Removes a lock that nobody holds any more, and tells whether it did. `folders`: where a git that holds it would stand.
/// A lock that is younger than a second, or open in any process, or beside which a git runs, stays. Where the system does
/// not say what runs, it stays for some minutes.
async fn release(lock: PathBuf, folders: Vec<PathBuf>) -> Result<bool, Error> {
    let Some(young) = age(&lock) else { return Ok(false) };
    tokio::time::sleep(SETTLED.saturating_sub(young)).await;
    blocking(move || {
        let Some(seen) = identity(&lock) else { return Ok(false) };
        if !is_abandoned(&lock, &folders, SETTLED) || identity(&lock) != Some(seen) {
            return Ok(false);
        }
        remove_if_there(&lock)?;
        Ok(true)
    })
    .await
}

/// Tells whether a lock looks forgotten, for somebody who only reports it.
pub(super) fn is_forgotten(lock: &Path, folders: &[PathBuf]) -> bool {
    is_abandoned(lock, folders, REPORTED)
}

fn is_abandoned(lock: &Path, folders: &[PathBuf], least: Duration) -> bool {
    let Some(age) = age(lock) else { return false };
    age >= least && !is_held(lock, folders).unwrap_or(age < FORGOTTEN)
}

/// Tells whether a process has a lock open, or a git stands where it would hold it: git closes some locks while it holds
/// them. `None` if the system does not say.
fn is_held(lock: &Path, folders: &[PathBuf]) -> Option<bool> {
    if process::table::is_open(lock)? {
        return Some(true);
    }
    folders.iter().try_fold(false, |held, folder| Some(held || process::table::is_used(folder, "git")?))
}

fn age(lock: &Path) -> Option<Duration> {
    let made = fs::symlink_metadata(lock).and_then(|found| found.modified()).ok()?;
    Some(SystemTime::now().duration_since(made).unwrap_or_default())
}

/// What tells one lock from the next one of the same name: the file, and when it was changed.
fn identity(lock: &Path) -> Option<(u64, i64, i64)> {
    fs::symlink_metadata(lock).ok().map(|found| (found.ino(), found.mtime(), found.mtime_nsec()))
}

fn locks_below(folder: &Path, locks: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => locks_below(&path, locks),
            Ok(_) if path.extension().is_some_and(|ending| ending == "lock") => locks.push(path),
            Ok(_) | Err(_) => {}
        }
    }
}

#[cfg(test)]
#[path = "locks_tests.rs"]
mod tests;

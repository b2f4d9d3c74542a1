//! Removes git locks that a killed process left: with them, a ref or an index could never change again.
//!
//! Git itself removes no lock, because it cannot know the owner. We can in two cases: the lock is on a ref that only we
//! write (below `refs/mxd` and `refs/heads/mxd`, or a branch with a pending merge), or no process can be holding it
//! (see [`release`]). Callers hold the project lock.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::entry;
use super::error::{Error, blocking};
use super::merge::pending_targets;
use super::program::Checkout;
use super::refs;
use super::worktree::Worktrees;
use super::worktree_files::remove_if_there;
use crate::process;

/// How long a git process that outlived its parent may need to finish with a ref.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(300);
/// The age at which a lock without a visible owner is removed: in-process writes are done by then.
const MIN_AGE: Duration = Duration::from_secs(1);
/// The age at which a lock counts as stale on systems that do not reveal its owner. No git command holds one this long
/// in ordinary repositories.
const STALE_AGE: Duration = Duration::from_mins(5);
/// The age at which a lock is reported as stale.
const REPORT_AGE: Duration = Duration::from_secs(10);
/// Our own refs: no other program has a reason to lock one.
const OWN_REFS: [&str; 2] = ["refs/mxd", "refs/heads/mxd"];
/// Held while refs are packed, and while a ref is deleted.
pub(super) const PACKED_REFS: &str = "packed-refs.lock";

impl Worktrees {
    /// Removes ref locks that the last process left. Call it at the start, before anything runs.
    pub async fn break_locks(&self) -> Result<Vec<PathBuf>, Error> {
        let main = self.main().clone();
        let found = blocking(move || {
            let mut locks = Vec::new();
            OWN_REFS.iter().for_each(|folder| locks_below(&main.common.join(folder), &mut locks));
            let pending = pending_targets(&main.open()?)?;
            locks.extend(pending.iter().map(|target| main.common.join(format!("{}{target}.lock", refs::HEADS))));
            Ok(locks.into_iter().filter_map(|lock| Some((identity(&lock)?, lock))).collect::<Vec<_>>())
        })
        .await?;
        let mut broken = Vec::new();
        if !found.is_empty() {
            tokio::time::sleep(SHUTDOWN_GRACE).await;
            broken = blocking(move || {
                let mut broken = Vec::new();
                for (seen, lock) in found.into_iter().filter(|(seen, lock)| identity(lock).as_ref() == Some(seen)) {
                    fs::remove_file(&lock).map_err(Error::disk("remove the abandoned lock", &lock))?;
                    tracing::info!(?lock, inode = seen.0, "removed a lock left by a killed process");
                    broken.push(lock);
                }
                Ok(broken)
            })
            .await?;
        }
        let packed = self.main().common.join(PACKED_REFS);
        if packed.symlink_metadata().is_ok() && release(packed.clone(), self.folders().await?).await? {
            tracing::info!(lock = ?packed, "removed a lock left by a killed process");
            broken.push(packed);
        }
        Ok(broken)
    }

    /// Removes the lock that a killed git left on a worktree's index. Returns true if it did. A lock that may still be
    /// held stays: a running git would lose its changes. Call it after our own processes there have ended.
    pub async fn unlock_index(&self, path: &Path) -> Result<bool, Error> {
        unlock_index(&self.checkout(path).await?).await
    }

    /// Returns every folder that may be the working directory of a git process on this repository.
    async fn folders(&self) -> Result<Vec<PathBuf>, Error> {
        let main = self.main().clone();
        blocking(move || folders(&main)).await
    }
}

pub(super) fn folders(main: &Checkout) -> Result<Vec<PathBuf>, Error> {
    let linked = entry::all(&main.common)?.into_iter().filter_map(|entry| entry.path);
    Ok([main.path.clone(), main.common.clone()].into_iter().chain(linked).collect())
}

/// Like [`Worktrees::unlock_index`], for any checkout.
pub(super) async fn unlock_index(checkout: &Checkout) -> Result<bool, Error> {
    let lock = checkout.git_dir.join("index.lock");
    release(lock, vec![entry::plain(&checkout.path), checkout.git_dir.clone()]).await
}

/// Removes a lock that no process holds. Returns true if it did. `folders` are the possible working directories of its
/// owner. A lock stays if it is younger than a second, open in any process, or if a git runs in one of the folders. On
/// systems that do not reveal processes it stays for some minutes.
async fn release(lock: PathBuf, folders: Vec<PathBuf>) -> Result<bool, Error> {
    let Some(current) = age(&lock) else { return Ok(false) };
    tokio::time::sleep(MIN_AGE.saturating_sub(current)).await;
    blocking(move || {
        let Some(seen) = identity(&lock) else { return Ok(false) };
        if !is_abandoned(&lock, &folders, MIN_AGE) || identity(&lock) != Some(seen) {
            return Ok(false);
        }
        remove_if_there(&lock)?;
        Ok(true)
    })
    .await
}

/// Returns true if a lock looks stale, for reports.
pub(super) fn is_stale(lock: &Path, folders: &[PathBuf]) -> bool {
    is_abandoned(lock, folders, REPORT_AGE)
}

fn is_abandoned(lock: &Path, folders: &[PathBuf], least: Duration) -> bool {
    let Some(age) = age(lock) else { return false };
    age >= least && !is_held(lock, folders).unwrap_or(age < STALE_AGE)
}

/// Returns true if a process has a lock open, or a git runs in one of the folders: git closes some locks while it holds
/// them. `None` if the system does not reveal it.
fn is_held(lock: &Path, folders: &[PathBuf]) -> Option<bool> {
    if process::table::is_open(lock)? {
        return Some(true);
    }
    folders.iter().try_fold(false, |held, folder| Some(held || process::table::is_program_in(folder, "git")?))
}

fn age(lock: &Path) -> Option<Duration> {
    let created = fs::symlink_metadata(lock).and_then(|found| found.modified()).ok()?;
    Some(SystemTime::now().duration_since(created).unwrap_or_default())
}

/// Identifies a lock file among successive ones of the same name: inode and modification time.
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

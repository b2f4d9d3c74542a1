//! Locks on refs that a process of ours left when it was killed: without them gone, the ref would never move again.
//!
//! Git itself removes no lock, because it cannot know whose it is. We can: below `refs/mxd` and `refs/heads/mxd` nobody
//! else writes, and a branch that a landing was announced for was ours to move. Whoever calls this holds the project.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{Error, blocking};
use super::merge::announced_targets;
use super::refs;
use super::worktree::Worktrees;

/// A git that outlived the process which started it is done with a ref by then.
const LAST_BREATH: Duration = Duration::from_millis(300);
/// Names of our own refs: nobody else has a reason to lock one.
const OURS: [&str; 2] = ["refs/mxd", "refs/heads/mxd"];

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
        if found.is_empty() {
            return Ok(Vec::new());
        }
        tokio::time::sleep(LAST_BREATH).await;
        blocking(move || {
            let mut broken = Vec::new();
            for (seen, lock) in found.into_iter().filter(|(seen, lock)| identity(lock).as_ref() == Some(seen)) {
                fs::remove_file(&lock).map_err(Error::disk("remove the abandoned lock", &lock))?;
                tracing::info!(?lock, inode = seen.0, "a lock that a killed process had left was removed");
                broken.push(lock);
            }
            Ok(broken)
        })
        .await
    }
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

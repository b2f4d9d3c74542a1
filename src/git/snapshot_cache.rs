//! Caches the last snapshot of each worktree and detects changes since: by file watches where available, else by a stat
//! fingerprint of all files. A turn without changes needs no git call.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::error::{Error, blocking};
use super::program::Checkout;
use super::refs;
use super::snapshot::{SNAPSHOTS, Snapshot};
use super::stat_fingerprint::{RepoFingerprint, StatFingerprint};
use super::tree_capture::{self, CapturedTree};
use super::tree_update::{capture_changes, check_ignored};
use super::watch::Watches;
use super::worktree::Worktrees;
use crate::base::TaskId;

/// The cache of all worktrees of a project. Cheap to clone; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct SnapshotCache {
    /// Keyed by the worktree's folder.
    all: Arc<Mutex<HashMap<PathBuf, CachedSnapshot>>>,
    pub(super) watches: Watches,
    counts: Arc<[AtomicU64; 3]>,
}

/// How many snapshots were taken, by the amount of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotCounts {
    /// Examined every file.
    pub full: u64,
    /// Examined only the changed files.
    pub changes: u64,
    /// Nothing had changed.
    pub none: u64,
}

#[derive(Debug)]
pub(super) struct CachedSnapshot {
    task: TaskId,
    /// The size limit it was taken with.
    cap: u64,
    checkout: Checkout,
    detector: ChangeDetector,
    captured: CapturedTree,
    snapshot: Snapshot,
}

/// How to detect changes since.
#[derive(Debug)]
pub(super) enum ChangeDetector {
    /// Files are watched; this covers HEAD and the settings.
    Watch(RepoFingerprint),
    StatFingerprint(StatFingerprint),
}

impl CachedSnapshot {
    /// Returns true if the worktree and the snapshot still exist.
    fn still_exists(&self) -> bool {
        let name = format!("{SNAPSHOTS}{}/{}", self.task, self.snapshot.turn);
        let is_packed = || {
            let target = self.checkout.open().and_then(|repository| refs::target(&repository, &name));
            target.is_ok_and(|target| target.is_some())
        };
        self.checkout.path.exists() && (self.checkout.common.join(&name).exists() || is_packed())
    }
}

/// The state of a worktree compared with its last snapshot.
pub(super) enum CaptureOutcome {
    Same(Snapshot),
    /// The new state, and the means to detect later changes; `None` if there are none.
    Captured(Checkout, CapturedTree, Option<ChangeDetector>),
}

impl Worktrees {
    /// Captures a worktree, examining only changed files where possible. The caller holds the worktree's lock.
    pub(super) async fn capture_if_changed(
        &self,
        task: TaskId,
        path: &Path,
        cap: u64,
    ) -> Result<CaptureOutcome, Error> {
        // The git folder of the worktree may have changed since; that is cheap to check.
        let checkout = self.checkout(path).await?;
        // Changes are reported once: if this capture fails, the next one examines every file.
        let last = self.snapshot_cache().take(path);
        let last = last.filter(|last| (last.task, last.cap) == (task, cap) && last.checkout == checkout);
        let base = last.as_ref().map(|last| last.captured.tree);
        match last {
            Some(last) if matches!(last.detector, ChangeDetector::Watch(_)) => {
                if let Some(outcome) = self.capture_watched_changes(&checkout, last).await? {
                    return Ok(outcome);
                }
            }
            Some(last) => {
                let here = checkout.clone();
                let unchanged = move || {
                    let ChangeDetector::StatFingerprint(before) = &last.detector else { return Ok(None) };
                    let is_same =
                        StatFingerprint::at(&here).is_some_and(|now| before.is_unchanged(&now)) && last.still_exists();
                    Ok(is_same.then_some(last))
                };
                if let Some(last) = blocking(unchanged).await? {
                    return Ok(self.reuse(last));
                }
            }
            None => {}
        }
        self.capture_all(checkout, base, cap).await
    }

    fn reuse(&self, last: CachedSnapshot) -> CaptureOutcome {
        let snapshot = last.snapshot.clone();
        self.snapshot_cache().count(2);
        self.snapshot_cache().put(last);
        CaptureOutcome::Same(snapshot)
    }

    /// Captures the files that the watch reported. `None` if the report is not sufficient.
    async fn capture_watched_changes(
        &self,
        checkout: &Checkout,
        last: CachedSnapshot,
    ) -> Result<Option<CaptureOutcome>, Error> {
        let watches = self.snapshot_cache().watches.clone();
        let (here, path) = (checkout.clone(), checkout.path.clone());
        let read_changes = move || {
            // Read HEAD and the settings first, so that a commit right after this is noticed next time.
            let repo = RepoFingerprint::of(&here);
            let changes = watches.changes(&path);
            let ChangeDetector::Watch(before) = &last.detector else { return Ok(None) };
            let holds = *before == repo && last.still_exists();
            Ok(changes.filter(|_| holds).map(|changes| (changes, repo, last)))
        };
        let Some((changes, repo, last)) = blocking(read_changes).await? else { return Ok(None) };
        if changes.is_empty() {
            return Ok(Some(self.reuse(last)));
        }
        let (watches, captured) = (&self.snapshot_cache().watches, last.captured.clone());
        let Some(captured) = capture_changes(checkout, watches, captured, changes, last.cap).await? else {
            return Ok(None);
        };
        if captured == last.captured {
            return Ok(Some(self.reuse(last)));
        }
        self.snapshot_cache().count(1);
        Ok(Some(CaptureOutcome::Captured(checkout.clone(), captured, Some(ChangeDetector::Watch(repo)))))
    }

    /// Captures every file, after starting to watch them. `base` is the last captured tree.
    async fn capture_all(
        &self,
        checkout: Checkout,
        base: Option<git2::Oid>,
        cap: u64,
    ) -> Result<CaptureOutcome, Error> {
        self.snapshot_cache().count(0);
        if let Some(base) = base {
            tree_capture::sync_index(&checkout, base).await?;
        }
        let watched = self.watch(&checkout).await?;
        let here = checkout.clone();
        let detector = blocking(move || {
            Ok(if watched {
                Some(ChangeDetector::Watch(RepoFingerprint::of(&here)))
            } else {
                StatFingerprint::at(&here).map(ChangeDetector::StatFingerprint)
            })
        })
        .await?;
        let captured = tree_capture::capture(&checkout, Some(cap)).await?;
        let detector = detector.filter(|_| captured.is_reliable());
        Ok(CaptureOutcome::Captured(checkout, captured, detector))
    }

    /// Starts to watch the folders of a worktree: those with tracked files, and those that git does not ignore. Returns
    /// true if they are watched.
    async fn watch(&self, checkout: &Checkout) -> Result<bool, Error> {
        let (here, runtime) = (checkout.clone(), tokio::runtime::Handle::current());
        let watches = self.snapshot_cache().watches.clone();
        blocking(move || {
            let Some(tracked) = tree_capture::tracked_folders(&here) else {
                watches.end(&here.path);
                return Ok(false);
            };
            let mut enter = |folders: Vec<PathBuf>| {
                let (mut wanted, unknown): (Vec<_>, Vec<_>) =
                    folders.into_iter().partition(|folder| tracked.contains(folder));
                let ignored: HashSet<PathBuf> =
                    runtime.block_on(check_ignored(&here, unknown.iter())).ok().flatten()?;
                wanted.extend(unknown.into_iter().filter(|folder| !ignored.contains(folder)));
                Some(wanted)
            };
            Ok(watches.begin(&here.path, &mut enter))
        })
        .await
    }

    /// Stops watching a worktree. Call it when no process works there any more.
    pub fn unwatch(&self, path: &Path) {
        self.snapshot_cache().watches.end(path);
    }

    /// Returns how often snapshots were taken, by how much was looked at.
    pub fn snapshot_counts(&self) -> SnapshotCounts {
        let [full, changes, none] = &*self.snapshot_cache().counts;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        SnapshotCounts { full: read(full), changes: read(changes), none: read(none) }
    }

    /// Caches the snapshot of a worktree.
    pub(super) fn remember(
        &self,
        task: TaskId,
        cap: u64,
        checkout: Checkout,
        (captured, detector): (CapturedTree, Option<ChangeDetector>),
        snapshot: Snapshot,
    ) {
        if let Some(detector) = detector {
            self.snapshot_cache().put(CachedSnapshot { task, cap, checkout, detector, captured, snapshot });
        }
    }
}

impl SnapshotCache {
    /// Removes and returns the cached snapshot of a worktree.
    pub(super) fn take(&self, path: &Path) -> Option<CachedSnapshot> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(path)
    }

    fn put(&self, last: CachedSnapshot) {
        let path = last.checkout.path.clone();
        self.all.lock().unwrap_or_else(PoisonError::into_inner).insert(path, last);
    }

    fn count(&self, which: usize) {
        self.counts[which].fetch_add(1, Ordering::Relaxed);
    }
}

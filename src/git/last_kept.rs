//! The last state that was kept of each worktree, and how to tell what changed since: by a watch where there is one, by a
//! glance at all files where there is none. A turn that changed nothing is over without git.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::capture::{self, Captured};
use super::capture_changes::{capture_changes, check_ignored};
use super::error::{Error, blocking};
use super::glance::{Glance, Surroundings};
use super::program::Checkout;
use super::refs;
use super::snapshot::{SNAPSHOTS, Snapshot};
use super::watch::Watches;
use super::worktree::Worktrees;
use crate::base::TaskId;

/// What is remembered of all worktrees of a project. Cheap to clone; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct LastKept {
    /// By the worktree's folder.
    all: Arc<Mutex<HashMap<PathBuf, Last>>>,
    pub(super) watches: Watches,
    looks: Arc<[AtomicU64; 3]>,
}

/// How often snapshots were taken, by how much was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    /// Every file.
    pub full: u64,
    /// The files that changed.
    pub changes: u64,
    /// Nothing had changed.
    pub none: u64,
}

#[derive(Debug)]
pub(super) struct Last {
    task: TaskId,
    /// How large a file could be to be in it.
    cap: u64,
    checkout: Checkout,
    evidence: Evidence,
    captured: Captured,
    snapshot: Snapshot,
}

/// What tells whether anything has changed since.
#[derive(Debug)]
pub(super) enum Evidence {
    /// Files are watched; this is what lies around them.
    Watch(Surroundings),
    Glance(Glance),
}

impl Last {
    /// Tells whether it is still there.
    fn is_there(&self) -> bool {
        let name = format!("{SNAPSHOTS}{}/{}", self.task, self.snapshot.turn);
        let is_packed = || {
            let target = self.checkout.open().and_then(|repository| refs::target(&repository, &name));
            target.is_ok_and(|target| target.is_some())
        };
        self.checkout.path.exists() && (self.checkout.common.join(&name).exists() || is_packed())
    }
}

/// What a worktree looks like, beside the state that was last kept of it.
pub(super) enum Looked {
    Same(Snapshot),
    /// Its state, and what will tell that it still has it. `None` if nothing will.
    Captured(Checkout, Captured, Option<Evidence>),
}

impl Worktrees {
    /// Looks what is in a worktree, and at no more files than have changed where that can be told. The caller holds its
    /// place.
    pub(super) async fn look_again(&self, task: TaskId, path: &Path, cap: u64) -> Result<Looked, Error> {
        // Where its repository keeps what belongs to it may have changed since; that is found out cheaply.
        let checkout = self.checkout(path).await?;
        // What is told of changes is told once: if this look fails, the next one looks at every file.
        let last = self.last_kept().take(path);
        let last = last.filter(|last| (last.task, last.cap) == (task, cap) && last.checkout == checkout);
        let base = last.as_ref().map(|last| last.captured.tree);
        match last {
            Some(last) if matches!(last.evidence, Evidence::Watch(_)) => {
                if let Some(looked) = self.look_at_changes(&checkout, last).await? {
                    return Ok(looked);
                }
            }
            Some(last) => {
                let glanced = checkout.clone();
                let same = move || {
                    let Evidence::Glance(then) = &last.evidence else { return Ok(None) };
                    let same = Glance::at(&glanced).is_some_and(|now| then.still_holds(&now)) && last.is_there();
                    Ok(same.then_some(last))
                };
                if let Some(last) = blocking(same).await? {
                    return Ok(self.same(last));
                }
            }
            None => {}
        }
        self.look_at_all(checkout, base, cap).await
    }

    fn same(&self, last: Last) -> Looked {
        let snapshot = last.snapshot.clone();
        self.last_kept().count(2);
        self.last_kept().put(last);
        Looked::Same(snapshot)
    }

    /// Looks at the files that a watch has told of. `None` if that does not tell enough.
    async fn look_at_changes(&self, checkout: &Checkout, last: Last) -> Result<Option<Looked>, Error> {
        let watches = self.last_kept().watches.clone();
        let (here, path) = (checkout.clone(), checkout.path.clone());
        let told = move || {
            // First what lies around: a commit that follows is told of by the next look.
            let around = Surroundings::of(&here);
            let changes = watches.changes(&path);
            let Evidence::Watch(then) = &last.evidence else { return Ok(None) };
            let holds = *then == around && last.is_there();
            Ok(changes.filter(|_| holds).map(|changes| (changes, around, last)))
        };
        let Some((changes, around, last)) = blocking(told).await? else { return Ok(None) };
        if changes.is_empty() {
            return Ok(Some(self.same(last)));
        }
        let (watches, captured) = (&self.last_kept().watches, last.captured.clone());
        let Some(captured) = capture_changes(checkout, watches, captured, changes, last.cap).await? else {
            return Ok(None);
        };
        if captured == last.captured {
            return Ok(Some(self.same(last)));
        }
        self.last_kept().count(1);
        Ok(Some(Looked::Captured(checkout.clone(), captured, Some(Evidence::Watch(around)))))
    }

    /// Looks at every file, and begins to watch them before. `base` is the state that was last found.
    async fn look_at_all(&self, checkout: Checkout, base: Option<git2::Oid>, cap: u64) -> Result<Looked, Error> {
        self.last_kept().count(0);
        if let Some(base) = base {
            capture::bring_up_to(&checkout, base).await?;
        }
        let watched = self.watch(&checkout).await?;
        let here = checkout.clone();
        let evidence = blocking(move || {
            Ok(if watched {
                Some(Evidence::Watch(Surroundings::of(&here)))
            } else {
                Glance::at(&here).map(Evidence::Glance)
            })
        })
        .await?;
        let captured = capture::capture(&checkout, Some(cap)).await?;
        let evidence = evidence.filter(|_| captured.can_be_relied_on());
        Ok(Looked::Captured(checkout, captured, evidence))
    }

    /// Begins to watch the folders of a worktree: those that hold files which git tracks, and those that it does not
    /// ignore. Tells whether they are watched.
    async fn watch(&self, checkout: &Checkout) -> Result<bool, Error> {
        let (here, runtime) = (checkout.clone(), tokio::runtime::Handle::current());
        let watches = self.last_kept().watches.clone();
        blocking(move || {
            let Some(tracked) = capture::tracked_folders(&here) else {
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

    /// Stops to watch a worktree. To be called when nothing works there any more; without it the next look is cheaper.
    pub fn unwatch(&self, path: &Path) {
        self.last_kept().watches.end(path);
    }

    /// Returns how often snapshots were taken, by how much was looked at.
    pub fn looks(&self) -> Looks {
        let [full, changes, none] = &*self.last_kept().looks;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Looks { full: read(full), changes: read(changes), none: read(none) }
    }

    /// Remembers what was kept of a worktree.
    pub(super) fn remember(
        &self,
        task: TaskId,
        cap: u64,
        checkout: Checkout,
        (captured, evidence): (Captured, Option<Evidence>),
        snapshot: Snapshot,
    ) {
        if let Some(evidence) = evidence {
            self.last_kept().put(Last { task, cap, checkout, evidence, captured, snapshot });
        }
    }
}

impl LastKept {
    /// Takes out what is remembered of a worktree.
    pub(super) fn take(&self, path: &Path) -> Option<Last> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(path)
    }

    fn put(&self, last: Last) {
        let path = last.checkout.path.clone();
        self.all.lock().unwrap_or_else(PoisonError::into_inner).insert(path, last);
    }

    fn count(&self, which: usize) {
        self.looks[which].fetch_add(1, Ordering::Relaxed);
    }
}

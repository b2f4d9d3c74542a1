//! The last state that was kept of each worktree, and what the worktree looked like then: a turn that changed nothing is
//! over without git.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::error::{Error, blocking};
use super::glance::Glance;
use super::program::Checkout;
use super::snapshot::{SNAPSHOTS, Snapshot};
use super::worktree::Worktrees;
use crate::base::TaskId;

/// By the worktree's folder.
pub(super) type LastKept = Arc<Mutex<HashMap<PathBuf, Arc<Last>>>>;

#[derive(Debug)]
pub(super) struct Last {
    task: TaskId,
    /// How large a file could be to be in it.
    cap: u64,
    checkout: Checkout,
    glance: Glance,
    snapshot: Snapshot,
}

impl Last {
    /// Tells whether it is still there. One that git has packed away counts as gone: it is looked up then.
    fn is_there(&self) -> bool {
        let name = format!("{SNAPSHOTS}{}/{}", self.task, self.snapshot.turn);
        self.checkout.path.exists() && self.checkout.common.join(name).exists()
    }
}

/// What a worktree looks like, beside the state that was last kept of it.
pub(super) enum Looked {
    Same(Snapshot),
    /// It may have changed. Nothing: a glance does not tell.
    Else(Checkout, Option<Glance>),
}

impl Worktrees {
    /// Looks whether a worktree has changed. The caller holds its place.
    pub(super) async fn look_again(&self, task: TaskId, path: &Path, cap: u64) -> Result<Looked, Error> {
        let last = self.last_kept().lock().unwrap_or_else(PoisonError::into_inner).get(path).map(Arc::clone);
        let last = last.filter(|last| (last.task, last.cap) == (task, cap));
        // Where its repository keeps what belongs to it may have changed since; that is found out cheaply.
        let checkout = self.checkout(path).await?;
        let last = last.filter(|last| last.checkout == checkout);
        blocking(move || {
            let glance = Glance::at(&checkout);
            let same = last.zip(glance.as_ref()).filter(|(last, now)| last.glance.still_holds(now) && last.is_there());
            Ok(match same {
                Some((last, _)) => Looked::Same(last.snapshot.clone()),
                None => Looked::Else(checkout, glance),
            })
        })
        .await
    }

    /// Remembers what was kept of a worktree that looked like `glance` a moment before.
    pub(super) fn remember(
        &self,
        task: TaskId,
        cap: u64,
        checkout: Checkout,
        glance: Option<Glance>,
        snapshot: Snapshot,
    ) {
        let mut all = self.last_kept().lock().unwrap_or_else(PoisonError::into_inner);
        let path = checkout.path.clone();
        match glance {
            Some(glance) => drop(all.insert(path, Arc::new(Last { task, cap, checkout, glance, snapshot }))),
            None => drop(all.remove(&path)),
        }
    }
}

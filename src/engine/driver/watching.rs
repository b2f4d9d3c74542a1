//! Looking at worktrees and branches while agents work: how much changed, how far apart, who would conflict with whom.
//! Only for looking at: the latest wish wins, and all of it together takes no more than one core.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;

use super::{Driver, Incoming, Parts};
use crate::base::TaskId;
use crate::engine::review::Drift;
use crate::engine::snapshot::DiffStat;
use crate::git::status;

/// How long after something happened in a worktree its difference is measured: several things may follow each other.
const MEASURE_AFTER: Duration = Duration::from_millis(300);
/// How long after a branch may have moved all of them are compared.
const SWEEP_AFTER: Duration = Duration::from_secs(2);
/// How many branches are compared with each other: the work grows with the square.
const MOST_BRANCHES: usize = 40;
/// How many files of a conflict are named.
const NAMED: usize = 20;

/// Whether branches are being compared.
#[derive(Default)]
pub(super) enum Sweep {
    #[default]
    Idle,
    /// It will begin in a moment.
    Due { _wait: AbortOnDropHandle<()> },
    Running {
        _work: AbortOnDropHandle<()>,
        /// Something has moved since it began.
        again: bool,
    },
}

impl Driver {
    pub(super) fn measure_all(&mut self) {
        let tasks: Vec<TaskId> = self.machine.tree().all().map(|node| node.id).collect();
        tasks.into_iter().for_each(|task| self.measure(task));
        self.sweep_soon();
    }

    /// Measures how far a task's worktree is from where it began, and from where it goes. The latest wish wins.
    pub(super) fn measure(&mut self, task: TaskId) {
        let Ok(spot) = self.machine.spot_of(task) else { return };
        let (Some(path), Some(branch), false) = (spot.worktree, spot.branch, spot.is_root) else { return };
        let parts = Arc::clone(&self.parts);
        let measured = async move {
            tokio::time::sleep(MEASURE_AFTER).await;
            let turn = parts.measuring.acquire().await;
            let diff = measure(&parts, &path, &spot.above).await;
            let drift = status::drift(parts.worktrees.main(), &branch, &spot.above).await.ok();
            let drift = drift.map(|drift| Drift { ahead: drift.ahead, behind: drift.behind });
            drop(turn);
            let _ = parts.incoming.send(Incoming::Diff { task, diff, drift });
        };
        self.diffs.insert(task, AbortOnDropHandle::new(tokio::spawn(measured)));
    }

    /// Compares all live branches, soon. Whoever asks while that is under way is answered by the next time.
    pub(super) fn sweep_soon(&mut self) {
        match &mut self.sweep {
            Sweep::Due { .. } => {}
            Sweep::Running { again, .. } => *again = true,
            Sweep::Idle => {
                let incoming = self.parts.incoming.clone();
                let wait = async move {
                    tokio::time::sleep(SWEEP_AFTER).await;
                    let _ = incoming.send(Incoming::Sweep);
                };
                self.sweep = Sweep::Due { _wait: AbortOnDropHandle::new(tokio::spawn(wait)) };
            }
        }
    }

    pub(super) fn sweep(&mut self) {
        let mut live = self.machine.live_branches();
        live.truncate(MOST_BRANCHES);
        let at_work: Vec<TaskId> =
            live.iter().map(|(task, _)| *task).filter(|task| self.machine.has_run(*task)).collect();
        let parts = Arc::clone(&self.parts);
        let work = async move {
            let branches: Vec<String> = live.iter().map(|(_, branch)| branch.clone()).collect();
            let working = live.iter().filter(|(task, _)| at_work.contains(task));
            let working = working.map(|(task, branch)| (branch.clone(), *task)).collect();
            let turn = parts.measuring.acquire().await;
            let found = parts.radar.clashes(parts.worktrees.main(), &branches, &working).await;
            drop(turn);
            let clashes = found.inspect_err(|error| tracing::debug!(%error, "branches could not be compared"));
            let owner = |branch: &str| live.iter().find(|(_, name)| name == branch).map(|(task, _)| *task);
            let pairs = clashes.unwrap_or_default().into_iter().filter_map(|clash| {
                let files = clash.files.iter().take(NAMED).map(|file| file.display().to_string()).collect();
                Some((owner(&clash.one)?, owner(&clash.other)?, files))
            });
            let _ = parts.incoming.send(Incoming::Clashes { pairs: pairs.collect() });
        };
        self.sweep = Sweep::Running { _work: AbortOnDropHandle::new(tokio::spawn(work)), again: false };
    }

    pub(super) fn swept(&mut self, pairs: &[(TaskId, TaskId, Vec<String>)]) {
        self.machine.set_clashes(pairs);
        let again = matches!(std::mem::take(&mut self.sweep), Sweep::Running { again: true, .. });
        if again {
            self.sweep_soon();
        }
    }
}

pub(super) async fn measure(parts: &Parts, path: &Path, base: &str) -> Option<DiffStat> {
    if !path.exists() {
        return None;
    }
    let checkout = parts.worktrees.checkout(path).await.ok()?;
    let stat = status::diffstat(&checkout, base).await.ok()?;
    let dirty = status::is_dirty(&checkout).await.unwrap_or_default();
    Some(DiffStat { files: stat.files, added: stat.added, removed: stat.removed, dirty })
}

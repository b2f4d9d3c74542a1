//! Measures worktrees and branches while agents work: diff size, distance from the parent branch, conflicts between
//! tasks. The results are only displayed. A newer request replaces an older one, and all measurements together use at
//! most one core.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;

use super::{Driver, EngineContext, Incoming};
use crate::base::TaskId;
use crate::engine::review::Drift;
use crate::engine::snapshot::DiffStat;
use crate::git::status;

/// How long to wait after a change before measuring: more changes may follow.
const MEASURE_AFTER: Duration = Duration::from_millis(300);
/// How long to wait after a branch may have moved before comparing all branches.
const SCAN_AFTER: Duration = Duration::from_secs(2);
/// How many branches are compared: the work grows with the square.
const MAX_BRANCHES: usize = 40;
/// How many files of a conflict are listed.
const MAX_LISTED: usize = 20;

#[derive(Default)]
pub(super) enum ConflictScan {
    #[default]
    Idle,
    /// Waits for the delay to pass.
    Due { _wait: AbortOnDropHandle<()> },
    Running {
        _work: AbortOnDropHandle<()>,
        /// A branch has moved since the scan started.
        again: bool,
    },
}

impl Driver {
    pub(super) fn measure_all(&mut self) {
        let tasks: Vec<TaskId> = self.machine.tree().all().map(|node| node.id).collect();
        tasks.into_iter().for_each(|task| self.measure(task));
        self.schedule_conflict_scan();
    }

    /// Measures how far a task's worktree is from its parent branch. Replaces a measurement that is under way.
    pub(super) fn measure(&mut self, task: TaskId) {
        let Ok(location) = self.machine.location_of(task) else { return };
        let (Some(path), Some(branch), false) = (location.worktree, location.branch, location.is_root) else { return };
        let ctx = Arc::clone(&self.ctx);
        let measured = async move {
            tokio::time::sleep(MEASURE_AFTER).await;
            let permit = ctx.measure_permits.acquire().await;
            let diff = measure(&ctx, &path, &location.parent_branch).await;
            let drift = status::drift(ctx.worktrees.main(), &branch, &location.parent_branch).await.ok();
            let drift = drift.map(|drift| Drift { ahead: drift.ahead, behind: drift.behind });
            drop(permit);
            let _ = ctx.incoming.send(Incoming::Diff { task, diff, drift });
        };
        self.diffs.insert(task, AbortOnDropHandle::new(tokio::spawn(measured)));
    }

    /// Schedules a scan of all live branches for conflicts. If a scan is running, another one follows it.
    pub(super) fn schedule_conflict_scan(&mut self) {
        match &mut self.conflict_scan {
            ConflictScan::Due { .. } => {}
            ConflictScan::Running { again, .. } => *again = true,
            ConflictScan::Idle => {
                let incoming = self.ctx.incoming.clone();
                let wait = async move {
                    tokio::time::sleep(SCAN_AFTER).await;
                    let _ = incoming.send(Incoming::ScanConflicts);
                };
                self.conflict_scan = ConflictScan::Due { _wait: AbortOnDropHandle::new(tokio::spawn(wait)) };
            }
        }
    }

    pub(super) fn scan_conflicts(&mut self) {
        let mut live = self.machine.live_branches();
        live.truncate(MAX_BRANCHES);
        let running: Vec<TaskId> =
            live.iter().map(|(task, _)| *task).filter(|task| self.machine.has_run(*task)).collect();
        let ctx = Arc::clone(&self.ctx);
        let work = async move {
            let branches: Vec<String> = live.iter().map(|(_, branch)| branch.clone()).collect();
            let running = live.iter().filter(|(task, _)| running.contains(task));
            let running = running.map(|(task, branch)| (branch.clone(), *task)).collect();
            let permit = ctx.measure_permits.acquire().await;
            let found = ctx.conflict_scanner.conflicts_between(ctx.worktrees.main(), &branches, &running).await;
            drop(permit);
            let conflicts = found.inspect_err(|error| tracing::debug!(%error, "branches could not be compared"));
            let owner = |branch: &str| live.iter().find(|(_, name)| name == branch).map(|(task, _)| *task);
            let pairs = conflicts.unwrap_or_default().into_iter().filter_map(|conflict| {
                let files = conflict.files.iter().take(MAX_LISTED).map(|file| file.display().to_string()).collect();
                Some((owner(&conflict.one)?, owner(&conflict.other)?, files))
            });
            let _ = ctx.incoming.send(Incoming::Conflicts { pairs: pairs.collect() });
        };
        self.conflict_scan = ConflictScan::Running { _work: AbortOnDropHandle::new(tokio::spawn(work)), again: false };
    }

    pub(super) fn on_conflicts(&mut self, pairs: &[(TaskId, TaskId, Vec<String>)]) {
        self.machine.set_branch_conflicts(pairs);
        let again = matches!(std::mem::take(&mut self.conflict_scan), ConflictScan::Running { again: true, .. });
        if again {
            self.schedule_conflict_scan();
        }
    }
}

pub(super) async fn measure(ctx: &EngineContext, path: &Path, base: &str) -> Option<DiffStat> {
    if !path.exists() {
        return None;
    }
    let checkout = ctx.worktrees.checkout(path).await.ok()?;
    let stat = status::diffstat(&checkout, base).await.ok()?;
    let dirty = status::is_dirty(&checkout).await.unwrap_or_default();
    Some(DiffStat { files: stat.files, added: stat.added, removed: stat.removed, dirty })
}

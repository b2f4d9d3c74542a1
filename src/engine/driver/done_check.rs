//! Inspects a worktree for `done`: uncommitted files, and the project's verify command.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;

use super::setup::left_by_hook;
use super::{EngineContext, lifecycle, verify};
use crate::base::TaskId;
use crate::engine::hooks::HookedTask;
use crate::engine::machine::LaunchOrder;
use crate::engine::tools::{DoneGate, FailedCheck, WorktreeInspector};
use crate::git::status::{self, ChangeKind, Changed};
use crate::hooks::TaskHooks;
use crate::model::event::Verdict;

/// How many uncommitted files a refusal lists.
const MAX_LISTED: usize = 20;

pub(super) struct WorktreeState {
    ctx: Arc<EngineContext>,
    task: TaskId,
    path: PathBuf,
    /// The worktree's path as the tree stores it. The file with the setup hook's leftovers is beside it.
    place: Option<PathBuf>,
    /// The verify command.
    verify: Option<String>,
}

impl WorktreeState {
    pub(super) fn new(ctx: &Arc<EngineContext>, order: &LaunchOrder, root: &Path) -> Self {
        let verify = order.node.verify.clone().or_else(|| ctx.settings.verify.clone());
        let place = order.place.as_ref().map(|place| place.worktree.clone());
        Self { ctx: Arc::clone(ctx), task: order.node.id, path: root.to_owned(), place, verify }
    }
}

impl WorktreeInspector for WorktreeState {
    fn uncommitted(&self) -> BoxFuture<'_, Result<Vec<String>, String>> {
        Box::pin(async move {
            let message = |error: crate::git::Error| error.to_string();
            let checkout = self.ctx.worktrees.checkout(&self.path).await.map_err(message)?;
            let left = self.place.as_deref().map(left_by_hook).unwrap_or_default();
            let dirty = status::dirty(&checkout, MAX_LISTED + left.len()).await.map_err(message)?;
            let is_left_by_hook = |change: &&Changed| {
                change.kind == ChangeKind::Untracked && left.iter().any(|left| change.path.starts_with(left))
            };
            let count = dirty.count() - dirty.changes.iter().filter(is_left_by_hook).count();
            let own = dirty.changes.iter().filter(|change| !is_left_by_hook(change)).take(MAX_LISTED);
            let mut files: Vec<String> = own.map(|change| change.path.to_string_lossy().into_owned()).collect();
            if count > files.len() {
                files.push(format!("and {} more", count - files.len()));
            }
            Ok(files)
        })
    }

    fn verify(&self) -> BoxFuture<'_, Option<FailedCheck>> {
        Box::pin(async move {
            let command = self.verify.as_deref()?;
            let path = &self.path;
            match verify::verify_unless_fresh(&self.ctx, self.task, path, command).await {
                Ok(receipt) if receipt.passed() => None,
                Ok(receipt) => {
                    let how = receipt
                        .exit
                        .map_or_else(|| "did not finish".to_owned(), |code| format!("failed with exit code {code}"));
                    let reason = format!("the project's check `{command}` {how}. Output:\n{}", receipt.output);
                    Some(FailedCheck { reason, in_a_row: verify::consecutive_failures(&self.ctx, self.task).await })
                }
                Err(fault) => {
                    let reason = format!("the project's check `{command}` could not be run: {fault}");
                    Some(FailedCheck { reason, in_a_row: 1 })
                }
            }
        })
    }
}

/// The lifecycle hooks that may object to a task being done.
pub(super) struct DoneHooks {
    ctx: Arc<EngineContext>,
    task: TaskId,
    hooks: TaskHooks,
    is_root: bool,
    profile: String,
    /// A hook has objected before.
    objected: AtomicBool,
}

impl DoneHooks {
    pub(super) fn new(ctx: &Arc<EngineContext>, order: &LaunchOrder) -> Self {
        Self {
            ctx: Arc::clone(ctx),
            task: order.node.id,
            hooks: ctx.task_hooks(&HookedTask::from(&order.node), None),
            is_root: order.place.is_none(),
            profile: order.node.profile.clone().unwrap_or_default(),
            objected: AtomicBool::new(false),
        }
    }
}

impl DoneGate for DoneHooks {
    fn is_waived(&self) -> BoxFuture<'_, bool> {
        Box::pin(verify::is_check_waived(&self.ctx, self.task))
    }

    fn objection(&self, verdict: Verdict) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let active = self.objected.load(Ordering::Relaxed);
            let objection = lifecycle::before_done(&self.hooks, self.is_root, &self.profile, verdict, active).await;
            self.objected.store(objection.is_some(), Ordering::Relaxed);
            objection
        })
    }
}

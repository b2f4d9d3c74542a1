//! Takes a snapshot of a task's files after each turn that changed them, and records it in the session. Old snapshots
//! are pruned. A worktree that was deleted meanwhile is recreated before the agent's next call.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};

use super::{EngineContext, launch, setup};
use crate::base::{RunId, TaskId, TurnId};
use crate::engine::machine::LaunchOrder;
use crate::engine::update::{Level, Notice, Update};
use crate::git::snapshot::{self as git, FILE_CAP, SnapshotOutcome};
use crate::model::event::{Body, Snapshot};
use crate::store::StoreError;

/// How many snapshots of a task are kept.
pub(in crate::engine) const MAX_SNAPSHOTS: usize = 100;

/// How many events are read at once.
const PAGE: usize = 200;

/// Takes the snapshots of one run.
pub struct TurnSnapshotter {
    ctx: Arc<EngineContext>,
    order: Arc<LaunchOrder>,
    run: RunId,
    path: PathBuf,
}

impl TurnSnapshotter {
    pub(super) fn new(ctx: &Arc<EngineContext>, order: &LaunchOrder, run: RunId, path: PathBuf) -> Self {
        Self { ctx: Arc::clone(ctx), order: Arc::new(order.clone()), run, path }
    }

    /// Takes the snapshot before the first turn of a run.
    pub fn take_first(&self) -> BoxFuture<'static, ()> {
        self.take_as(TurnId::fresh(&self.ctx.ids), true)
    }

    /// Takes the snapshot after a turn that may have changed files.
    pub fn take(&self, turn: TurnId) -> BoxFuture<'static, ()> {
        self.take_as(turn, false)
    }

    fn take_as(&self, turn: TurnId, first: bool) -> BoxFuture<'static, ()> {
        let (ctx, order) = (Arc::clone(&self.ctx), Arc::clone(&self.order));
        let (task, run, path) = (order.node.id, self.run, self.path.clone());
        async move {
            recreate_worktree(&ctx, &order).await;
            match ctx.worktrees.take_snapshot(task, turn, &path, FILE_CAP).await {
                // A crash may have happened between the snapshot and its record.
                Ok(SnapshotOutcome::Same(snapshot)) if first && !is_recorded(&ctx, task, &snapshot.tree).await => {
                    record_snapshot(&ctx, task, run, snapshot).await;
                }
                Ok(SnapshotOutcome::Same(_)) => {}
                Ok(SnapshotOutcome::New { snapshot, .. }) => {
                    record_snapshot(&ctx, task, run, snapshot).await;
                    if let Err(error) = ctx.worktrees.prune_snapshots(task, MAX_SNAPSHOTS).await {
                        tracing::warn!(%task, %error, "old snapshots could not be pruned");
                    }
                }
                Err(error) => {
                    tracing::warn!(%task, %error, "no snapshot could be taken");
                    let text = format!("cannot take a snapshot, so the files of this turn cannot be rewound: {error}");
                    let notice = Notice { level: Level::Warning, text, task: Some(task) };
                    ctx.feed.publish(&Update::Notice { notice });
                }
            }
        }
        .boxed()
    }
}

/// Recreates a worktree that was deleted meanwhile, and tells the agent.
async fn recreate_worktree(ctx: &Arc<EngineContext>, order: &LaunchOrder) {
    let task = order.node.id;
    let is_gone = |place: &crate::engine::machine::WorktreeLocation| !place.worktree.join(".git").exists();
    if !order.place.as_ref().is_some_and(is_gone) {
        return;
    }
    let recreated = match setup::prepare_worktree(ctx, order).await {
        Ok(ready) => launch::notify(ctx, task, ready.notes).await,
        Err(failure) => Err(failure),
    };
    if let Err(failure) = recreated {
        tracing::warn!(%task, ?failure, "a deleted worktree could not be recreated");
    }
}

async fn record_snapshot(ctx: &EngineContext, task: TaskId, run: RunId, snapshot: git::Snapshot) {
    let record = Snapshot { turn: snapshot.turn, tree: snapshot.tree };
    if let Err(error) = ctx.store.submit(task, Some(run), vec![record.into()]).await {
        tracing::warn!(%task, %error, "a snapshot could not be recorded in the session");
    }
}

/// Returns true if `tree` is the last snapshot that the session records.
async fn is_recorded(ctx: &EngineContext, task: TaskId, tree: &str) -> bool {
    let (sessions, tree) = (ctx.store.sessions().clone(), tree.to_owned());
    let read = tokio::task::spawn_blocking(move || -> Result<bool, StoreError> {
        let mut page = sessions.last_page(task, PAGE)?;
        loop {
            let last = page.events.iter().rev().find_map(|event| match &event.body {
                Body::Snapshot(snapshot) => Some(snapshot.tree == tree),
                _ => None,
            });
            match (last, page.older) {
                (Some(same), _) => return Ok(same),
                (None, Some(older)) => page = sessions.page_before(task, older, PAGE)?,
                (None, None) => return Ok(false),
            }
        }
    });
    // A duplicate record is better than a missing one.
    matches!(read.await, Ok(Ok(true)))
}

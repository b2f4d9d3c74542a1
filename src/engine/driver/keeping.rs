//! The states of a task's files: kept after each turn that changed something, said in the session, and not for ever.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};

use super::Parts;
use crate::agent::driver::Keeper;
use crate::base::{RunId, TaskId, TurnId};
use crate::engine::update::{Level, Notice, Update};
use crate::git::snapshot::{FILE_CAP, Taken};
use crate::model::event::Snapshot;

/// How many states of one task are kept.
pub(in crate::engine) const KEPT: usize = 100;

/// Keeps the states of one run.
pub(super) struct TurnKeeper {
    pub(super) parts: Arc<Parts>,
    pub(super) task: TaskId,
    pub(super) run: RunId,
    pub(super) path: PathBuf,
}

impl TurnKeeper {
    fn keep_as(&self, turn: TurnId) -> BoxFuture<'static, ()> {
        let (parts, task, run, path) = (Arc::clone(&self.parts), self.task, self.run, self.path.clone());
        async move {
            match parts.worktrees.take_snapshot(task, turn, &path, FILE_CAP).await {
                Ok(Taken::Same(_)) => {}
                Ok(Taken::New { snapshot, .. }) => {
                    let kept = Snapshot { turn: snapshot.turn, tree: snapshot.tree };
                    if let Err(error) = parts.store.submit(task, Some(run), vec![kept.into()]).await {
                        tracing::warn!(%task, %error, "a state of the files is kept, and the session does not say so");
                    }
                    if let Err(error) = parts.worktrees.prune_snapshots(task, KEPT).await {
                        tracing::warn!(%task, %error, "old states of the files could not be forgotten");
                    }
                }
                Err(error) => {
                    tracing::warn!(%task, %error, "the state of the files could not be kept");
                    let text = format!("the files of this turn could not be kept, so it cannot be rewound: {error}");
                    let notice = Notice { level: Level::Warning, text, task: Some(task) };
                    parts.feed.tell(&Update::Notice { notice });
                }
            }
        }
        .boxed()
    }
}

impl Keeper for TurnKeeper {
    fn begin(&self) -> BoxFuture<'static, ()> {
        self.keep_as(TurnId::fresh(&self.parts.ids))
    }

    fn keep(&self, turn: TurnId) -> BoxFuture<'static, ()> {
        self.keep_as(turn)
    }
}

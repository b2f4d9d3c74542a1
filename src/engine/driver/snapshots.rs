//! The states of a task's files: kept after each turn that changed something, said in the session, and not for ever. A
//! worktree that is gone by then is made again before the agent's next call.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};

use super::{Parts, launch, setup};
use crate::base::{RunId, TaskId, TurnId};
use crate::engine::machine::LaunchOrder;
use crate::engine::update::{Level, Notice, Update};
use crate::git::snapshot::{self as git, FILE_CAP, Taken};
use crate::model::event::{Body, Snapshot};
use crate::store::StoreError;

/// How many states of one task are kept.
pub(in crate::engine) const KEPT: usize = 100;

/// How many events are looked at in one go.
const PAGE: usize = 200;

/// Keeps the states of one run.
pub struct Snapshots {
    parts: Arc<Parts>,
    order: Arc<LaunchOrder>,
    run: RunId,
    path: PathBuf,
}

impl Snapshots {
    pub(super) fn new(parts: &Arc<Parts>, order: &LaunchOrder, run: RunId, path: PathBuf) -> Self {
        Self { parts: Arc::clone(parts), order: Arc::new(order.clone()), run, path }
    }

    /// Keeps the state before the first turn of a run.
    pub fn take_first(&self) -> BoxFuture<'static, ()> {
        self.keep_as(TurnId::fresh(&self.parts.ids), true)
    }

    /// Keeps the state after a turn that may have changed it.
    pub fn take(&self, turn: TurnId) -> BoxFuture<'static, ()> {
        self.keep_as(turn, false)
    }

    fn keep_as(&self, turn: TurnId, first: bool) -> BoxFuture<'static, ()> {
        let (parts, order) = (Arc::clone(&self.parts), Arc::clone(&self.order));
        let (task, run, path) = (order.node.id, self.run, self.path.clone());
        async move {
            bring_back(&parts, &order).await;
            match parts.worktrees.take_snapshot(task, turn, &path, FILE_CAP).await {
                // A crash may have come in between the state and the word on it.
                Ok(Taken::Same(snapshot)) if first && !is_said(&parts, task, &snapshot.tree).await => {
                    say(&parts, task, run, snapshot).await;
                }
                Ok(Taken::Same(_)) => {}
                Ok(Taken::New { snapshot, .. }) => {
                    say(&parts, task, run, snapshot).await;
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

/// Makes a worktree again that its agent, or anybody else, has taken away meanwhile, and tells the agent.
async fn bring_back(parts: &Arc<Parts>, order: &LaunchOrder) {
    let task = order.node.id;
    let is_gone = |place: &crate::engine::machine::Place| !place.worktree.join(".git").exists();
    if !order.place.as_ref().is_some_and(is_gone) {
        return;
    }
    let back = match setup::worktree(parts, order).await {
        Ok(ready) => launch::notify(parts, task, ready.notes).await,
        Err(failure) => Err(failure),
    };
    if let Err(failure) = back {
        tracing::warn!(%task, ?failure, "a worktree that was taken away could not be made again");
    }
}

async fn say(parts: &Parts, task: TaskId, run: RunId, snapshot: git::Snapshot) {
    let kept = Snapshot { turn: snapshot.turn, tree: snapshot.tree };
    if let Err(error) = parts.store.submit(task, Some(run), vec![kept.into()]).await {
        tracing::warn!(%task, %error, "a state of the files is kept, and the session does not say so");
    }
}

/// Tells whether a state is the last one that a session speaks of. It is looked for from the end.
async fn is_said(parts: &Parts, task: TaskId, tree: &str) -> bool {
    let (sessions, tree) = (parts.store.sessions().clone(), tree.to_owned());
    let read = tokio::task::spawn_blocking(move || -> Result<bool, StoreError> {
        let mut page = sessions.last_page(task, PAGE)?;
        loop {
            let last = page.events.iter().rev().find_map(|event| match &event.body {
                Body::Snapshot(kept) => Some(kept.tree == tree),
                _ => None,
            });
            match (last, page.older) {
                (Some(same), _) => return Ok(same),
                (None, Some(older)) => page = sessions.page_before(task, older, PAGE)?,
                (None, None) => return Ok(false),
            }
        }
    });
    // Said twice is better than not at all.
    matches!(read.await, Ok(Ok(true)))
}

//! An engine that does nothing by itself, for tests of those who watch one: every command is answered with "done", and
//! what the watchers are told is said by the test.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use crate::base::{Clock, TaskId};
use crate::config::paths::Home;
use crate::config::{Environment, merge};
use crate::engine::Handle;
use crate::engine::command::Outcome;
use crate::engine::driver::Incoming;
use crate::engine::feed::Feed;
use crate::engine::handle::Local;
use crate::engine::queries::Queries;
use crate::engine::reading::{LazyReader, Reader, Spot};
use crate::engine::snapshot::Snapshot;
use crate::git::Worktrees;
use crate::model::Project;
use crate::store::{Blobs, RealDisk, Sessions};

/// Returns the way to an engine that looks like `snapshot`, and the feed of whoever watches it. Its sessions are empty.
pub fn staged(
    snapshot: Snapshot,
    worktrees: Worktrees,
    home: &Home,
    project: &Project,
    clock: Arc<dyn Clock>,
) -> (Handle, Arc<Feed>) {
    let feed = Arc::new(Feed::default());
    let (incoming, mut commands) = mpsc::unbounded_channel();
    let (_, over) = watch::channel(false);
    let (disk, folder) = (Arc::new(RealDisk), home.project(project.id));
    let sessions = Sessions::new(disk.clone(), folder.sessions());
    let queries = Queries {
        home: home.clone(),
        project: project.clone(),
        settings: merge(&Environment::default(), &[]).unwrap().settings,
        clock,
        reader: LazyReader::Open(Arc::new(Reader::new(worktrees, sessions.clone()))),
        sessions,
        blobs: Blobs::new(disk, folder.blobs()),
    };
    let handle = Handle::new(Local { incoming, queries, over });
    let (told, checkout) = (Arc::clone(&feed), project.clone());
    tokio::spawn(async move {
        while let Some(heard) = commands.recv().await {
            match heard {
                Incoming::Command { answer, .. } => drop(answer.send(Ok(Outcome::Done))),
                Incoming::Spot { task, answer } => drop(answer.send(Ok(spot(task, snapshot.root, &checkout)))),
                Incoming::Look { answer } => drop(answer.send((snapshot.clone(), told.watch()))),
                _ => {}
            }
        }
    });
    (handle, feed)
}

/// Every task works in the project's own checkout.
fn spot(task: TaskId, root: TaskId, project: &Project) -> Spot {
    let base = project.base_branch.clone();
    Spot {
        task,
        worktree: Some(project.path.clone()),
        branch: Some(base.clone()),
        above: base.clone(),
        base,
        is_root: task == root,
        verify: None,
        receipt: None,
    }
}

//! An engine for tests of front ends. It answers every command with "done" and publishes only what the test sends to
//! its feed.

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
use crate::engine::snapshot::Snapshot;
use crate::engine::work_queries::{LazyReader, TaskLocation, WorkReader};
use crate::git::Worktrees;
use crate::model::Project;
use crate::store::{Blobs, RealDisk, Sessions};

/// Returns a handle to an engine that looks like `snapshot`, and the feed of its watchers. Its sessions are empty.
pub fn fake_engine(
    snapshot: Snapshot,
    worktrees: Worktrees,
    home: &Home,
    project: &Project,
    clock: Arc<dyn Clock>,
) -> (Handle, Arc<Feed>) {
    let feed = Arc::new(Feed::default());
    let (incoming, mut requests) = mpsc::unbounded_channel();
    let (_, ended) = watch::channel(None);
    let (disk, folder) = (Arc::new(RealDisk), home.project(project.id));
    let sessions = Sessions::new(disk.clone(), folder.sessions());
    let queries = Queries {
        home: home.clone(),
        project: project.clone(),
        settings: merge(&Environment::default(), &[]).unwrap().settings,
        clock,
        reader: LazyReader::Open(Arc::new(WorkReader::new(worktrees, sessions.clone()))),
        sessions,
        blobs: Blobs::new(disk, folder.blobs()),
    };
    let handle = Handle::new(Local { incoming, queries, ended });
    let (watched, checkout) = (Arc::clone(&feed), project.clone());
    tokio::spawn(async move {
        while let Some(request) = requests.recv().await {
            match request {
                Incoming::Command { answer, .. } => drop(answer.send(Ok(Outcome::Done))),
                Incoming::Location { task, answer } => drop(answer.send(Ok(location(task, snapshot.root, &checkout)))),
                Incoming::AddSnapshot { slot, answer } => {
                    slot.add(snapshot.clone());
                    let _ = answer.send(());
                }
                Incoming::Subscribe { answer } => drop(answer.send((snapshot.clone(), watched.watch()))),
                _ => {}
            }
        }
    });
    (handle, feed)
}

/// Returns a location in the project's own checkout.
fn location(task: TaskId, root: TaskId, project: &Project) -> TaskLocation {
    let base = project.base_branch.clone();
    TaskLocation {
        task,
        worktree: Some(project.path.clone()),
        branch: Some(base.clone()),
        parent_branch: base.clone(),
        base,
        is_root: task == root,
        verify: None,
        receipt: None,
    }
}

//! An engine that does nothing by itself, for tests of those who watch one: every command is answered with "done", and
//! what the watchers are told is said by the test.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use crate::engine::Handle;
use crate::engine::command::Outcome;
use crate::engine::driver::Incoming;
use crate::engine::feed::Feed;
use crate::engine::reading::Reader;
use crate::engine::snapshot::Snapshot;
use crate::git::Worktrees;
use crate::store::{Blobs, RealDisk, Sessions};

/// Returns the way to an engine that looks like `snapshot`, and the feed of whoever watches it. Its empty sessions are in
/// `folder`.
pub fn staged(snapshot: Snapshot, worktrees: Worktrees, folder: &Path) -> (Handle, Arc<Feed>) {
    let feed = Arc::new(Feed::default());
    let (incoming, mut commands) = mpsc::unbounded_channel();
    let (_, over) = watch::channel(false);
    let disk = Arc::new(RealDisk);
    let sessions = Sessions::new(disk.clone(), folder.join("sessions"));
    let handle = Handle {
        incoming,
        reader: Reader::new(worktrees, sessions.clone()),
        sessions,
        blobs: Blobs::new(disk, folder.join("blobs")),
        over,
    };
    let told = Arc::clone(&feed);
    tokio::spawn(async move {
        while let Some(heard) = commands.recv().await {
            match heard {
                Incoming::Command { answer, .. } => drop(answer.send(Ok(Outcome::Done))),
                Incoming::Look { answer } => drop(answer.send((snapshot.clone(), told.watch()))),
                _ => {}
            }
        }
    });
    (handle, feed)
}

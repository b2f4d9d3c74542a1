//! A small file that is written anew whenever what it holds changes. The screen never waits for the disk: whatever
//! comes while a state is being written waits as the one that is written next, and only the last of it.

use std::path::PathBuf;

use serde::Serialize;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::store::RealDisk;
use crate::store::replace::replace;

pub(super) struct Keeper {
    latest: watch::Sender<Vec<u8>>,
    writer: JoinHandle<()>,
}

impl Keeper {
    pub(super) fn new(path: PathBuf) -> Self {
        let (latest, mut news) = watch::channel(Vec::new());
        let writer = tokio::spawn(async move {
            while news.changed().await.is_ok() {
                let (bytes, path) = (news.borrow_and_update().clone(), path.clone());
                let written = tokio::task::spawn_blocking(move || {
                    let written = replace(&RealDisk, &path, &bytes);
                    written.map_err(|error| tracing::warn!(path = %path.display(), %error, "it could not be kept"))
                });
                let _ = written.await;
            }
        });
        Self { latest, writer }
    }

    /// Keeps a state in place of the one before.
    pub(super) fn keep(&self, state: &impl Serialize) {
        match serde_json::to_vec(state) {
            Ok(bytes) => drop(self.latest.send_replace(bytes)),
            Err(error) => tracing::warn!(%error, "what should be kept cannot be written down"),
        }
    }

    /// Waits until the last state is on disk.
    pub(super) async fn close(self) {
        drop(self.latest);
        let _ = self.writer.await;
    }
}

#[cfg(test)]
#[path = "keeper_tests.rs"]
mod tests;

//! A small file that is rewritten whenever its state changes. The UI never waits for the disk: while a state is being
//! written, only the latest of the following ones is kept.

use std::path::PathBuf;

use serde::Serialize;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::store::RealDisk;
use crate::store::replace::replace;

pub(super) struct StateFile {
    latest: watch::Sender<Vec<u8>>,
    writer: JoinHandle<()>,
}

impl StateFile {
    pub(super) fn new(path: PathBuf) -> Self {
        let (latest, mut changes) = watch::channel(Vec::new());
        let writer = tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let (bytes, path) = (changes.borrow_and_update().clone(), path.clone());
                let written = tokio::task::spawn_blocking(move || {
                    let written = replace(&RealDisk, &path, &bytes);
                    written
                        .map_err(|error| tracing::warn!(path = %path.display(), %error, "cannot write the state file"))
                });
                let _ = written.await;
            }
        });
        Self { latest, writer }
    }

    /// Replaces the state in the file.
    pub(super) fn save(&self, state: &impl Serialize) {
        match serde_json::to_vec(state) {
            Ok(bytes) => drop(self.latest.send_replace(bytes)),
            Err(error) => tracing::warn!(%error, "cannot encode the state"),
        }
    }

    /// Waits until the last state is on disk.
    pub(super) async fn close(self) {
        drop(self.latest);
        let _ = self.writer.await;
    }
}

#[cfg(test)]
#[path = "state_file_tests.rs"]
mod tests;

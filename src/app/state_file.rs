//! A small file that is rewritten whenever its state changes. The UI never waits for the disk: while a state is being
//! written, only the latest of the following ones is kept.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::store::RealDisk;
use crate::store::replace::replace;

/// Takes the lock of the files of the screen. `None` if another screen has it.
pub(super) fn lock(path: &Path) -> Option<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).ok()?;
    }
    let file = File::options().create(true).write(true).truncate(false).mode(0o600).open(path).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

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

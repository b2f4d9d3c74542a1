//! The error stream of a server, kept in a file that cannot grow without end: a current one, and the one before it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::base::text;
use crate::process::Capture;

/// How large one file may get. There are at most two.
pub(super) const CAP: u64 = 1 << 20;
/// How often the stream is looked at. A flood in between is counted, not kept.
const PACE: Duration = Duration::from_millis(100);

/// The log of one server.
#[derive(Clone, Debug)]
pub(super) struct Log {
    path: PathBuf,
}

impl Log {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Appends what the stream says until nobody can say anything more.
    pub(super) async fn follow(self, headline: String, stream: Arc<Capture>) {
        self.write(format!("== {headline}\n").into_bytes()).await;
        loop {
            stream.fresh().await;
            let closed = stream.is_closed();
            let pending = stream.take_pending();
            let mut bytes = Vec::new();
            if pending.skipped > 0 {
                bytes = format!("\n[{} not kept]\n", text::size(pending.skipped)).into_bytes();
            }
            bytes.extend_from_slice(&pending.bytes);
            self.write(bytes).await;
            if closed {
                return;
            }
            tokio::time::sleep(PACE).await;
        }
    }

    async fn write(&self, bytes: Vec<u8>) {
        let log = self.clone();
        // Only the end of the runtime keeps it from running, and then nobody reads the log.
        let _ = tokio::task::spawn_blocking(move || {
            if let Err(error) = log.append(&bytes) {
                tracing::warn!(%error, path = %log.path.display(), "what a server said could not be kept");
            }
        })
        .await;
    }

    pub(super) fn append(&self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let size = fs::metadata(&self.path).map_or(0, |meta| meta.len());
        if size > 0 && size + bytes.len() as u64 > CAP {
            fs::rename(&self.path, self.path.with_extension("log.1"))?;
        }
        // A server may say anything: only its owner reads it.
        OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path)?.write_all(bytes)
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;

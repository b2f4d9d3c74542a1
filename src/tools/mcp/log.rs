//! Logs the error stream of a server, without its secrets, to a file of limited size and its predecessor.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::base::text;
use crate::process::Capture;
use crate::tools::mcp::redact::Redactor;

/// The largest size of one file. There are at most two.
pub(super) const CAP: u64 = 1 << 20;
/// How often the stream is read. Overflow in between is counted, not stored.
const PACE: Duration = Duration::from_millis(100);

/// An incomplete line of this length is written without waiting for its end.
const LONGEST_LINE: usize = 16 << 10;

#[derive(Clone)]
pub(super) struct ServerLog {
    path: PathBuf,
    redactor: Arc<Redactor>,
}

impl ServerLog {
    pub(super) fn new(path: PathBuf, redactor: Arc<Redactor>) -> Self {
        Self { path, redactor }
    }

    /// Appends the stream until it ends.
    pub(super) async fn follow(self, headline: String, stream: Arc<Capture>) {
        self.write(format!("== {headline}\n").into_bytes()).await;
        let mut buffer = Vec::new();
        loop {
            stream.wait_for_output().await;
            let closed = stream.is_closed();
            let pending = stream.take_pending();
            if pending.skipped > 0 {
                buffer.extend(format!("\n[{} not kept]\n", text::size(pending.skipped)).into_bytes());
            }
            buffer.extend_from_slice(&pending.bytes);
            let bytes = if closed { std::mem::take(&mut buffer) } else { whole_lines(&mut buffer) };
            self.write(self.clean(&bytes)).await;
            if closed {
                return;
            }
            tokio::time::sleep(PACE).await;
        }
    }

    /// Masks secrets: a server may print its token.
    fn clean(&self, bytes: &[u8]) -> Vec<u8> {
        self.redactor.clean(&String::from_utf8_lossy(bytes)).into_bytes()
    }

    async fn write(&self, bytes: Vec<u8>) {
        let log = self.clone();
        // It fails only when the runtime ends.
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
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let size = fs::metadata(&self.path).map_or(0, |meta| meta.len());
        if size > 0 && size + bytes.len() as u64 > CAP {
            fs::rename(&self.path, self.path.with_extension("log.1"))?;
        }
        // A server may log anything: only the owner may read it.
        OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path)?.write_all(bytes)
    }
}

/// Takes the complete lines: a secret must not be split and missed.
fn whole_lines(buffer: &mut Vec<u8>) -> Vec<u8> {
    let end = buffer.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
    let end = end.unwrap_or(if buffer.len() > LONGEST_LINE { buffer.len() } else { 0 });
    buffer.drain(..end).collect()
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;

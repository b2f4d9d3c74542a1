//! The error stream of a server, without its secrets, in a file that cannot grow without end: a current one, and the one
//! before it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::base::text;
use crate::process::Capture;
use crate::tools::mcp::redact::Redactor;

/// How large one file may get. There are at most two.
pub(super) const CAP: u64 = 1 << 20;
/// How often the stream is looked at. A flood in between is counted, not kept.
const PACE: Duration = Duration::from_millis(100);

/// How much of a line without an end is waited for before it is kept as it is.
const LONGEST_LINE: usize = 16 << 10;

/// The log of one server.
#[derive(Clone)]
pub(super) struct Log {
    path: PathBuf,
    redactor: Arc<Redactor>,
}

impl Log {
    pub(super) fn new(path: PathBuf, redactor: Arc<Redactor>) -> Self {
        Self { path, redactor }
    }

    /// Appends what the stream says until nobody can say anything more.
    pub(super) async fn follow(self, headline: String, stream: Arc<Capture>) {
        self.write(format!("== {headline}\n").into_bytes()).await;
        let mut unsaid = Vec::new();
        loop {
            stream.fresh().await;
            let closed = stream.is_closed();
            let pending = stream.take_pending();
            if pending.skipped > 0 {
                unsaid.extend(format!("\n[{} not kept]\n", text::size(pending.skipped)).into_bytes());
            }
            unsaid.extend_from_slice(&pending.bytes);
            let bytes = if closed { std::mem::take(&mut unsaid) } else { whole_lines(&mut unsaid) };
            self.write(self.clean(&bytes)).await;
            if closed {
                return;
            }
            tokio::time::sleep(PACE).await;
        }
    }

    /// A server may repeat its token on its error stream.
    fn clean(&self, bytes: &[u8]) -> Vec<u8> {
        self.redactor.clean(&String::from_utf8_lossy(bytes)).into_bytes()
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
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let size = fs::metadata(&self.path).map_or(0, |meta| meta.len());
        if size > 0 && size + bytes.len() as u64 > CAP {
            fs::rename(&self.path, self.path.with_extension("log.1"))?;
        }
        // A server may say anything: only its owner reads it.
        OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path)?.write_all(bytes)
    }
}

/// Takes the lines that have come to their end: a secret must not be cut in two and so be missed.
fn whole_lines(unsaid: &mut Vec<u8>) -> Vec<u8> {
    let end = unsaid.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
    let end = end.unwrap_or(if unsaid.len() > LONGEST_LINE { unsaid.len() } else { 0 });
    unsaid.drain(..end).collect()
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;

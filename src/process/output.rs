//! Captures the output of a child in bounded memory: beginning, end, size, and what was not displayed yet.
//!
//! Each stream has its own thread, so that a flood of output blocks neither other children nor the runtime. Readers
//! take snapshots; a slow reader never blocks the child.

use std::io::Read;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

use super::output_file::OutputFile;

/// Bytes kept from the beginning, unless the caller wants more.
pub const HEAD: usize = 64 << 10;
/// Bytes kept from the end.
pub const TAIL: usize = 64 << 10;
/// Bytes that may wait to be displayed. No user could read more than that.
const PENDING: usize = 32 << 10;
const CHUNK: usize = 64 << 10;

/// One captured output stream.
#[derive(Debug)]
pub struct Capture {
    state: Mutex<State>,
    changed: Notify,
    head_cap: usize,
}

#[derive(Debug, Default)]
struct State {
    head: Vec<u8>,
    tail: Tail,
    total: u64,
    lines: u64,
    has_nul: bool,
    file: Option<(PathBuf, u64)>,
    pending: Vec<u8>,
    skipped: u64,
    closed: bool,
}

/// The state of a stream at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputSnapshot {
    /// The beginning; the whole stream if `total` is not larger.
    pub head: Vec<u8>,
    /// The end; overlaps the beginning of a short stream.
    pub tail: Vec<u8>,
    pub total: u64,
    /// Number of line breaks.
    pub lines: u64,
    /// A zero byte occurred: not text.
    pub has_nul: bool,
    /// The file with the stream from its first byte, once it does not fit in memory.
    pub file: Option<PathBuf>,
    /// How many bytes that file holds.
    pub file_bytes: u64,
    /// The stream has ended.
    pub closed: bool,
}

/// Output that was not displayed yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// Bytes dropped before `bytes`, because they came too fast.
    pub skipped: u64,
    pub bytes: Vec<u8>,
}

impl Capture {
    pub(super) fn new(head_cap: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), changed: Notify::new(), head_cap })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn snapshot(&self) -> OutputSnapshot {
        let state = self.lock();
        OutputSnapshot {
            head: state.head.clone(),
            tail: state.tail.bytes().to_vec(),
            total: state.total,
            lines: state.lines,
            has_nul: state.has_nul,
            file: state.file.as_ref().map(|(path, _)| path.clone()),
            file_bytes: state.file.as_ref().map_or(0, |(_, bytes)| *bytes),
            closed: state.closed,
        }
    }

    /// Waits until there is pending output or the stream is closed.
    pub async fn wait_for_output(&self) {
        loop {
            let notified = self.changed.notified();
            {
                let state = self.lock();
                if !state.pending.is_empty() || state.closed {
                    return;
                }
            }
            notified.await;
        }
    }

    /// Takes the pending output.
    pub fn take_pending(&self) -> Pending {
        let mut state = self.lock();
        Pending { skipped: mem::take(&mut state.skipped), bytes: mem::take(&mut state.pending) }
    }

    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn append(&self, bytes: &[u8], file: Option<(&Path, u64)>) {
        let mut state = self.lock();
        let free = self.head_cap - state.head.len().min(self.head_cap);
        let head = &bytes[..bytes.len().min(free)];
        state.head.extend_from_slice(head);
        state.tail.push(bytes);
        state.total += bytes.len() as u64;
        state.lines += line_breaks(bytes);
        state.has_nul |= bytes.contains(&0);
        match (&mut state.file, file) {
            (Some((_, bytes)), Some((_, written))) => *bytes = written,
            (slot, Some((path, written))) => *slot = Some((path.to_owned(), written)),
            (_, None) => {}
        }
        state.pending.extend_from_slice(bytes);
        let excess = state.pending.len().saturating_sub(PENDING);
        state.pending.drain(..excess);
        state.skipped += excess as u64;
        drop(state);
        self.changed.notify_one();
    }

    fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_waiters();
        self.changed.notify_one();
    }

    /// Reads `source` to its end on its own thread. The receiver resolves when the stream is closed.
    pub(super) fn drain(
        self: &Arc<Self>,
        source: impl Read + Send + 'static,
        overflow: Option<PathBuf>,
    ) -> std::io::Result<oneshot::Receiver<()>> {
        let (done, closed) = oneshot::channel();
        let capture = Arc::clone(self);
        std::thread::Builder::new().name("output".to_owned()).stack_size(256 << 10).spawn(move || {
            capture.pump(source, overflow.map(OutputFile::new));
            capture.close();
            drop(done);
        })?;
        Ok(closed)
    }

    fn pump(&self, mut source: impl Read, mut overflow: Option<OutputFile>) {
        let mut chunk = vec![0; CHUNK];
        let mut total = 0_u64;
        loop {
            let bytes = match source.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => &chunk[..count],
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            if let Some(overflow) = &mut overflow {
                // Write to disk only once memory does not hold the beginning: most commands print little.
                if total + bytes.len() as u64 > self.head_cap as u64 {
                    if overflow.location().is_none() {
                        let head = self.lock().head.clone();
                        overflow.append(&head);
                    }
                    overflow.append(bytes);
                }
            }
            total += bytes.len() as u64;
            self.append(bytes, overflow.as_ref().and_then(OutputFile::location));
        }
    }
}

/// Returns the number of line breaks in `bytes`.
#[expect(clippy::naive_bytecount, reason = "the compiler makes it as fast as it needs to be")]
pub fn line_breaks(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// The last bytes of a stream. Holds up to twice `TAIL`, so that most pushes only append.
#[derive(Debug, Default)]
struct Tail(Vec<u8>);

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL)..]);
        if self.0.len() > 2 * TAIL {
            self.0.drain(..self.0.len() - TAIL);
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.0[self.0.len().saturating_sub(TAIL)..]
    }
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;

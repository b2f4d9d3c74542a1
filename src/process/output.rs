//! What a child says, in bounded memory: its beginning, its end, its size, and what nobody has been shown yet.
//!
//! A thread of its own drains each stream, so that a flood delays nobody: not the child's neighbours, not the
//! runtime. Readers look at the capture whenever they like; they can be slow, and never make the child wait.

use std::io::Read;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

use super::spool::Spool;

/// How much of the beginning is kept in memory, unless the caller wants more.
pub const HEAD: usize = 64 << 10;
/// How much of the end is kept in memory.
pub const TAIL: usize = 64 << 10;
/// How much may wait to be shown. More than that nobody could read anyway.
const PENDING: usize = 32 << 10;
const CHUNK: usize = 64 << 10;

/// One stream of a child.
#[derive(Debug)]
pub struct Capture {
    state: Mutex<State>,
    fresh: Notify,
    head_cap: usize,
}

#[derive(Debug, Default)]
struct State {
    head: Vec<u8>,
    tail: Tail,
    total: u64,
    lines: u64,
    has_nul: bool,
    kept: Option<(PathBuf, u64)>,
    pending: Vec<u8>,
    skipped: u64,
    closed: bool,
}

/// What a stream holds at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glimpse {
    /// The beginning: everything, if `total` is not larger.
    pub head: Vec<u8>,
    /// The end; overlaps the beginning when the whole is short.
    pub tail: Vec<u8>,
    pub total: u64,
    /// Line breaks seen.
    pub lines: u64,
    /// A zero byte was seen: this is not text.
    pub has_nul: bool,
    /// The file that holds the stream from its first byte, once it no longer fits in memory.
    pub file: Option<PathBuf>,
    /// How many bytes of the stream that file has.
    pub file_bytes: u64,
    /// Nothing more can come.
    pub closed: bool,
}

/// Output that has not been shown yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// How many bytes before `bytes` came too fast to be shown.
    pub skipped: u64,
    pub bytes: Vec<u8>,
}

impl Capture {
    pub(super) fn new(head_cap: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), fresh: Notify::new(), head_cap })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what the stream holds now.
    pub fn glimpse(&self) -> Glimpse {
        let state = self.lock();
        Glimpse {
            head: state.head.clone(),
            tail: state.tail.bytes().to_vec(),
            total: state.total,
            lines: state.lines,
            has_nul: state.has_nul,
            file: state.kept.as_ref().map(|(path, _)| path.clone()),
            file_bytes: state.kept.as_ref().map_or(0, |(_, bytes)| *bytes),
            closed: state.closed,
        }
    }

    /// Waits until there is something to show, or the stream is closed and there never will be.
    pub async fn fresh(&self) {
        loop {
            let notified = self.fresh.notified();
            {
                let state = self.lock();
                if !state.pending.is_empty() || state.closed {
                    return;
                }
            }
            notified.await;
        }
    }

    /// Takes what has not been shown yet.
    pub fn take_pending(&self) -> Pending {
        let mut state = self.lock();
        Pending { skipped: mem::take(&mut state.skipped), bytes: mem::take(&mut state.pending) }
    }

    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn absorb(&self, bytes: &[u8], kept: Option<(&Path, u64)>) {
        let mut state = self.lock();
        let room = self.head_cap - state.head.len().min(self.head_cap);
        let head = &bytes[..bytes.len().min(room)];
        state.head.extend_from_slice(head);
        state.tail.push(bytes);
        state.total += bytes.len() as u64;
        state.lines += line_breaks(bytes);
        state.has_nul |= bytes.contains(&0);
        match (&mut state.kept, kept) {
            (Some((_, have)), Some((_, written))) => *have = written,
            (slot, Some((path, written))) => *slot = Some((path.to_owned(), written)),
            (_, None) => {}
        }
        state.pending.extend_from_slice(bytes);
        let excess = state.pending.len().saturating_sub(PENDING);
        state.pending.drain(..excess);
        state.skipped += excess as u64;
        drop(state);
        self.fresh.notify_one();
    }

    fn close(&self) {
        self.lock().closed = true;
        self.fresh.notify_waiters();
        self.fresh.notify_one();
    }

    /// Drains `source` to its end on a thread of its own. The receiver resolves when the stream is closed.
    pub(super) fn drain(
        self: &Arc<Self>,
        source: impl Read + Send + 'static,
        spool: Option<PathBuf>,
    ) -> std::io::Result<oneshot::Receiver<()>> {
        let (done, closed) = oneshot::channel();
        let capture = Arc::clone(self);
        std::thread::Builder::new().name("output".to_owned()).stack_size(256 << 10).spawn(move || {
            capture.pump(source, spool.map(Spool::new));
            capture.close();
            drop(done);
        })?;
        Ok(closed)
    }

    fn pump(&self, mut source: impl Read, mut spool: Option<Spool>) {
        let mut chunk = vec![0; CHUNK];
        let mut total = 0_u64;
        loop {
            let bytes = match source.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => &chunk[..count],
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            if let Some(spool) = &mut spool {
                // Nothing is written until memory no longer holds the beginning: most commands say little.
                if total + bytes.len() as u64 > self.head_cap as u64 {
                    if spool.kept().is_none() {
                        let head = self.lock().head.clone();
                        spool.append(&head);
                    }
                    spool.append(bytes);
                }
            }
            total += bytes.len() as u64;
            self.absorb(bytes, spool.as_ref().and_then(Spool::kept));
        }
    }
}

/// Returns the number of line breaks in `bytes`.
#[expect(clippy::naive_bytecount, reason = "the compiler makes it as fast as it needs to be")]
pub fn line_breaks(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// The last bytes of a stream. Holds up to twice its size, so that most pushes only append.
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

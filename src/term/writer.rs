//! Writes bytes to the terminal on its own thread, one frame at a time. Drawing never waits for it.
//!
//! While a frame is being written no other is accepted, so that a slow terminal shows fewer frames instead of older
//! ones. A refused caller is notified when the writer is free. Short control sequences (title, bell) go between frames,
//! never into one. A frame of an earlier screen epoch is dropped, even if half written.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::sync::Notify;

use super::device::{Ready, ScreenEpoch, Tty, WriteOutcome};

/// The most bytes of control sequences that may wait for a stuck terminal.
const CONTROL_LIMIT: usize = 1 << 20;

/// The control buffer is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Congested;

pub(super) struct TerminalWriter {
    shared: Arc<Shared>,
    /// Closing it ends a wait for a stuck terminal.
    wake: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    /// Set if frames are recorded instead of written.
    #[cfg(test)]
    frame_log: Option<FrameLog>,
}

/// Recorded frames, with the time each was drawn.
#[cfg(test)]
pub(super) type FrameLog = Arc<Mutex<Vec<(tokio::time::Instant, Vec<u8>)>>>;

struct Shared {
    tty: Arc<Tty>,
    slot: Mutex<Slot>,
    filled: Condvar,
    ready: Notify,
}

#[derive(Default)]
struct Slot {
    control: Vec<u8>,
    frame: Option<Vec<u8>>,
    writing: bool,
    /// A caller waits for the writer to be free.
    has_waiter: bool,
    closed: bool,
}

impl Shared {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TerminalWriter {
    pub(super) fn start(tty: Arc<Tty>) -> io::Result<Self> {
        let (wake_pipe, wake) = pipe_with(PipeFlags::CLOEXEC)?;
        let shared = Arc::new(Shared { tty, slot: Mutex::default(), filled: Condvar::new(), ready: Notify::new() });
        let mine = Arc::clone(&shared);
        let thread =
            std::thread::Builder::new().name("terminal output".into()).spawn(move || write_loop(&mine, &wake_pipe))?;
        Ok(Self {
            shared,
            wake: Some(wake),
            thread: Some(thread),
            #[cfg(test)]
            frame_log: None,
        })
    }

    /// Returns a writer that records every frame and is never busy.
    #[cfg(test)]
    pub(super) fn recording(tty: Arc<Tty>) -> (Self, FrameLog) {
        let frame_log = FrameLog::default();
        let shared = Arc::new(Shared { tty, slot: Mutex::default(), filled: Condvar::new(), ready: Notify::new() });
        (Self { shared, wake: None, thread: None, frame_log: Some(Arc::clone(&frame_log)) }, frame_log)
    }

    /// Returns true if a frame would be refused now; if so, [`TerminalWriter::ready`] resolves when the writer is free.
    pub(super) fn is_busy(&self) -> bool {
        let mut slot = self.shared.slot();
        let busy = slot.writing || slot.frame.is_some();
        slot.has_waiter |= busy;
        busy
    }

    /// Sends a frame. The caller has checked that the writer is free; a second frame would replace the first.
    pub(super) fn send_frame(&self, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        #[cfg(test)]
        if let Some(frame_log) = &self.frame_log {
            frame_log.lock().unwrap_or_else(PoisonError::into_inner).push((tokio::time::Instant::now(), bytes));
            return self.shared.ready.notify_one();
        }
        let mut slot = self.shared.slot();
        slot.frame = Some(bytes);
        slot.has_waiter = true;
        drop(slot);
        self.shared.filled.notify_one();
    }

    /// Sends a control sequence before the next frame.
    pub(super) fn send_control(&self, bytes: &[u8]) -> Result<(), Congested> {
        let mut slot = self.shared.slot();
        if slot.control.len() + bytes.len() > CONTROL_LIMIT {
            return Err(Congested);
        }
        slot.control.extend_from_slice(bytes);
        drop(slot);
        self.shared.filled.notify_one();
        Ok(())
    }

    /// Drops unwritten bytes: they belong to an earlier epoch.
    pub(super) fn clear(&self) {
        let mut slot = self.shared.slot();
        slot.frame = None;
        slot.control.clear();
    }

    /// Waits until a frame was written, or the writer is free after a refusal.
    pub(super) async fn ready(&self) {
        self.shared.ready.notified().await;
    }
}

impl Drop for TerminalWriter {
    fn drop(&mut self) {
        self.shared.slot().closed = true;
        self.wake.take();
        self.shared.filled.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write_loop(shared: &Shared, wake_pipe: &OwnedFd) {
    loop {
        let (control, frame) = {
            let empty = |slot: &mut Slot| !slot.closed && slot.frame.is_none() && slot.control.is_empty();
            let waited = shared.filled.wait_while(shared.slot(), empty);
            let mut slot = waited.unwrap_or_else(PoisonError::into_inner);
            if slot.closed {
                return;
            }
            slot.writing = true;
            (std::mem::take(&mut slot.control), slot.frame.take())
        };
        if let Some(epoch) = shared.tty.epoch() {
            for bytes in [control, frame.unwrap_or_default()] {
                write(&shared.tty, epoch, &bytes, wake_pipe);
            }
        }
        let mut slot = shared.slot();
        slot.writing = false;
        if slot.frame.is_none() && std::mem::take(&mut slot.has_waiter) {
            shared.ready.notify_one();
        }
    }
}

fn write(tty: &Tty, epoch: ScreenEpoch, mut bytes: &[u8], wake_pipe: &OwnedFd) {
    while !bytes.is_empty() {
        match tty.write_frame(epoch, bytes) {
            WriteOutcome::Bytes(count) => bytes = &bytes[count..],
            WriteOutcome::Full => match tty.wait_writable(wake_pipe.as_fd()) {
                Ok(Ready::Device | Ready::TimedOut) => {}
                Ok(Ready::Woken) | Err(_) => return,
            },
            // The reader notices that the terminal is gone.
            WriteOutcome::Refused | WriteOutcome::Gone => return,
        }
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;

//! The way of bytes to the terminal: one thread, at most one frame on its way, and never a wait for those who draw.
//!
//! While a frame is on its way no other is accepted, so that a slow line shows fewer frames instead of older ones; who was
//! refused is told when the line is free. Short control sequences (a title, a bell) go between frames and never into
//! one. A frame of an earlier stay on the screen is dropped, whole or half written.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::sync::Notify;

use super::device::{Entry, Ready, Tty, Wrote};

/// How many bytes of control sequences may wait for a terminal that takes nothing.
const CONTROL_LIMIT: usize = 1 << 20;

/// The line does not take more for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Congested;

pub(super) struct Outlet {
    shared: Arc<Shared>,
    /// Closing it ends a wait for a terminal that takes nothing.
    wake: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    /// What was sent, where nothing but this takes it.
    #[cfg(test)]
    kept: Option<Kept>,
}

/// Every frame of an outlet without a line, and when it was drawn.
#[cfg(test)]
pub(super) type Kept = Arc<Mutex<Vec<(tokio::time::Instant, Vec<u8>)>>>;

struct Shared {
    tty: Arc<Tty>,
    slot: Mutex<Slot>,
    filled: Condvar,
    landed: Notify,
}

#[derive(Default)]
struct Slot {
    control: Vec<u8>,
    frame: Option<Vec<u8>>,
    writing: bool,
    /// Somebody wants to hear when the line is free.
    awaited: bool,
    closed: bool,
}

impl Shared {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outlet {
    pub(super) fn start(tty: Arc<Tty>) -> io::Result<Self> {
        let (asleep, wake) = pipe_with(PipeFlags::CLOEXEC)?;
        let shared = Arc::new(Shared { tty, slot: Mutex::default(), filled: Condvar::new(), landed: Notify::new() });
        let mine = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("terminal output".into()).spawn(move || carry(&mine, &asleep))?;
        Ok(Self {
            shared,
            wake: Some(wake),
            thread: Some(thread),
            #[cfg(test)]
            kept: None,
        })
    }

    /// Returns an outlet without a line: every frame lands at once and is kept.
    #[cfg(test)]
    pub(super) fn keeping(tty: Arc<Tty>) -> (Self, Kept) {
        let kept = Kept::default();
        let shared = Arc::new(Shared { tty, slot: Mutex::default(), filled: Condvar::new(), landed: Notify::new() });
        (Self { shared, wake: None, thread: None, kept: Some(Arc::clone(&kept)) }, kept)
    }

    /// Tells whether a frame would be refused now; if so, [`Outlet::landed`] will tell when no longer.
    pub(super) fn is_busy(&self) -> bool {
        let mut slot = self.shared.slot();
        let busy = slot.writing || slot.frame.is_some();
        slot.awaited |= busy;
        busy
    }

    /// Sends a frame, whose landing will be told. The caller has made sure that the line is free; a second frame would be drawn over the first.
    pub(super) fn frame(&self, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        #[cfg(test)]
        if let Some(kept) = &self.kept {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push((tokio::time::Instant::now(), bytes));
            return self.shared.landed.notify_one();
        }
        let mut slot = self.shared.slot();
        slot.frame = Some(bytes);
        slot.awaited = true;
        drop(slot);
        self.shared.filled.notify_one();
    }

    /// Sends a control sequence, before the next frame.
    pub(super) fn control(&self, bytes: &[u8]) -> Result<(), Congested> {
        let mut slot = self.shared.slot();
        if slot.control.len() + bytes.len() > CONTROL_LIMIT {
            return Err(Congested);
        }
        slot.control.extend_from_slice(bytes);
        drop(slot);
        self.shared.filled.notify_one();
        Ok(())
    }

    /// Forgets what has not been written yet: it was meant for a stay that is over.
    pub(super) fn clear(&self) {
        let mut slot = self.shared.slot();
        slot.frame = None;
        slot.control.clear();
    }

    /// Waits until a frame has landed, or the line is free for one that was refused.
    pub(super) async fn landed(&self) {
        self.shared.landed.notified().await;
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.shared.slot().closed = true;
        self.wake.take();
        self.shared.filled.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn carry(shared: &Shared, asleep: &OwnedFd) {
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
        if let Some(entry) = shared.tty.entry() {
            for bytes in [control, frame.unwrap_or_default()] {
                write(&shared.tty, entry, &bytes, asleep);
            }
        }
        let mut slot = shared.slot();
        slot.writing = false;
        if slot.frame.is_none() && std::mem::take(&mut slot.awaited) {
            shared.landed.notify_one();
        }
    }
}

fn write(tty: &Tty, entry: Entry, mut bytes: &[u8], asleep: &OwnedFd) {
    while !bytes.is_empty() {
        match tty.write_frame(entry, bytes) {
            Wrote::Bytes(count) => bytes = &bytes[count..],
            Wrote::Full => match tty.wait_writable(asleep.as_fd()) {
                Ok(Ready::Device | Ready::TimedOut) => {}
                Ok(Ready::Woken) | Err(_) => return,
            },
            // Reading notices that the terminal is gone and says so.
            Wrote::Refused | Wrote::Gone => return,
        }
    }
}

#[cfg(test)]
#[path = "outlet_tests.rs"]
mod tests;

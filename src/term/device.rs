//! The terminal device: its descriptor, line settings and size, with bounded reads and writes.
//!
//! The device is opened anew, so that making it non-blocking does not affect the shell that shares the standard
//! streams. Frame writes pass a gate: once the modes are being restored, no frame can follow. Nothing here blocks
//! without a bound. It does not know modes or keys.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::termios::{self, OptionalActions, QueueSelector, Termios};

/// Bytes per write. Small enough that a descriptor that could not be made non-blocking takes a chunk without waiting,
/// once it polls as writable.
const CHUNK: usize = 4096;

/// A terminal opened for reading and writing.
#[derive(Debug)]
pub(super) struct Tty {
    fd: OwnedFd,
    /// A frame passes only if its epoch is the open one.
    gate: Mutex<FrameGate>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameGate {
    Open(ScreenEpoch),
    Closed,
}

/// Counts how often the screen was entered, to recognise frames from before the last restore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ScreenEpoch(u64);

impl ScreenEpoch {
    pub(super) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Result of writing a piece of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WriteOutcome {
    Bytes(usize),
    /// The terminal's buffer is full.
    Full,
    /// The frame is from an earlier epoch.
    Refused,
    /// The terminal is gone.
    Gone,
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    Device,
    Woken,
    TimedOut,
}

impl Tty {
    /// Opens the terminal behind standard output.
    pub(super) fn open() -> io::Result<Self> {
        let stdout = rustix::stdio::stdout();
        let named = termios::ttyname(stdout, Vec::new()).ok().and_then(|name| name.into_string().ok());
        for path in named.map(PathBuf::from).into_iter().chain([PathBuf::from("/dev/tty")]) {
            let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
            if let Ok(fd) = rustix::fs::open(path, flags, rustix::fs::Mode::empty()) {
                return Ok(Self::from_fd(fd));
            }
        }
        // A container without device files: the descriptor is shared with the shell, so it stays blocking.
        Ok(Self::from_fd(rustix::io::fcntl_dupfd_cloexec(stdout, 3)?))
    }

    pub(super) fn from_fd(fd: OwnedFd) -> Self {
        Self { fd, gate: Mutex::new(FrameGate::Closed) }
    }

    /// Returns columns and rows; 80x24 if the terminal does not know its size.
    pub(super) fn size(&self) -> io::Result<(u16, u16)> {
        let size = termios::tcgetwinsize(&self.fd)?;
        Ok(if size.ws_col == 0 || size.ws_row == 0 { (80, 24) } else { (size.ws_col, size.ws_row) })
    }

    pub(super) fn settings(&self) -> io::Result<Termios> {
        Ok(termios::tcgetattr(&self.fd)?)
    }

    pub(super) fn apply(&self, settings: &Termios) -> io::Result<()> {
        loop {
            match termios::tcsetattr(&self.fd, OptionalActions::Now, settings) {
                Err(Errno::INTR) => {}
                done => return Ok(done?),
            }
        }
    }

    /// Discards typed input that was not read yet.
    pub(super) fn discard_input(&self) {
        let _ = termios::tcflush(&self.fd, QueueSelector::IFlush);
    }

    /// Returns true if another process group owns the terminal; touching it would stop this process.
    pub(super) fn is_in_background(&self) -> bool {
        termios::tcgetpgrp(&self.fd).is_ok_and(|foreground| foreground != rustix::process::getpgrp())
    }

    fn gate(&self) -> MutexGuard<'_, FrameGate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets frames of `epoch` through.
    pub(super) fn open_gate(&self, epoch: ScreenEpoch) {
        *self.gate() = FrameGate::Open(epoch);
    }

    /// Blocks all frames. Returns once no piece of a frame is being written.
    pub(super) fn close_gate(&self) {
        *self.gate() = FrameGate::Closed;
    }

    /// Returns the epoch whose frames may pass, or `None` if the gate is closed.
    pub(super) fn epoch(&self) -> Option<ScreenEpoch> {
        match *self.gate() {
            FrameGate::Open(epoch) => Some(epoch),
            FrameGate::Closed => None,
        }
    }

    /// Writes as much of a frame as the terminal takes without waiting.
    pub(super) fn write_frame(&self, epoch: ScreenEpoch, bytes: &[u8]) -> WriteOutcome {
        let gate = self.gate();
        if *gate != FrameGate::Open(epoch) {
            return WriteOutcome::Refused;
        }
        self.write_some(bytes)
    }

    fn write_some(&self, bytes: &[u8]) -> WriteOutcome {
        match rustix::io::write(&self.fd, &bytes[..bytes.len().min(CHUNK)]) {
            Ok(count) => WriteOutcome::Bytes(count),
            Err(Errno::AGAIN | Errno::INTR) => WriteOutcome::Full,
            Err(_) => WriteOutcome::Gone,
        }
    }

    /// Writes all of `bytes`, ignoring the gate. Fails if the terminal takes nothing for `timeout`.
    pub(super) fn write_now(&self, mut bytes: &[u8], timeout: Duration) -> io::Result<()> {
        let _gate = self.gate();
        let mut deadline = Instant::now() + timeout;
        while !bytes.is_empty() {
            match self.write_some(bytes) {
                WriteOutcome::Bytes(count) => {
                    bytes = &bytes[count..];
                    deadline = Instant::now() + timeout;
                }
                WriteOutcome::Full => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    wait(&[(self.fd.as_fd(), PollFlags::OUT)], Some(left))?;
                }
                WriteOutcome::Refused | WriteOutcome::Gone => return Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
        Ok(())
    }

    /// Waits until the terminal is writable or `wake` is closed.
    pub(super) fn wait_writable(&self, wake: BorrowedFd<'_>) -> io::Result<Ready> {
        wait(&[(self.fd.as_fd(), PollFlags::OUT), (wake, PollFlags::IN)], None)
    }

    /// Waits until there is input, `wake` is closed, or `timeout` has passed.
    pub(super) fn wait_readable(&self, wake: BorrowedFd<'_>, timeout: Option<Duration>) -> io::Result<Ready> {
        wait(&[(self.fd.as_fd(), PollFlags::IN), (wake, PollFlags::IN)], timeout)
    }

    /// Reads available input. `WouldBlock` if there is none; zero bytes mean that the terminal is gone.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(&self.fd, buffer)?)
    }
}

/// Waits for the first descriptor (the device) or the second (the wake pipe).
fn wait(watched: &[(BorrowedFd<'_>, PollFlags)], timeout: Option<Duration>) -> io::Result<Ready> {
    let mut polled: Vec<PollFd<'_>> = watched.iter().map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    match poll(&mut polled, timeout.as_ref()) {
        Ok(0) => Ok(Ready::TimedOut),
        // Interrupted; the caller polls again.
        Err(Errno::INTR) => Ok(Ready::TimedOut),
        Ok(_) if polled.get(1).is_some_and(|wake| !wake.revents().is_empty()) => Ok(Ready::Woken),
        Ok(_) => Ok(Ready::Device),
        Err(error) => Err(error.into()),
    }
}

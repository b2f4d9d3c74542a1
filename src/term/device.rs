//! The terminal device: its own descriptor, its line settings, its size, and bounded reads and writes.
//!
//! The device is opened anew, so that making it non-blocking changes nothing for the shell that shares our standard
//! streams. Writes of frames pass a door that can be shut: once the modes are being restored, no frame can follow.
//! Nothing here blocks without a bound. Knows no mode and no key.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::termios::{self, OptionalActions, QueueSelector, Termios};

/// How much is written at once. Small enough that a descriptor that could not be made non-blocking takes it without
/// waiting once the system says that it can be written to.
const CHUNK: usize = 4096;

/// A terminal, opened for reading and writing.
#[derive(Debug)]
pub(super) struct Tty {
    fd: OwnedFd,
    /// Frames carry the number of the entry they were made in; a shut door takes none.
    door: Mutex<Door>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Door {
    Open(Entry),
    Shut,
}

/// Counts how often the screen was entered, so that a frame of an earlier stay is recognised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry(u64);

impl Entry {
    pub(super) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// What became of a piece of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrote {
    Bytes(usize),
    /// The terminal takes no more for now.
    Full,
    /// The frame belongs to a stay that is over.
    Refused,
    /// The terminal is gone.
    Gone,
}

/// Why a wait for the terminal ended.
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
                return Ok(Self::over(fd));
            }
        }
        // A container without device files: the descriptor is shared with the shell, so it stays as it is.
        Ok(Self::over(rustix::io::fcntl_dupfd_cloexec(stdout, 3)?))
    }

    pub(super) fn over(fd: OwnedFd) -> Self {
        Self { fd, door: Mutex::new(Door::Shut) }
    }

    /// Returns columns and rows. A terminal that does not know its size is taken for the classic one.
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

    /// Throws away what was typed and not yet read.
    pub(super) fn discard_input(&self) {
        let _ = termios::tcflush(&self.fd, QueueSelector::IFlush);
    }

    /// Tells whether another process group has the terminal, so that touching it would stop us.
    pub(super) fn is_in_background(&self) -> bool {
        termios::tcgetpgrp(&self.fd).is_ok_and(|foreground| foreground != rustix::process::getpgrp())
    }

    fn door(&self) -> MutexGuard<'_, Door> {
        self.door.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets frames of `entry` through.
    pub(super) fn open_door(&self, entry: Entry) {
        *self.door() = Door::Open(entry);
    }

    /// Lets no frame through from now on. Returns when no piece of one is being written any more.
    pub(super) fn shut_door(&self) {
        *self.door() = Door::Shut;
    }

    /// Returns the stay whose frames are let through now.
    pub(super) fn entry(&self) -> Option<Entry> {
        match *self.door() {
            Door::Open(entry) => Some(entry),
            Door::Shut => None,
        }
    }

    /// Writes as much of a frame of `entry` as the terminal takes without waiting.
    pub(super) fn write_frame(&self, entry: Entry, bytes: &[u8]) -> Wrote {
        let door = self.door();
        if *door != Door::Open(entry) {
            return Wrote::Refused;
        }
        self.write_some(bytes)
    }

    fn write_some(&self, bytes: &[u8]) -> Wrote {
        match rustix::io::write(&self.fd, &bytes[..bytes.len().min(CHUNK)]) {
            Ok(count) => Wrote::Bytes(count),
            Err(Errno::AGAIN | Errno::INTR) => Wrote::Full,
            Err(_) => Wrote::Gone,
        }
    }

    /// Writes all of `bytes`, whatever the door says, and gives up when the terminal takes nothing for `patience`.
    pub(super) fn write_now(&self, mut bytes: &[u8], patience: Duration) -> io::Result<()> {
        let _door = self.door();
        let mut deadline = Instant::now() + patience;
        while !bytes.is_empty() {
            match self.write_some(bytes) {
                Wrote::Bytes(count) => {
                    bytes = &bytes[count..];
                    deadline = Instant::now() + patience;
                }
                Wrote::Full => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    wait(&[(self.fd.as_fd(), PollFlags::OUT)], Some(left))?;
                }
                Wrote::Refused | Wrote::Gone => return Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
        Ok(())
    }

    /// Waits until the terminal takes bytes again, or `wake` is closed.
    pub(super) fn wait_writable(&self, wake: BorrowedFd<'_>) -> io::Result<Ready> {
        wait(&[(self.fd.as_fd(), PollFlags::OUT), (wake, PollFlags::IN)], None)
    }

    /// Waits until there is something to read, `wake` is closed, or `patience` is over.
    pub(super) fn wait_readable(&self, wake: BorrowedFd<'_>, patience: Option<Duration>) -> io::Result<Ready> {
        wait(&[(self.fd.as_fd(), PollFlags::IN), (wake, PollFlags::IN)], patience)
    }

    /// Reads what there is. Nothing to read yet is `WouldBlock`; zero bytes mean that the terminal is gone.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(&self.fd, buffer)?)
    }
}

/// Waits for the first descriptor (the device) or the second (the wake).
fn wait(watched: &[(BorrowedFd<'_>, PollFlags)], patience: Option<Duration>) -> io::Result<Ready> {
    let mut polled: Vec<PollFd<'_>> = watched.iter().map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
    let timeout = patience.and_then(|patience| Timespec::try_from(patience).ok());
    match poll(&mut polled, timeout.as_ref()) {
        Ok(0) => Ok(Ready::TimedOut),
        // An interrupted wait has seen nothing; the caller looks again.
        Err(Errno::INTR) => Ok(Ready::TimedOut),
        Ok(_) if polled.get(1).is_some_and(|wake| !wake.revents().is_empty()) => Ok(Ready::Woken),
        Ok(_) => Ok(Ready::Device),
        Err(error) => Err(error.into()),
    }
}

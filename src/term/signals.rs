//! Signals as values: those that end the program, and those of job control and the window.
//!
//! The ending ones have a task of their own, so that they are heard while the loop is busy. The first asks for an orderly
//! end; repeated after a moment it is obeyed at once, with the terminal restored. While an editor has the terminal,
//! the keys that interrupt and quit are meant for the editor. Does not decide what an orderly end is.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::signal::unix::{Signal as Stream, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::guard::Guard;

/// Why the program has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Signal(StopSignal),
    /// Something panicked, somewhere. The terminal is already restored and the report printed.
    Panic,
}

/// A signal that ends the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    Terminate,
    Hangup,
    Interrupt,
    Quit,
}

impl Stop {
    /// Returns the exit code that tells the shell why.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Signal(StopSignal::Hangup) => 128 + 1,
            Self::Signal(StopSignal::Interrupt) => 128 + 2,
            Self::Signal(StopSignal::Quit) => 128 + 3,
            Self::Signal(StopSignal::Terminate) => 128 + 15,
            Self::Panic => 101,
        }
    }
}

/// How long after the first request to end a second one is taken as impatience. Shells and kernels send the first one
/// twice within moments.
const IMPATIENCE: Duration = Duration::from_millis(500);

/// How long after an editor has ended an interrupt is still taken for the editor's: the one key reaches both, and it may be
/// heard here after the end that it brought about there. Our own screen gets it as a key and never as a signal.
const AFTERMATH: Duration = Duration::from_millis(500);

/// Whether another program has the terminal, and with it the keys that interrupt and quit.
#[derive(Clone, Copy, Debug, Default)]
enum Lent {
    #[default]
    No,
    Yes,
    /// It has been given back, and what was meant for the other may still arrive.
    Until(Instant),
}

impl Lent {
    fn at(self, now: Instant) -> bool {
        match self {
            Self::No => false,
            Self::Yes => true,
            Self::Until(end) => now < end,
        }
    }
}

/// Where requests to end are put.
#[derive(Clone, Debug)]
pub(super) struct Stops(mpsc::UnboundedSender<Stop>);

impl Stops {
    pub(super) fn channel() -> (Self, mpsc::UnboundedReceiver<Stop>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    pub(super) fn send(&self, stop: Stop) {
        // Nobody listens any more: the program is ending already.
        let _ = self.0.send(stop);
    }
}

/// The task that hears the ending signals.
#[derive(Debug)]
pub(super) struct Ending {
    task: JoinHandle<()>,
    lent: Arc<Mutex<Lent>>,
}

impl Ending {
    pub(super) fn listen(guard: &Arc<Guard>, stops: Stops) -> io::Result<Self> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut quit = signal(SignalKind::quit())?;
        let lent = Arc::<Mutex<Lent>>::default();
        let (guard, away) = (Arc::downgrade(guard), Arc::clone(&lent));
        let task = tokio::spawn(async move {
            let mut first: Option<Instant> = None;
            loop {
                let heard = tokio::select! {
                    Some(()) = terminate.recv() => StopSignal::Terminate,
                    Some(()) = hangup.recv() => StopSignal::Hangup,
                    Some(()) = interrupt.recv() => StopSignal::Interrupt,
                    Some(()) = quit.recv() => StopSignal::Quit,
                    else => return,
                };
                let for_the_editor = matches!(heard, StopSignal::Interrupt | StopSignal::Quit);
                let lent = *away.lock().unwrap_or_else(PoisonError::into_inner);
                if for_the_editor && lent.at(Instant::now()) {
                    continue;
                }
                let since = first.get_or_insert_with(Instant::now).elapsed();
                if since >= IMPATIENCE && heard != StopSignal::Hangup {
                    if let Some(guard) = guard.upgrade() {
                        guard.leave_for_good();
                    }
                    std::process::exit(i32::from(Stop::Signal(heard).exit_code()));
                }
                stops.send(Stop::Signal(heard));
            }
        });
        Ok(Self { task, lent })
    }

    /// Returns one that hears nothing: a test must not catch the signals of its whole process.
    #[cfg(test)]
    pub(super) fn deaf() -> Self {
        Self { task: tokio::spawn(std::future::pending()), lent: Arc::default() }
    }

    /// Says whether another program has the terminal.
    pub(super) fn lend(&self, lent: bool) {
        let lent = if lent { Lent::Yes } else { Lent::Until(Instant::now() + AFTERMATH) };
        *self.lent.lock().unwrap_or_else(PoisonError::into_inner) = lent;
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The signals that the loop itself waits for.
#[derive(Debug)]
pub(super) struct JobControl {
    /// The window has a new size.
    pub(super) resized: Stream,
    /// Somebody asks us to stop, as the shell does for Ctrl-Z.
    pub(super) stop: Stream,
    /// We go on after a stop.
    pub(super) continued: Stream,
}

impl JobControl {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            resized: signal(SignalKind::window_change())?,
            stop: signal(SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw()))?,
            continued: signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
        })
    }

    /// Listens to a signal that nobody sends.
    #[cfg(test)]
    pub(super) fn deaf() -> io::Result<Self> {
        let never = || signal(SignalKind::user_defined2());
        Ok(Self { resized: never()?, stop: never()?, continued: never()? })
    }
}

#[cfg(test)]
#[path = "signals_tests.rs"]
mod tests;

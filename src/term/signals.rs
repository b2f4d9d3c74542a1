//! Signals as values: those that end the program, and those of job control and window size.
//!
//! A separate task listens for the ending signals, so that they arrive while the main loop is busy. The first requests
//! an orderly exit; a second one, after a short delay, exits at once with the terminal restored. While an editor has
//! the terminal, interrupt and quit are the editor's. Does not decide what an orderly exit is.

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
    /// A panic. The terminal is already restored and the report printed.
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
    /// Returns the exit code for the shell.
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

/// After this delay a second signal forces the exit. Shells and kernels send the first one twice within moments.
const FORCE_AFTER: Duration = Duration::from_millis(500);

/// How long after the editor has ended an interrupt still counts as the editor's. The key reaches both processes, and
/// the signal may arrive here after the editor's exit. On our own screen Ctrl-C is a key, never a signal.
const HAND_OFF_GRACE: Duration = Duration::from_millis(500);

/// Whether another program has the terminal, and with it the interrupt and quit keys.
#[derive(Clone, Copy, Debug, Default)]
enum HandOffState {
    #[default]
    Ours,
    HandedOff,
    /// The terminal is back, but a signal for the other program may still arrive.
    ReturnedUntil(Instant),
}

impl HandOffState {
    fn is_handed_off(self, now: Instant) -> bool {
        match self {
            Self::Ours => false,
            Self::HandedOff => true,
            Self::ReturnedUntil(end) => now < end,
        }
    }
}

/// Sends stop requests to the main loop.
#[derive(Clone, Debug)]
pub(super) struct StopSender(mpsc::UnboundedSender<Stop>);

impl StopSender {
    pub(super) fn channel() -> (Self, mpsc::UnboundedReceiver<Stop>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    pub(super) fn send(&self, stop: Stop) {
        // No receiver: the program is already exiting.
        let _ = self.0.send(stop);
    }
}

/// The task that listens for the ending signals.
#[derive(Debug)]
pub(super) struct StopListener {
    task: JoinHandle<()>,
    hand_off: Arc<Mutex<HandOffState>>,
}

impl StopListener {
    pub(super) fn listen(guard: &Arc<Guard>, stops: StopSender) -> io::Result<Self> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut quit = signal(SignalKind::quit())?;
        let hand_off = Arc::<Mutex<HandOffState>>::default();
        let (guard, shared) = (Arc::downgrade(guard), Arc::clone(&hand_off));
        let task = tokio::spawn(async move {
            let mut first: Option<Instant> = None;
            loop {
                let received = tokio::select! {
                    Some(()) = terminate.recv() => StopSignal::Terminate,
                    Some(()) = hangup.recv() => StopSignal::Hangup,
                    Some(()) = interrupt.recv() => StopSignal::Interrupt,
                    Some(()) = quit.recv() => StopSignal::Quit,
                    else => return,
                };
                let is_keyboard_signal = matches!(received, StopSignal::Interrupt | StopSignal::Quit);
                let hand_off = *shared.lock().unwrap_or_else(PoisonError::into_inner);
                if is_keyboard_signal && hand_off.is_handed_off(Instant::now()) {
                    continue;
                }
                let since = first.get_or_insert_with(Instant::now).elapsed();
                if since >= FORCE_AFTER && received != StopSignal::Hangup {
                    if let Some(guard) = guard.upgrade() {
                        guard.leave_permanently();
                    }
                    std::process::exit(i32::from(Stop::Signal(received).exit_code()));
                }
                stops.send(Stop::Signal(received));
            }
        });
        Ok(Self { task, hand_off })
    }

    /// Returns a listener that catches nothing: a test must not catch the signals of its process.
    #[cfg(test)]
    pub(super) fn disabled() -> Self {
        Self { task: tokio::spawn(std::future::pending()), hand_off: Arc::default() }
    }

    /// Records whether another program has the terminal.
    pub(super) fn set_handed_off(&self, is_handed_off: bool) {
        let state = if is_handed_off {
            HandOffState::HandedOff
        } else {
            HandOffState::ReturnedUntil(Instant::now() + HAND_OFF_GRACE)
        };
        *self.hand_off.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

impl Drop for StopListener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The signals that the loop itself waits for.
#[derive(Debug)]
pub(super) struct JobControl {
    /// SIGWINCH.
    pub(super) resized: Stream,
    /// SIGTSTP, as sent by Ctrl-Z.
    pub(super) stop: Stream,
    /// SIGCONT.
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

    /// Listens to a signal that is never sent.
    #[cfg(test)]
    pub(super) fn disabled() -> io::Result<Self> {
        let never = || signal(SignalKind::user_defined2());
        Ok(Self { resized: never()?, stop: never()?, continued: never()? })
    }
}

#[cfg(test)]
#[path = "signals_tests.rs"]
mod tests;

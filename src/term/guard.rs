//! The owner of the terminal's modes: records what was switched on and undoes it exactly once.
//!
//! Exit, error, panic, signal, suspension and the editor all call [`Guard::leave`]. The first caller restores, outside
//! of any lock; later callers wait until it is done, for a bounded time. Every step is attempted even if an earlier one
//! failed. Never panics and never waits for long: a hung terminal is worse than one that needs `reset`.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::termios::Termios;

use super::device::{ScreenEpoch, Tty};
use super::modes::{self, Mode};

/// How long the terminal may take nothing before a restore is given up.
const WRITE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a caller waits for another thread's restore.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Guard {
    tty: Arc<Tty>,
    state: Mutex<State>,
    phase_changed: Condvar,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    epoch: ScreenEpoch,
    /// The settings to restore when the screen is entered again after another program had the terminal.
    original: Option<Termios>,
}

#[derive(Debug)]
enum Phase {
    Out,
    Entering(Record),
    In(Record),
    Leaving,
    /// Restored for good: the screen is not entered again.
    Broken,
}

/// The modes that were switched on, and the line settings before that.
#[derive(Debug)]
struct Record {
    original: Termios,
    modes: Vec<Mode>,
}

/// The line settings to restore on leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The current ones: at the start, and after the shell had the terminal.
    Current,
    /// Those of the previous epoch: a crashed editor may have left anything.
    Previous,
}

impl Guard {
    pub(super) fn new(tty: Arc<Tty>) -> Self {
        let state = State { phase: Phase::Out, epoch: ScreenEpoch::default(), original: None };
        Self { tty, state: Mutex::new(state), phase_changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Switches the terminal to raw mode and into `modes`. On an error everything is restored.
    pub(super) fn enter(&self, modes: &[Mode], origin: Origin) -> io::Result<()> {
        let current = self.tty.settings()?;
        let (settings, epoch) = {
            let mut state = self.state();
            match state.phase {
                Phase::Out => {}
                Phase::In(_) | Phase::Entering(_) => return Ok(()),
                Phase::Leaving | Phase::Broken => return Err(io::ErrorKind::NotConnected.into()),
            }
            let original = match origin {
                Origin::Previous => state.original.take().unwrap_or(current),
                Origin::Current => current,
            };
            let settings = raw(&original);
            state.epoch = state.epoch.next();
            // Recorded before the first change, so that it can always be undone.
            state.phase = Phase::Entering(Record { original, modes: modes.to_vec() });
            (settings, state.epoch)
        };
        let done =
            self.tty.apply(&settings).and_then(|()| self.tty.write_now(&modes::enter_sequence(modes), WRITE_TIMEOUT));
        {
            let mut state = self.state();
            match std::mem::replace(&mut state.phase, Phase::Out) {
                Phase::Entering(record) => {
                    self.tty.open_gate(epoch);
                    state.phase = Phase::In(record);
                }
                // Another thread stopped waiting for this one and has restored already.
                other => state.phase = other,
            }
            self.phase_changed.notify_all();
        }
        done.inspect_err(|_| self.leave())
    }

    /// Undoes everything that is switched on. Does nothing if nothing is.
    pub(super) fn leave(&self) {
        self.leave_into(Phase::Out);
    }

    /// Like [`Guard::leave`], and the screen is never entered again.
    pub(super) fn leave_permanently(&self) {
        self.leave_into(Phase::Broken);
    }

    fn leave_into(&self, after: Phase) {
        let Some(record) = self.take_record(&after) else { return };
        self.tty.close_gate();
        // Another process group has the terminal: touching it would stop this process.
        if !self.tty.is_in_background() {
            let _ = self.tty.write_now(&modes::leave_sequence(&record.modes), WRITE_TIMEOUT);
            self.tty.discard_input();
            let _ = self.tty.apply(&record.original);
        }
        let mut state = self.state();
        state.original = Some(record.original);
        state.phase = after;
        self.phase_changed.notify_all();
    }

    /// Takes the record, which makes the caller the one who restores. `None` if there is nothing to restore.
    fn take_record(&self, after: &Phase) -> Option<Record> {
        let busy = |state: &mut State| matches!(state.phase, Phase::Leaving | Phase::Entering(_));
        let waited = self.phase_changed.wait_timeout_while(self.state(), RESTORE_TIMEOUT, busy);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut state.phase, Phase::Leaving) {
            Phase::In(record) | Phase::Entering(record) => Some(record),
            Phase::Leaving => None,
            Phase::Broken => {
                state.phase = Phase::Broken;
                None
            }
            Phase::Out => {
                if matches!(after, Phase::Broken) {
                    state.phase = Phase::Broken;
                } else {
                    state.phase = Phase::Out;
                }
                None
            }
        }
    }

    /// Records that `mode` is on and returns the bytes that enable it, or `None` if there is nothing to do.
    pub(super) fn switch_on(&self, mode: Mode) -> Option<String> {
        match &mut self.state().phase {
            Phase::In(record) if !record.modes.contains(&mode) => {
                record.modes.push(mode);
                Some(mode.set())
            }
            Phase::In(_) | Phase::Entering(_) | Phase::Out | Phase::Leaving | Phase::Broken => None,
        }
    }

    /// Records that `mode` is off and returns the bytes that disable it, or `None` if there is nothing to do.
    pub(super) fn switch_off(&self, mode: Mode) -> Option<String> {
        match &mut self.state().phase {
            Phase::In(record) => {
                let at = record.modes.iter().position(|on| *on == mode)?;
                record.modes.remove(at);
                Some(mode.unset())
            }
            Phase::Entering(_) | Phase::Out | Phase::Leaving | Phase::Broken => None,
        }
    }

    /// Returns the active modes, in the order in which they were switched on.
    pub(super) fn modes(&self) -> Vec<Mode> {
        match &self.state().phase {
            Phase::In(record) => record.modes.clone(),
            Phase::Entering(_) | Phase::Out | Phase::Leaving | Phase::Broken => Vec::new(),
        }
    }

    /// Reapplies the recorded modes after an unannounced stop (SIGSTOP, SIGCONT). Cuts off a frame that is being
    /// written: the screen has to be redrawn anyway.
    pub(super) fn reapply(&self) -> io::Result<()> {
        let (settings, bytes, epoch) = {
            let mut state = self.state();
            state.epoch = state.epoch.next();
            let epoch = state.epoch;
            match &state.phase {
                Phase::In(record) => (raw(&record.original), modes::reapply_sequence(&record.modes), epoch),
                Phase::Entering(_) | Phase::Out | Phase::Leaving | Phase::Broken => return Ok(()),
            }
        };
        self.tty.close_gate();
        self.tty.apply(&settings)?;
        self.tty.write_now(&bytes, WRITE_TIMEOUT)?;
        if matches!(self.state().phase, Phase::In(_)) {
            self.tty.open_gate(epoch);
        }
        Ok(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.leave();
    }
}

fn raw(settings: &Termios) -> Termios {
    let mut raw = settings.clone();
    raw.make_raw();
    raw
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;

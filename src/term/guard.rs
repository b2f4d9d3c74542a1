//! The one owner of the terminal's modes: what was switched on is recorded, and undone exactly once.
//!
//! Exit, error, panic, signal, suspension and the editor all come through [`Guard::leave`]. Whoever comes first does the
//! work, outside of any lock; whoever comes meanwhile waits until it is done, for a bounded time. Every step is
//! attempted whatever became of the one before. Never panics, and never waits for long: a person who has to kill
//! the terminal is worse off than one who has to type `reset`.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::termios::Termios;

use super::device::{Entry, Tty};
use super::modes::{self, Mode};

/// How long the terminal may take nothing before the bytes of a restoration are given up.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long somebody waits for another's restoration.
const TURN: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Guard {
    tty: Arc<Tty>,
    state: Mutex<State>,
    settled: Condvar,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    entry: Entry,
    /// The settings to go back to when the screen is entered again after somebody else had the terminal.
    original: Option<Termios>,
}

#[derive(Debug)]
enum Phase {
    Out,
    Entering(Record),
    In(Record),
    Leaving,
    /// Something broke: the screen is not entered again.
    Broken,
}

/// What was switched on, and what it was before.
#[derive(Debug)]
struct Record {
    original: Termios,
    modes: Vec<Mode>,
}

/// Whose settings are the ones to go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The terminal's as they are now: at the start, and after the shell had it.
    Now,
    /// Those of the entry before: a crashed editor may have left anything.
    Before,
}

impl Guard {
    pub(super) fn new(tty: Arc<Tty>) -> Self {
        let state = State { phase: Phase::Out, entry: Entry::default(), original: None };
        Self { tty, state: Mutex::new(state), settled: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Switches the terminal to raw and into `modes`. On an error everything is as before.
    pub(super) fn enter(&self, modes: &[Mode], origin: Origin) -> io::Result<()> {
        let current = self.tty.settings()?;
        let (settings, entry) = {
            let mut state = self.state();
            match state.phase {
                Phase::Out => {}
                Phase::In(_) | Phase::Entering(_) => return Ok(()),
                Phase::Leaving | Phase::Broken => return Err(io::ErrorKind::NotConnected.into()),
            }
            let original = match origin {
                Origin::Before => state.original.take().unwrap_or(current),
                Origin::Now => current,
            };
            let settings = raw(&original);
            state.entry = state.entry.next();
            // The record comes before the first change: whoever has to undo it finds it.
            state.phase = Phase::Entering(Record { original, modes: modes.to_vec() });
            (settings, state.entry)
        };
        let done = self.tty.apply(&settings).and_then(|()| self.tty.write_now(&modes::entering(modes), PATIENCE));
        {
            let mut state = self.state();
            match std::mem::replace(&mut state.phase, Phase::Out) {
                Phase::Entering(record) => {
                    self.tty.open_door(entry);
                    state.phase = Phase::In(record);
                }
                // Somebody lost the patience to wait for this and has restored already.
                other => state.phase = other,
            }
            self.settled.notify_all();
        }
        done.inspect_err(|_| self.leave())
    }

    /// Undoes everything that is switched on. Does nothing when nothing is.
    pub(super) fn leave(&self) {
        self.leave_for(Phase::Out);
    }

    /// As [`Guard::leave`], and the screen is never entered again.
    pub(super) fn leave_for_good(&self) {
        self.leave_for(Phase::Broken);
    }

    fn leave_for(&self, after: Phase) {
        let Some(record) = self.take(&after) else { return };
        self.tty.shut_door();
        // Somebody else has the terminal: it shows their screen, and touching it would stop this process.
        if !self.tty.is_in_background() {
            let _ = self.tty.write_now(&modes::leaving(&record.modes), PATIENCE);
            self.tty.discard_input();
            let _ = self.tty.apply(&record.original);
        }
        let mut state = self.state();
        state.original = Some(record.original);
        state.phase = after;
        self.settled.notify_all();
    }

    /// Takes the record, which makes the caller the one who restores. None when there is nothing left to restore.
    fn take(&self, after: &Phase) -> Option<Record> {
        let busy = |state: &mut State| matches!(state.phase, Phase::Leaving | Phase::Entering(_));
        let waited = self.settled.wait_timeout_while(self.state(), TURN, busy);
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

    /// Records that `mode` is on and returns the bytes that make it so; none when there is nothing to do.
    pub(super) fn switch_on(&self, mode: Mode) -> Option<String> {
        match &mut self.state().phase {
            Phase::In(record) if !record.modes.contains(&mode) => {
                record.modes.push(mode);
                Some(mode.set())
            }
            Phase::In(_) | Phase::Entering(_) | Phase::Out | Phase::Leaving | Phase::Broken => None,
        }
    }

    /// Records that `mode` is off and returns the bytes that make it so; none when there is nothing to do.
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

    /// Returns what is switched on now, in the order in which it was.
    pub(super) fn modes(&self) -> Vec<Mode> {
        match &self.state().phase {
            Phase::In(record) => record.modes.clone(),
            Phase::Entering(_) | Phase::Out | Phase::Leaving | Phase::Broken => Vec::new(),
        }
    }

    /// Puts the terminal back into what is recorded, after a stop that came without warning. A frame that was on its
    /// way is cut off: the screen has to be drawn anew in any case.
    pub(super) fn assert_again(&self) -> io::Result<()> {
        let (settings, bytes, entry) = {
            let mut state = self.state();
            state.entry = state.entry.next();
            let entry = state.entry;
            match &state.phase {
                Phase::In(record) => (raw(&record.original), modes::repeating(&record.modes), entry),
                Phase::Entering(_) | Phase::Out | Phase::Leaving | Phase::Broken => return Ok(()),
            }
        };
        self.tty.shut_door();
        self.tty.apply(&settings)?;
        self.tty.write_now(&bytes, PATIENCE)?;
        if matches!(self.state().phase, Phase::In(_)) {
            self.tty.open_door(entry);
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

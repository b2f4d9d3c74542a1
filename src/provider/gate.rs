//! One gate per credential, so that fifty agents do not storm an API that has just said "wait".
//!
//! Open, it costs nothing. When a request is limited, everybody waits until the time is up; then one request goes
//! alone, and only its success lets the others follow. A probe that ends without an answer, for whatever reason,
//! hands its place to the next. The gate decides who may go, never whether to try again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::provider::retry::LONGEST_FLOOR;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// Nobody goes before this time; then one does.
    Limited(Instant),
    /// One is on its way.
    Probing,
}

/// The gate of one credential.
#[derive(Debug, Default)]
pub struct Gate {
    state: watch::Sender<State>,
}

/// The wait was called off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped while waiting for the model API's limit to pass")]
pub struct CalledOff;

/// Leave to send one request. Say how it went: [`Permit::accepted`] or [`Permit::limited`].
#[derive(Debug)]
#[must_use = "a permit that is dropped at once lets nobody through"]
pub struct Permit {
    gate: Arc<Gate>,
    probes: bool,
}

impl Gate {
    /// Waits until a request may go.
    pub async fn enter(self: &Arc<Self>, cancel: &CancellationToken) -> Result<Permit, CalledOff> {
        let mut states = self.state.subscribe();
        loop {
            if cancel.is_cancelled() {
                return Err(CalledOff);
            }
            let state = *states.borrow_and_update();
            match state {
                State::Open => return Ok(Permit { gate: Arc::clone(self), probes: false }),
                State::Limited(until) if until <= Instant::now() => {
                    if self.replace(state, State::Probing) {
                        return Ok(Permit { gate: Arc::clone(self), probes: true });
                    }
                }
                State::Limited(until) => tokio::select! {
                    () = cancel.cancelled() => return Err(CalledOff),
                    _ = states.changed() => {}
                    () = tokio::time::sleep_until(until) => {}
                },
                State::Probing => tokio::select! {
                    () = cancel.cancelled() => return Err(CalledOff),
                    _ = states.changed() => {}
                },
            }
        }
    }

    /// Returns until when everybody waits, if they do: for a countdown. A time that is up is none to count down to.
    pub fn limited_until(&self) -> Option<Instant> {
        match *self.state.borrow() {
            State::Limited(until) => Some(until).filter(|until| *until > Instant::now()),
            State::Open | State::Probing => None,
        }
    }

    /// Changes the state if it is still what the caller saw, and tells whether it was.
    fn replace(&self, seen: State, next: State) -> bool {
        self.state.send_if_modified(|state| {
            let same = *state == seen;
            if same {
                *state = next;
            }
            same
        })
    }
}

impl Permit {
    /// The API has begun to answer. Call it at the first sign of life, not at the end of the response.
    ///
    /// Only a probe's success opens the gate: a request from before the limit proves nothing.
    pub fn accepted(mut self) {
        if std::mem::take(&mut self.probes) {
            self.gate.replace(State::Probing, State::Open);
        }
    }

    /// The API said to wait.
    pub fn limited(mut self, wait: Duration) {
        let probed = std::mem::take(&mut self.probes);
        // Beyond that a person decides; whoever goes on after their word must not find the gate still shut.
        let until = Instant::now() + wait.min(LONGEST_FLOOR);
        self.gate.state.send_if_modified(|state| {
            let next = match *state {
                State::Open => State::Limited(until),
                State::Limited(other) => State::Limited(other.max(until)),
                State::Probing if probed => State::Limited(until),
                // Late news of the limit that the probe is testing.
                State::Probing => State::Probing,
            };
            let changed = *state != next;
            *state = next;
            changed
        });
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.probes {
            self.gate.replace(State::Probing, State::Limited(Instant::now()));
        }
    }
}

/// The gates of all credentials.
#[derive(Debug, Default)]
pub struct Gates {
    by_group: Mutex<HashMap<String, Arc<Gate>>>,
}

impl Gates {
    /// Returns the gate of a credential group.
    pub fn of(&self, group: &str) -> Arc<Gate> {
        let mut gates = self.by_group.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(gates.entry(group.to_owned()).or_default())
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;

//! A gate per credential group, so that many agents do not flood an API that has limited the rate.
//!
//! An open gate costs nothing. After a rate limit, all requests wait until its time is up. Then one request goes first
//! as a probe, and only its success opens the gate. If a probe ends without an answer, the next request becomes the
//! probe. The gate never decides whether to retry.

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
    /// No request before this time; then one probe.
    Limited(Instant),
    /// A probe is in progress.
    Probing,
}

/// The gate of one credential group.
#[derive(Debug, Default)]
pub struct RateGate {
    state: watch::Sender<State>,
}

/// The wait was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled while waiting for a rate limit")]
pub struct GateCancelled;

/// Permission to send one request. Report its outcome with [`Permit::accepted`] or [`Permit::limited`].
#[derive(Debug)]
#[must_use = "a dropped permit does not open the gate"]
pub struct Permit {
    gate: Arc<RateGate>,
    is_probe: bool,
}

impl RateGate {
    /// Waits until a request may be sent.
    pub async fn enter(self: &Arc<Self>, cancel: &CancellationToken) -> Result<Permit, GateCancelled> {
        let mut states = self.state.subscribe();
        loop {
            if cancel.is_cancelled() {
                return Err(GateCancelled);
            }
            let state = *states.borrow_and_update();
            match state {
                State::Open => return Ok(Permit { gate: Arc::clone(self), is_probe: false }),
                State::Limited(until) if until <= Instant::now() => {
                    if self.replace(state, State::Probing) {
                        return Ok(Permit { gate: Arc::clone(self), is_probe: true });
                    }
                }
                State::Limited(until) => tokio::select! {
                    () = cancel.cancelled() => return Err(GateCancelled),
                    _ = states.changed() => {}
                    () = tokio::time::sleep_until(until) => {}
                },
                State::Probing => tokio::select! {
                    () = cancel.cancelled() => return Err(GateCancelled),
                    _ = states.changed() => {}
                },
            }
        }
    }

    /// Returns the end of the current rate limit, for a countdown, or `None` if it has passed.
    pub fn limited_until(&self) -> Option<Instant> {
        match *self.state.borrow() {
            State::Limited(until) => Some(until).filter(|until| *until > Instant::now()),
            State::Open | State::Probing => None,
        }
    }

    /// Changes the state if it still equals `seen`. Returns true if it did.
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
    /// Reports that the API has begun to answer. Call it at the first signal, not at the end of the response.
    ///
    /// Only a probe opens the gate: a request from before the limit proves nothing.
    pub fn accepted(mut self) {
        if std::mem::take(&mut self.is_probe) {
            self.gate.replace(State::Probing, State::Open);
        }
    }

    /// Reports a rate limit.
    pub fn limited(mut self, wait: Duration) {
        let was_probe = std::mem::take(&mut self.is_probe);
        // For a longer wait the user decides. A retry after that decision must not find the gate closed.
        let until = Instant::now() + wait.min(LONGEST_FLOOR);
        self.gate.state.send_if_modified(|state| {
            let next = match *state {
                State::Open => State::Limited(until),
                State::Limited(other) => State::Limited(other.max(until)),
                State::Probing if was_probe => State::Limited(until),
                // A late report of the limit that the probe is testing.
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
        if self.is_probe {
            self.gate.replace(State::Probing, State::Limited(Instant::now()));
        }
    }
}

/// The gates of all credential groups.
#[derive(Debug, Default)]
pub struct RateGates {
    by_group: Mutex<HashMap<String, Arc<RateGate>>>,
}

impl RateGates {
    /// Returns the gate of a credential group.
    pub fn of(&self, group: &str) -> Arc<RateGate> {
        let mut gates = self.by_group.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(gates.entry(group.to_owned()).or_default())
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;

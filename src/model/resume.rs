//! Classifies the tail of a log: how the session was left, and whether a run has work to do. One classifier for boot,
//! launch and run, so that they cannot disagree.

use crate::model::control::Control;
use crate::model::conversation::Role;
use crate::model::event::{Event, Exit, InterruptReason, ResumeShape};
use crate::model::fold::{OpenCall, SessionState};
use crate::model::message::{Delivery, Message};

const STOPPED: Exit = Exit::Interrupted(InterruptReason::Stopped);

/// How a session was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resume {
    /// It has no conversation yet.
    Fresh,
    /// The model owes a response.
    Interrupted,
    /// The agent waits for messages, by its own call.
    PendingYield { call: OpenCall },
    /// The agent declared the task done.
    PendingDone { call: OpenCall },
    /// The agent ended its turn and waits.
    Parked,
    /// Calls without a result: the run died while they ran.
    NeedsRepair { orphans: Vec<OpenCall> },
    /// Calls that wait for an answer. They did not run, so nothing is repaired: the answer runs them.
    Held { calls: Vec<OpenCall> },
}

impl Resume {
    pub fn shape(&self) -> ResumeShape {
        match self {
            Self::Fresh => ResumeShape::Fresh,
            Self::Interrupted => ResumeShape::Interrupted,
            Self::PendingYield { .. } => ResumeShape::PendingYield,
            Self::PendingDone { .. } => ResumeShape::PendingDone,
            Self::Parked => ResumeShape::Parked,
            Self::NeedsRepair { .. } => ResumeShape::NeedsRepair,
            Self::Held { .. } => ResumeShape::Held,
        }
    }

    /// Returns true if a run would have work to do. Otherwise none is started: a restart with fifty idle agents sends
    /// no requests and starts no processes.
    pub fn has_work(&self, state: &SessionState) -> bool {
        // A stopped task stays stopped until it receives a message after that.
        let stop = state.turns.last_exit.as_ref().filter(|last| last.exit == STOPPED);
        let heeded = |message: &Message| stop.is_none_or(|stop| stop.precedes(message));
        // While a call is held, the model can read nothing: only the answer, or a message instead of it, helps.
        if let Self::Held { .. } = self {
            return state.held_calls.has_released()
                || state.messages.iter().any(|message| ends_hold(message) && heeded(message));
        }
        let spoken_to = state.messages.iter().any(|message| state.is_woken_by(message) && heeded(message));
        if spoken_to || !state.decisions.is_empty() {
            return true;
        }
        // Waiting for an answer needs no run.
        if state.asks.iter().any(|ask| ask.kind().is_raised_by_run()) {
            return false;
        }
        // An agent that slept until a process ended must learn that it is gone. An ended task waits for nothing.
        if !state.background.is_empty() && !state.is_ended() {
            return true;
        }
        let cut_short = state.messages.iter().any(|message| message.from.halts());
        let stopped = stop.is_some();
        match self {
            Self::NeedsRepair { .. } | Self::Interrupted => !cut_short && !stopped,
            Self::Fresh | Self::PendingYield { .. } | Self::PendingDone { .. } | Self::Parked | Self::Held { .. } => {
                false
            }
        }
    }
}

/// Returns true if the user sent the message instead of an answer about a held call.
pub fn ends_hold(message: &Message) -> bool {
    message.from.is_from_user() && message.delivery != Delivery::Next
}

/// Classifies the session with this active chain.
pub fn classify(events: &[Event]) -> Resume {
    of(&SessionState::replay(events))
}

/// Like [`classify`], from a folded state.
pub fn of(state: &SessionState) -> Resume {
    let open = &state.turns.open;
    let (held, orphans): (Vec<OpenCall>, Vec<OpenCall>) =
        open.iter().cloned().partition(|call| state.held_calls.holds(&call.call));
    if let [call] = orphans.as_slice()
        && held.is_empty()
    {
        match Control::of(&call.name) {
            Some(Control::Yield) => return Resume::PendingYield { call: call.clone() },
            // A `done` that was never accepted, because the run died first, is as unfinished as any other call.
            Some(Control::Done) if matches!(state.turns.exit(), Some(Exit::DonePassed | Exit::DoneFailed)) => {
                return Resume::PendingDone { call: call.clone() };
            }
            Some(Control::Done | Control::Fork) | None => {}
        }
    }
    if !orphans.is_empty() {
        return Resume::NeedsRepair { orphans };
    }
    if !held.is_empty() {
        return Resume::Held { calls: held };
    }
    if state.backend.owes_response {
        return Resume::Interrupted;
    }
    match state.turns.last_role {
        None => Resume::Fresh,
        Some(Role::User) if !state.backend.has_answered => Resume::Interrupted,
        Some(Role::User) => Resume::Parked,
        Some(Role::Assistant) => Resume::Parked,
    }
}

#[cfg(test)]
#[path = "resume_tests.rs"]
mod tests;

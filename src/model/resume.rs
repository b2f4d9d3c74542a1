//! Reads the tail of a log: what state it was left in, and whether anything is owed. One classifier for boot, launch
//! and run, so that they cannot disagree.

use crate::model::control::Control;
use crate::model::conversation::Role;
use crate::model::event::{Event, Exit, InterruptReason, ResumeShape};
use crate::model::fold::{OpenCall, SessionState};
use crate::model::message::{Message, Source};

const STOPPED: Exit = Exit::Interrupted(InterruptReason::Stopped);

/// How a session was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resume {
    /// Nothing has been said yet.
    Fresh,
    /// The model owes a response.
    Interrupted,
    /// The agent waits for messages, by its own call.
    PendingYield { call: OpenCall },
    /// The agent declared itself done.
    PendingDone { call: OpenCall },
    /// The agent ended its turn and waits.
    Parked,
    /// Calls were never answered: the run died while they ran.
    NeedsRepair { orphans: Vec<OpenCall> },
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
        }
    }

    /// Tells whether a run would have anything to do. Where it would not, none is started: a restart with fifty
    /// sleeping agents makes no call and starts no process.
    pub fn owes_work(&self, state: &SessionState) -> bool {
        // What the person stopped stays stopped, until somebody says something after that.
        let stop = state.turns.last_exit.as_ref().filter(|last| last.exit == STOPPED);
        let heeded = |message: &Message| stop.is_none_or(|stop| stop.precedes(message));
        let spoken_to = state.messages.iter().any(|message| state.is_called_by(message) && heeded(message));
        if spoken_to || !state.decisions.is_empty() {
            return true;
        }
        // Waiting for an answer needs nobody to do the waiting.
        if state.asks.iter().any(|ask| ask.kind().is_of_run()) {
            return false;
        }
        // Whoever slept until a process ended has to be told that it is gone. An ended task waits for nothing.
        if !state.background.is_empty() && !state.is_ended() {
            return true;
        }
        let cut_short = state.messages.iter().any(|message| message.from == Source::Interrupt);
        let stopped = stop.is_some();
        match self {
            Self::NeedsRepair { .. } | Self::Interrupted => !cut_short && !stopped,
            Self::Fresh | Self::PendingYield { .. } | Self::PendingDone { .. } | Self::Parked => false,
        }
    }
}

/// Says how the session with this active log was left.
pub fn classify(events: &[Event]) -> Resume {
    of(&SessionState::replay(events))
}

/// As [`classify`], from what was already folded.
pub fn of(state: &SessionState) -> Resume {
    let open = &state.turns.open;
    if let [call] = open.as_slice() {
        match Control::of(&call.name) {
            Some(Control::Yield) => return Resume::PendingYield { call: call.clone() },
            // A call that was never accepted, because the run died before it could be, is as unfinished as any other.
            Some(Control::Done) if matches!(state.turns.exit(), Some(Exit::DonePassed | Exit::DoneFailed)) => {
                return Resume::PendingDone { call: call.clone() };
            }
            Some(Control::Done | Control::Fork) | None => {}
        }
    }
    if !open.is_empty() {
        return Resume::NeedsRepair { orphans: open.clone() };
    }
    match state.turns.voice {
        None => Resume::Fresh,
        Some(Role::User) => Resume::Interrupted,
        Some(Role::Assistant) => Resume::Parked,
    }
}

#[cfg(test)]
#[path = "resume_tests.rs"]
mod tests;

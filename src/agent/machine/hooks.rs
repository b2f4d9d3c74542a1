//! Lifecycle hooks that do not let the agent do what it is about to: sleep, or summarise its conversation.

use crate::agent::machine::AfterSave;
use crate::agent::machine::{AskCause, Machine, Phase, Purpose};
use crate::base::Timestamp;
use crate::base::TurnId;
use crate::model::event::{Body, ErrorNote};
use crate::model::hook::HookEvent;
use crate::model::message::{HookMessage, MessageSource};

/// How often a hook may send the agent back before the user is asked.
const MAX_SENT_BACK: u32 = 3;
/// Maximum length of the hook's reason in the question, in characters.
const DETAIL: usize = 2_000;

impl Machine {
    /// Returns the turn after which the agent sleeps by its own decision, or `None` if it works, waits for the user or
    /// was interrupted.
    pub fn slept_after(&self) -> Option<TurnId> {
        let sleeps = matches!(self.phase, Phase::Parked) && !self.halted;
        self.state.turns.last.as_ref().filter(|_| sleeps).map(|last| last.turn)
    }

    /// Returns true if the user has requested a summary.
    pub fn has_compact_request(&self) -> bool {
        !self.control_messages().is_empty()
    }

    /// Returns true if the agent waits for something that it has started: a process, an answer.
    pub fn waits_for_others(&self) -> bool {
        !self.state.background.is_empty() || !self.state.asks.is_empty()
    }

    /// Sends the agent back to work, or asks the user if that did not help.
    pub(super) fn on_sent_back(&mut self, now: Timestamp, event: HookEvent, reason: &str) {
        // It was spoken to meanwhile. The hook is asked again when it is about to sleep.
        if !matches!(self.phase, Phase::Parked) {
            return;
        }
        self.attempts.sent_back += 1;
        if self.attempts.sent_back > MAX_SENT_BACK {
            self.attempts.sent_back = 0;
            let question =
                format!("A {event} hook has sent this agent back {MAX_SENT_BACK} times, and still objects. What now?");
            let detail: String = reason.chars().take(DETAIL).collect();
            return self.ask(AskCause::SentBack, &question, &detail);
        }
        let from = MessageSource::Hook { event, effect: HookMessage::Wakes };
        let message = self.message(now, from, reason);
        self.save(vec![message.into()], AfterSave::Advance);
    }

    /// Goes on without the summary that a hook refuses. The user is asked if the conversation does not fit.
    pub(super) fn on_compaction_refused(&mut self, number: u64, reason: &str) {
        if !matches!(self.phase, Phase::Calling { number: expected, purpose: Purpose::Summarise { .. }, .. } if expected == number)
        {
            return;
        }
        self.attempts.compacted = true;
        let note =
            ErrorNote { class: "hook".to_owned(), message: format!("no summary was made: {reason}"), attempt: None };
        let mut bodies: Vec<Body> = vec![note.into()];
        bodies.extend(self.withdraw_compact_requests());
        if self.limits.budgeted {
            self.attempts.reserved = false;
            self.effects.push(super::Effect::Release);
        }
        self.save(bodies, AfterSave::Advance);
    }
}

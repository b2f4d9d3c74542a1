//! The inbox of a run: pending messages, when they enter the conversation, and withdrawal.

use crate::agent::machine::{Effect, Hold, Machine, Phase, Refusals, wake_result, wakes};
use crate::base::{MessageId, Timestamp};
use crate::model::event::{Body, Event, MessagesConsumed, MessagesWithdrawn};
use crate::model::message::{Delivery, Message, MessageSource};

impl Machine {
    /// Returns true if a pending message needs a response.
    pub(super) fn has_wake_message(&self) -> bool {
        let calls = |message: &Message| message.from.is_visible() && self.state.is_woken_by(message);
        self.state.messages.iter().any(|message| calls(message) && !self.withdrawing.contains(&message.id))
    }

    /// Withdraws messages that are not consumed yet. Only the run knows which those are.
    pub(super) fn withdraw(&mut self, ids: &[MessageId]) {
        let ids: Vec<_> = ids
            .iter()
            .copied()
            .filter(|id| self.state.messages.get(*id).is_some() && !self.consuming.contains(id))
            .filter(|id| self.withdrawing.insert(*id))
            .collect();
        if !ids.is_empty() {
            let ticket = self.next_number();
            self.effects.push(Effect::Save { ticket, bodies: vec![MessagesWithdrawn { ids }.into()] });
        }
    }

    /// Returns true if a work context is ready and only has to be consumed.
    pub(super) fn has_pending_context(&self) -> bool {
        self.conversation.config().is_some()
            && self.state.messages.iter().any(|message| message.from == MessageSource::WorkContext)
    }

    pub(super) fn control_messages(&self) -> Vec<MessageId> {
        self.state
            .messages
            .iter()
            .filter(|message| message.from == MessageSource::Compact)
            .map(|message| message.id)
            .collect()
    }

    /// Returns the events that consume pending messages: the result of the call the agent slept on, then the messages.
    pub(super) fn take_messages(&mut self) -> Vec<Body> {
        let hold = if self.owes_response() && !self.halted { Hold::UntilIdle } else { Hold::None };
        let Some(consumed) = self.consume_messages(hold) else { return Vec::new() };
        let mut bodies = self.wake_results();
        bodies.push(consumed);
        bodies
    }

    /// Returns the event that consumes pending messages, work context and summary first.
    pub(super) fn consume_messages(&mut self, hold: Hold) -> Option<Body> {
        let mut waiting: Vec<&Message> = self
            .state
            .messages
            .iter()
            .filter(|message| message.from.is_visible() && !self.withdrawing.contains(&message.id))
            .filter(|message| hold == Hold::None || !self.held.contains(&message.id))
            .collect();
        if waiting.is_empty() {
            return None;
        }
        waiting.sort_by_key(|message| match message.from {
            MessageSource::WorkContext => 0,
            MessageSource::CompactedResume => 1,
            _ => 2,
        });
        self.halted &= !waiting.iter().any(|message| wakes(message));
        // Notices and messages of hooks do not reset the counters.
        let is_own = |from: &MessageSource| matches!(from, MessageSource::Notice | MessageSource::Hook { .. });
        if waiting.iter().any(|message| wakes(message) && !is_own(&message.from)) {
            self.watch.on_message();
            self.attempts.unfinished = 0;
            self.attempts.sent_back = 0;
            self.attempts.refusals = Refusals::default();
        }
        let ids: Vec<_> = waiting.iter().map(|message| message.id).collect();
        self.consuming.extend(&ids);
        Some(MessagesConsumed { ids }.into())
    }

    /// Returns the results of the calls that the agent slept on.
    pub(super) fn wake_results(&self) -> Vec<Body> {
        self.state.turns.open.iter().map(|call| Body::from(wake_result(call))).collect()
    }

    /// Handles an event that someone else appended to the session.
    pub(super) fn on_delivered(&mut self, now: Timestamp, event: &Event) {
        if self.last_known.is_some_and(|known| event.id <= known) {
            return;
        }
        self.apply_event(event);
        if let Body::Message(message) = &event.body
            && message.delivery == Delivery::Next
        {
            self.held.insert(message.id);
        }
        match self.phase {
            Phase::Parked => {
                let has_wake_message = self.has_wake_message();
                let control = !self.control_messages().is_empty();
                if has_wake_message || control {
                    self.advance(now);
                }
            }
            Phase::Asking { ask, cause } => self.on_event_while_asking(now, event, ask, cause),
            Phase::Holding => self.advance(now),
            Phase::Saving { .. }
            | Phase::Preparing { .. }
            | Phase::Counting { .. }
            | Phase::Reserving { .. }
            | Phase::AwaitingBudget { .. }
            | Phase::Calling { .. }
            | Phase::Backoff { .. }
            | Phase::Tools(_)
            | Phase::Ended => {}
        }
    }
}

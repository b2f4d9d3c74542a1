//! What is said to a run: what waits, what is handed over and when, what is taken back.

use crate::agent::machine::{Effect, Hold, Machine, Phase, wakes, woken};
use crate::base::{MessageId, Timestamp};
use crate::model::event::{Body, Event, MessagesConsumed, MessagesWithdrawn};
use crate::model::message::{Delivery, Message, Source};

impl Machine {
    /// Tells whether something that is to be responded to waits.
    pub(super) fn spoken_to(&self) -> bool {
        let calls = |message: &Message| message.from.is_visible() && self.state.is_called_by(message);
        self.state.messages.iter().any(|message| calls(message) && !self.withdrawing.contains(&message.id))
    }

    /// Takes messages back that the agent has not been given. The run decides, because it alone knows which those are.
    pub(super) fn withdraw(&mut self, ids: &[MessageId]) {
        let ids: Vec<_> = ids
            .iter()
            .copied()
            .filter(|id| self.state.messages.get(*id).is_some() && !self.handed_over.contains(id))
            .filter(|id| self.withdrawing.insert(*id))
            .collect();
        if !ids.is_empty() {
            let ticket = self.number();
            self.out.push(Effect::Save { ticket, bodies: vec![MessagesWithdrawn { ids }.into()] });
        }
    }

    /// Tells whether a work context was made and only has to be handed over.
    pub(super) fn context_waits(&self) -> bool {
        self.conversation.config().is_some()
            && self.state.messages.iter().any(|message| message.from == Source::WorkContext)
    }

    pub(super) fn control_messages(&self) -> Vec<MessageId> {
        self.state.messages.iter().filter(|message| message.from == Source::Compact).map(|message| message.id).collect()
    }

    /// Returns what hands the waiting messages over: the answer to the call the agent slept on, then the messages.
    pub(super) fn take_messages(&mut self) -> Vec<Body> {
        let hold = if self.owes_response() && !self.halted { Hold::UntilIdle } else { Hold::Nothing };
        let Some(consumed) = self.hand_over(hold) else { return Vec::new() };
        let mut bodies = self.wake_answer();
        bodies.push(consumed);
        bodies
    }

    /// Returns the event that makes the waiting messages part of the conversation, what the agent must know before
    /// anything else first.
    pub(super) fn hand_over(&mut self, hold: Hold) -> Option<Body> {
        let mut waiting: Vec<&Message> = self
            .state
            .messages
            .iter()
            .filter(|message| message.from.is_visible() && !self.withdrawing.contains(&message.id))
            .filter(|message| hold == Hold::Nothing || !self.held.contains(&message.id))
            .collect();
        if waiting.is_empty() {
            return None;
        }
        waiting.sort_by_key(|message| match message.from {
            Source::WorkContext => 0,
            Source::CompactedResume => 1,
            _ => 2,
        });
        self.halted &= !waiting.iter().any(|message| wakes(message));
        // What we said ourselves is no reason to start counting anew.
        if waiting.iter().any(|message| wakes(message) && message.from != Source::Notice) {
            self.watch.spoken_to();
            self.tries.unfinished = 0;
        }
        let ids: Vec<_> = waiting.iter().map(|message| message.id).collect();
        self.handed_over.extend(&ids);
        Some(MessagesConsumed { ids }.into())
    }

    /// Returns the results of the calls that the agent slept on.
    pub(super) fn wake_answer(&self) -> Vec<Body> {
        self.state.turns.open.iter().map(|call| Body::from(woken(call))).collect()
    }

    /// Takes in what somebody else wrote into the session.
    pub(super) fn heard(&mut self, now: Timestamp, event: &Event) {
        if self.known.is_some_and(|known| event.id <= known) {
            return;
        }
        self.absorb(event);
        if let Body::Message(message) = &event.body
            && message.delivery == Delivery::Next
        {
            self.held.insert(message.id);
        }
        match self.phase {
            Phase::Parked => {
                let spoken_to = self.spoken_to();
                let control = !self.control_messages().is_empty();
                if spoken_to || control {
                    self.advance(now);
                }
            }
            Phase::Asking { ask, about } => self.heard_while_asking(now, event, ask, about),
            Phase::Saving { .. }
            | Phase::Preparing { .. }
            | Phase::Counting { .. }
            | Phase::Reserving { .. }
            | Phase::Held { .. }
            | Phase::Calling { .. }
            | Phase::Backoff { .. }
            | Phase::Tools(_)
            | Phase::Ended => {}
        }
    }
}

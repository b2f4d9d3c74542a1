//! Answers that nobody has acted on yet: given while no run was alive, or just before one died.

use serde::{Deserialize, Serialize};

use crate::base::{AskId, EventId};
use crate::model::ask::{Answer, Ask};
use crate::model::event::{Body, Event};
use crate::model::fold::PendingAsks;
use crate::model::message::{Message, Source};

/// An Ask and what the person said to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub ask: Ask,
    pub answer: Answer,
    /// The event that has the answer. Absent in carried state of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<EventId>,
}

/// Answered minus acted on. Whatever a run does next is done in the knowledge of the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Decisions(Vec<Decision>);

impl Decisions {
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Decision> {
        self.0.iter()
    }

    /// Returns the last decision about an Ask.
    pub fn of(&self, ask: AskId) -> Option<&Decision> {
        self.0.iter().rev().find(|decision| decision.ask.id == ask)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes an event in. `asks` is what was open before it.
    pub fn apply(&mut self, event: &Event, asks: &PendingAsks) {
        match &event.body {
            Body::AskAnswered(answered) => {
                self.0.extend(asks.get(answered.id).map(|ask| Decision {
                    ask: ask.clone(),
                    answer: answered.answer.clone(),
                    event: Some(event.id),
                }));
            }
            // Answered and taken back at once: whichever was written last, nothing is to be done.
            Body::AskWithdrawn(withdrawn) => self.0.retain(|decision| decision.ask.id != withdrawn.id),
            Body::Granted(granted) => self.0.retain(|decision| decision.ask.id != granted.ask),
            Body::TurnEnded(_)
            | Body::RunEnded(_)
            | Body::CompactStarted(_)
            | Body::CompactMarker(_)
            | Body::ForkMarker(_) => self.0.clear(),
            Body::AskRaised(_) | Body::Message(Message { from: Source::Notice, .. }) if event.run.is_some() => {
                self.0.clear();
            }
            // Outside of a run nobody has acted on what a run asked. But whoever asks the same again has heard the answer.
            Body::AskRaised(ask) => self.0.retain(|decision| decision.ask.kind() != ask.kind()),
            Body::HeadMoved(moved) => *self = moved.carry.decisions.clone(),
            Body::Message(_)
            | Body::MessagesConsumed(_)
            | Body::MessagesWithdrawn(_)
            | Body::SessionConfig(_)
            | Body::AssistantText(_)
            | Body::Thinking(_)
            | Body::ToolCall(_)
            | Body::ToolResult(_)
            | Body::Usage(_)
            | Body::RunStarted(_)
            | Body::DoneNotified(_)
            | Body::BudgetWarning(_)
            | Body::BudgetExceeded(_)
            | Body::Error(_)
            | Body::Repaired(_)
            | Body::Snapshot(_)
            | Body::Work(_)
            | Body::TaskChanged(_)
            | Body::Unknown(_) => {}
        }
    }
}

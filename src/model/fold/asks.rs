//! Asks that wait for the person, in the order they were raised.

use serde::{Deserialize, Serialize};

use crate::base::AskId;
use crate::model::ask::Ask;
use crate::model::event::{Body, Event};

/// Raised minus answered minus withdrawn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PendingAsks(Vec<Ask>);

impl PendingAsks {
    pub fn iter(&self) -> impl Iterator<Item = &Ask> {
        self.0.iter()
    }

    pub fn get(&self, id: AskId) -> Option<&Ask> {
        self.0.iter().find(|ask| ask.id == id)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::AskRaised(ask) => match self.0.iter_mut().find(|pending| pending.id == ask.id) {
                Some(pending) => *pending = ask.clone(),
                None => self.0.push(ask.clone()),
            },
            Body::AskAnswered(answered) => self.0.retain(|pending| pending.id != answered.id),
            Body::AskWithdrawn(withdrawn) => self.0.retain(|pending| pending.id != withdrawn.id),
            Body::CompactMarker(marker) => *self = marker.carry.asks.clone(),
            Body::HeadMoved(moved) => *self = moved.carry.asks.clone(),
            Body::ForkMarker(_) => self.0.clear(),
            Body::Message(_)
            | Body::MessagesConsumed(_)
            | Body::MessagesWithdrawn(_)
            | Body::SessionConfig(_)
            | Body::AssistantText(_)
            | Body::Thinking(_)
            | Body::ToolCall(_)
            | Body::ToolResult(_)
            | Body::Usage(_)
            | Body::TurnEnded(_)
            | Body::CompactStarted(_)
            | Body::RunStarted(_)
            | Body::RunEnded(_)
            | Body::DoneNotified(_)
            | Body::Granted(_)
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

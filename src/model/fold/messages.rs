//! Messages that were sent and not yet consumed, in the order they were sent.

use serde::{Deserialize, Serialize};

use crate::base::MessageId;
use crate::model::event::{Body, Event};
use crate::model::message::Message;

/// Sent minus consumed minus withdrawn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PendingMessages(Vec<Message>);

impl PendingMessages {
    pub fn iter(&self) -> impl Iterator<Item = &Message> {
        self.0.iter()
    }

    pub fn get(&self, id: MessageId) -> Option<&Message> {
        self.0.iter().find(|message| message.id == id)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes a message out.
    pub fn take(&mut self, id: MessageId) -> Option<Message> {
        let at = self.0.iter().position(|message| message.id == id)?;
        Some(self.0.remove(at))
    }

    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::Message(message) => match self.0.iter_mut().find(|pending| pending.id == message.id) {
                Some(pending) => *pending = message.clone(),
                None => self.0.push(message.clone()),
            },
            Body::MessagesConsumed(consumed) => self.0.retain(|pending| !consumed.ids.contains(&pending.id)),
            Body::MessagesWithdrawn(withdrawn) => self.0.retain(|pending| !withdrawn.ids.contains(&pending.id)),
            Body::CompactMarker(marker) => *self = marker.carry.messages.clone(),
            Body::HeadMoved(moved) => *self = moved.carry.messages.clone(),
            Body::ForkMarker(_) => self.0.clear(),
            Body::SessionConfig(_)
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
            | Body::AskRaised(_)
            | Body::AskAnswered(_)
            | Body::AskWithdrawn(_)
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

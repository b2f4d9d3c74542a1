//! Pending messages, in the order in which they were sent.

use serde::{Deserialize, Serialize};

use crate::base::MessageId;
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

    pub fn take(&mut self, id: MessageId) -> Option<Message> {
        let at = self.0.iter().position(|message| message.id == id)?;
        Some(self.0.remove(at))
    }

    pub fn on_sent(&mut self, message: &Message) {
        match self.0.iter_mut().find(|pending| pending.id == message.id) {
            Some(pending) => *pending = message.clone(),
            None => self.0.push(message.clone()),
        }
    }

    /// Removes consumed or withdrawn messages.
    pub fn remove(&mut self, ids: &[MessageId]) {
        self.0.retain(|pending| !ids.contains(&pending.id));
    }
}

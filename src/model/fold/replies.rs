//! Pending replies. They follow from two sessions: the one of the asked task has the request, the one of the asking
//! task has the messages that it received since.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::{MessageId, TaskId};
use crate::model::message::{Message, MessageSource};

/// The requests and received messages of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Replies {
    /// The last request of each task that wants a reply from this one. Whether it got one is not known here.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    requests: BTreeMap<TaskId, MessageId>,
    /// The last message to this task that may be a reply.
    #[serde(rename = "heard", skip_serializing_if = "Option::is_none")]
    last_received: Option<MessageId>,
    /// Whether that message is the user's, in words: the user, not another task, waits for what comes of it.
    #[serde(rename = "user_waits", skip_serializing_if = "std::ops::Not::not")]
    is_from_user: bool,
}

impl Replies {
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.last_received.is_none()
    }

    /// Returns the last request that a task sent to this one.
    pub fn request_of(&self, task: TaskId) -> Option<MessageId> {
        self.requests.get(&task).copied()
    }

    /// Returns true if the user or another task ever sent a message to this task, even a withdrawn one.
    pub fn has_received(&self) -> bool {
        self.last_received.is_some()
    }

    /// Returns true if this task received a message after its own `request`. Ids grow with time.
    pub fn has_received_since(&self, request: MessageId) -> bool {
        self.last_received.is_some_and(|received| received > request)
    }

    /// Returns the last message of the user or of another task.
    pub fn last_received(&self) -> Option<MessageId> {
        self.last_received
    }

    /// Returns true if the user, in words, sent the last message.
    pub fn user_spoke_last(&self) -> bool {
        self.is_from_user
    }

    pub fn on_message(&mut self, message: &Message) {
        match &message.from {
            MessageSource::TaskMessage { task, request_reply, .. } => {
                if *request_reply {
                    self.requests.insert(*task, message.id);
                }
                self.on_received(message.id);
            }
            MessageSource::User | MessageSource::Begin | MessageSource::BeginFork | MessageSource::Continue => {
                self.on_received(message.id);
                self.is_from_user = message.from == MessageSource::User;
            }
            // A finished task waits for no reply.
            MessageSource::TaskComplete { task, .. } => {
                self.requests.remove(task);
            }
            MessageSource::UserMessageForwarded { .. }
            | MessageSource::TreeChange { .. }
            | MessageSource::ClarifyResponse { .. }
            | MessageSource::CrossProject { .. }
            | MessageSource::BackgroundComplete { .. }
            | MessageSource::WorkContext
            | MessageSource::CompactedResume
            | MessageSource::Compact
            | MessageSource::Interrupt
            | MessageSource::Hook { .. }
            | MessageSource::Notice
            | MessageSource::Handover { .. } => {}
        }
    }

    pub fn on_withdrawn(&mut self, ids: &[MessageId]) {
        self.requests.retain(|_, id| !ids.contains(id));
    }

    fn on_received(&mut self, id: MessageId) {
        self.last_received = self.last_received.max(Some(id));
        self.is_from_user = false;
    }
}

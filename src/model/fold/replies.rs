//! Replies that are waited for. Two sessions say it together: that of whoever was asked has the request, and that of
//! whoever asked has what was said to it since.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::{MessageId, TaskId};
use crate::model::message::{Message, Source};

/// What a session has of requests and of replies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Replies {
    /// The last request of each task that wanted a reply from this one. Whether it has got one is not known here.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    requests: BTreeMap<TaskId, MessageId>,
    /// The last message to this task that may be a reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    heard: Option<MessageId>,
}

impl Replies {
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.heard.is_none()
    }

    /// Returns the last request that a task sent to this one.
    pub fn request_of(&self, task: TaskId) -> Option<MessageId> {
        self.requests.get(&task).copied()
    }

    /// Tells whether the user or another task ever said something to this task, also if it was taken back.
    pub fn has_heard(&self) -> bool {
        self.heard.is_some()
    }

    /// Tells whether something was said to this task after its own `request`. Ids grow with time.
    pub fn has_heard_since(&self, request: MessageId) -> bool {
        self.heard.is_some_and(|heard| heard > request)
    }

    pub fn message(&mut self, message: &Message) {
        match &message.from {
            Source::TaskMessage { task, request_reply, .. } => {
                if *request_reply {
                    self.requests.insert(*task, message.id);
                }
                self.hear(message.id);
            }
            Source::User | Source::Begin | Source::BeginFork | Source::Continue => self.hear(message.id),
            // Whoever is done waits for nothing.
            Source::TaskComplete { task, .. } => {
                self.requests.remove(task);
            }
            Source::UserMessageForwarded { .. }
            | Source::TreeChange { .. }
            | Source::ClarifyResponse { .. }
            | Source::CrossProject { .. }
            | Source::BackgroundComplete { .. }
            | Source::WorkContext
            | Source::CompactedResume
            | Source::Compact
            | Source::Interrupt
            | Source::Notice => {}
        }
    }

    pub fn withdrawn(&mut self, ids: &[MessageId]) {
        self.requests.retain(|_, id| !ids.contains(id));
    }

    fn hear(&mut self, id: MessageId) {
        self.heard = self.heard.max(Some(id));
    }
}

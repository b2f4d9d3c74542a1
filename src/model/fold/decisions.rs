//! Answers that no run has acted on yet: given while no run was alive, or just before one died.

use serde::{Deserialize, Serialize};

use crate::base::{AskId, EventId, RunId};
use crate::model::ask::{Answer, Ask};
use crate::model::message::{Message, MessageSource};

/// An Ask and the user's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub ask: Ask,
    pub answer: Answer,
    /// The event of the answer. Absent in carried state of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<EventId>,
}

/// Answered minus acted on. Any next step of a run takes the answers into account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PendingDecisions(Vec<Decision>);

impl PendingDecisions {
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

    /// Adds an answer to an open Ask.
    pub fn on_answered(&mut self, ask: &Ask, answer: &Answer, event: EventId) {
        self.0.push(Decision { ask: ask.clone(), answer: answer.clone(), event: Some(event) });
    }

    /// Removes the answers to one Ask that was acted on or withdrawn.
    pub fn remove(&mut self, ask: AskId) {
        self.0.retain(|decision| decision.ask.id != ask);
    }

    /// Handles a new Ask. A run that asks has acted on all earlier answers. Outside of a run, only an answer to the
    /// same question is cleared.
    pub fn on_asked(&mut self, ask: &Ask, by: Option<RunId>) {
        match by {
            Some(_) => self.clear(),
            None => self.0.retain(|decision| decision.ask.kind() != ask.kind()),
        }
    }

    /// Handles a message. A run that gives its agent a notice has acted on all earlier answers.
    pub fn on_message(&mut self, message: &Message, by: Option<RunId>) {
        if message.from == MessageSource::Notice && by.is_some() {
            self.clear();
        }
    }

    /// Clears the list: a run continued, and took every answer into account.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

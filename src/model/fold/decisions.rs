//! Answers that nobody has acted on yet: given while no run was alive, or just before one died.

use serde::{Deserialize, Serialize};

use crate::base::{AskId, EventId, RunId};
use crate::model::ask::{Answer, Ask};
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

    /// Adds an answer to an Ask that was open.
    pub fn answered(&mut self, ask: &Ask, answer: &Answer, event: EventId) {
        self.0.push(Decision { ask: ask.clone(), answer: answer.clone(), event: Some(event) });
    }

    /// Removes the answers to one Ask: it was acted on, or withdrawn, whichever of the two was written last.
    pub fn settled(&mut self, ask: AskId) {
        self.0.retain(|decision| decision.ask.id != ask);
    }

    /// Takes in a new Ask. A run that asks has acted on what it knew. Outside of a run nobody has, but whoever asks the same
    /// again has heard the answer.
    pub fn asked(&mut self, ask: &Ask, by: Option<RunId>) {
        match by {
            Some(_) => self.acted_on(),
            None => self.0.retain(|decision| decision.ask.kind() != ask.kind()),
        }
    }

    /// Takes in a message. A run that gives its agent a notice has acted on what it knew.
    pub fn message(&mut self, message: &Message, by: Option<RunId>) {
        if message.from == Source::Notice && by.is_some() {
            self.acted_on();
        }
    }

    /// Empties the list: a run went on, in the knowledge of every answer.
    pub fn acted_on(&mut self) {
        self.0.clear();
    }
}

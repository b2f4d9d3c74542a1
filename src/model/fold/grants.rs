//! What the person allowed an agent beyond its limits, and of which limits the agent has been told.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::base::MicroUsd;
use crate::model::event::{Exit, Grant};
use crate::model::message::Message;

/// Limits that were lifted, for the rest of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Grants {
    /// How many turns may end before the person is asked again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Models that may be used under a budget although nobody knows what they cost.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub unpriced: BTreeSet<String>,
    /// Requests may be made although no summary can make the context small enough.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub overfull: bool,
    /// How many tasks may be open before the user is asked again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u32>,
    /// The user refused more tasks than the limits allow, and has said nothing since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_more_tasks: bool,
    /// The task may be declared done although its check fails. Used up by the end of the run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unchecked: bool,
    /// The budgets that the agent knows to be nearly spent.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub warned: BTreeSet<MicroUsd>,
}

impl Grants {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn granted(&mut self, grant: &Grant) {
        match grant {
            Grant::Turns { up_to } => self.turns = self.turns.max(Some(*up_to)),
            Grant::Unpriced { model } => {
                self.unpriced.insert(model.clone());
            }
            Grant::Overfull => self.overfull = true,
            Grant::Tasks { up_to } => {
                self.tasks = self.tasks.max(Some(*up_to));
                self.no_more_tasks = false;
            }
            Grant::NoMoreTasks => self.no_more_tasks = true,
            Grant::Unchecked => self.unchecked = true,
        }
    }

    /// Takes in a message: the user's refusal of more tasks holds until they say something.
    pub fn message(&mut self, message: &Message) {
        self.no_more_tasks &= !message.from.is_of_user();
    }

    pub fn run_ended(&mut self, exit: &Exit) {
        self.unchecked &= !matches!(exit, Exit::DonePassed | Exit::DoneFailed);
    }

    pub fn warned_of(&mut self, limit: MicroUsd) {
        self.warned.insert(limit);
    }
}

//! Limits that the user lifted for an agent, and the warnings that the agent has received.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::base::MicroUsd;
use crate::model::event::{Allowance, Exit, Grant};
use crate::model::message::Message;

/// Limits that were lifted for the rest of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Grants {
    /// The number of turns that may end before the user is asked again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Models that may be used under a budget although their price is unknown.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub unpriced: BTreeSet<String>,
    /// Budgets that may be exceeded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub money: Vec<Allowance>,
    /// Requests may be sent although no summary can make the context small enough.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub overfull: bool,
    /// The number of tasks that may be open before the user is asked again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u32>,
    /// The user refused more tasks than the limits allow, and has sent no message since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_more_tasks: bool,
    /// The task may be declared done although its check fails. Cleared at the end of the run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unchecked: bool,
    /// Permission rules that allow calls in this task.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub calls: BTreeSet<String>,
    /// The budgets that the agent was warned about.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub warned: BTreeSet<MicroUsd>,
}

impl Grants {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn on_granted(&mut self, grant: &Grant) {
        match grant {
            Grant::Turns { up_to } => self.turns = self.turns.max(Some(*up_to)),
            Grant::Unpriced { model } => {
                self.unpriced.insert(model.clone());
            }
            Grant::Money { allowance } => {
                self.money.retain(|known| (known.scope, known.limit) != (allowance.scope, allowance.limit));
                self.money.push(*allowance);
            }
            Grant::Overfull => self.overfull = true,
            Grant::Tasks { up_to } => {
                self.tasks = self.tasks.max(Some(*up_to));
                self.no_more_tasks = false;
            }
            Grant::NoMoreTasks => self.no_more_tasks = true,
            Grant::Unchecked => self.unchecked = true,
            Grant::Calls { rules } => self.calls.extend(rules.iter().cloned()),
        }
    }

    /// Handles a message: a refusal of more tasks holds until the user's next message.
    pub fn on_message(&mut self, message: &Message) {
        self.no_more_tasks &= !message.from.is_from_user();
    }

    pub fn on_run_ended(&mut self, exit: &Exit) {
        self.unchecked &= !matches!(exit, Exit::DonePassed | Exit::DoneFailed);
    }

    pub fn on_budget_warning(&mut self, limit: MicroUsd) {
        self.warned.insert(limit);
    }
}

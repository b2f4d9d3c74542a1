//! The session of an outside program, and whether it owes a response.

use serde::{Deserialize, Serialize};

use crate::base::MicroUsd;
use crate::model::backend::{BackendEvent, ForeignSession, SessionOrigin};
use crate::model::usage::Usage;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BackendState {
    /// The session that a run can continue. `None` after a rewind: the program knows more than the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<ForeignSession>,
    /// What the session has cost so far.
    #[serde(skip_serializing_if = "is_zero")]
    pub spent: MicroUsd,
    /// A prompt was sent and its turn has not ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub owes_response: bool,
    /// The last turn was a program's and has ended, whatever was said last in it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_answered: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(amount: &MicroUsd) -> bool {
    *amount == MicroUsd::ZERO
}

impl BackendState {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn on_backend(&mut self, event: &BackendEvent) {
        match event {
            BackendEvent::Session { session } => {
                if session.origin != SessionOrigin::Continued {
                    self.spent = MicroUsd::ZERO;
                }
                self.session = Some(session.clone());
            }
            BackendEvent::Prompted { .. } => self.owes_response = true,
            BackendEvent::Plan { .. }
            | BackendEvent::ToolsMissing
            | BackendEvent::Update { .. }
            | BackendEvent::Notice { .. } => {}
        }
    }

    pub fn on_usage(&mut self, usage: &Usage) {
        if self.session.is_some() {
            self.spent += usage.cost.unwrap_or_default();
        }
    }

    pub fn on_messages_consumed(&mut self) {
        self.has_answered = false;
    }

    pub fn on_turn_ended(&mut self) {
        self.has_answered = std::mem::take(&mut self.owes_response);
    }

    /// Returns the state after a rewind to `then`: the program knows more than the conversation, so its session cannot go on.
    pub fn moved_to(then: &Self) -> Self {
        Self { has_answered: then.has_answered, ..Self::default() }
    }
}

//! Tool calls that wait for an answer: they have an Ask and no result, and did not run.

use serde::{Deserialize, Serialize};

use crate::base::{AskId, EventId};
use crate::model::ask::{Answer, Ask};
use crate::model::event::{AskWithdrawn, Body, PermissionNote, ToolResult};
use crate::model::fold::{Decision, OpenCall, SessionState};

/// A call that is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldCall {
    pub call: String,
    pub ask: AskId,
    /// How the hold ended. `None` while the Ask is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<Release>,
}

/// The end of a hold. The call itself still has to run, or to get a result that says that it did not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Release {
    Answered(Box<Decision>),
    Withdrawn,
}

/// Held minus released.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HeldCalls(Vec<HeldCall>);

impl HeldCalls {
    pub fn iter(&self) -> impl Iterator<Item = &HeldCall> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn holds(&self, call: &str) -> bool {
        self.0.iter().any(|held| held.call == call)
    }

    /// Returns true if a hold has ended and its call waits for a run.
    pub fn has_released(&self) -> bool {
        self.0.iter().any(|held| held.release.is_some())
    }

    pub fn on_raised(&mut self, ask: &Ask) {
        let Some(call) = ask.held_call() else { return };
        self.remove(call);
        self.0.push(HeldCall { call: call.to_owned(), ask: ask.id, release: None });
    }

    /// Handles the answer to an open Ask. Returns false if no call is held by it.
    pub fn on_answered(&mut self, ask: &Ask, answer: &Answer, event: EventId) -> bool {
        let Some(held) = self.0.iter_mut().find(|held| held.ask == ask.id) else { return false };
        let decision = Decision { ask: ask.clone(), answer: answer.clone(), event: Some(event) };
        held.release = Some(Release::Answered(Box::new(decision)));
        true
    }

    pub fn on_withdrawn(&mut self, ask: AskId) {
        if let Some(held) = self.0.iter_mut().find(|held| held.ask == ask && held.release.is_none()) {
            held.release = Some(Release::Withdrawn);
        }
    }

    /// Removes a call that runs, or has a result.
    pub fn remove(&mut self, call: &str) {
        self.0.retain(|held| held.call != call);
    }

    /// Removes the calls that are not open any more.
    pub fn retain_open(&mut self, open: &[OpenCall]) {
        self.0.retain(|held| open.iter().any(|open| open.call == held.call));
    }
}

impl SessionState {
    /// Returns the events that end all holds without running their calls: `reason` is for the log, `result` for the
    /// model.
    pub fn end_holds(&self, reason: &str, result: &str) -> Vec<Body> {
        let mut bodies = Vec::new();
        for held in self.held_calls.iter() {
            if held.release.is_none() {
                bodies.push(AskWithdrawn { id: held.ask, reason: reason.to_owned() }.into());
            }
            bodies.push(self.unrun_result(held, result, None));
        }
        bodies
    }

    /// Returns the result of a held call that consists of the answer.
    pub fn answered_result(&self, held: &HeldCall, text: &str) -> Body {
        ToolResult::unrun(&self.open_call(held), text, false).into()
    }

    fn open_call(&self, held: &HeldCall) -> OpenCall {
        let name = self.turns.open.iter().find(|open| open.call == held.call).map(|open| open.name.clone());
        OpenCall { call: held.call.clone(), name: name.unwrap_or_default() }
    }

    /// Returns the result of a held call that does not run.
    pub fn unrun_result(&self, held: &HeldCall, text: &str, permission: Option<PermissionNote>) -> Body {
        ToolResult { permission, ..ToolResult::unrun(&self.open_call(held), text, true) }.into()
    }
}

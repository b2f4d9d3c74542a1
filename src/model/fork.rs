//! Forks: a task continues from a copy of another task's conversation, under its own identity.

use crate::base::TaskId;
use crate::model::control::Control;
use crate::model::event::{Body, Event, ForkMarker, ToolResult};
use crate::model::fold::{OpenCall, SessionState};

/// The task that receives the copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub source: TaskId,
    pub title: String,
    pub description: String,
}

impl Target {
    /// Returns the events that close a copied conversation: a result for each of its open calls, and the fork marker.
    /// The last marker counts, however often a conversation was copied.
    pub fn closing(&self, copied: &[Event]) -> Vec<Body> {
        let state = SessionState::replay(copied);
        let mut bodies: Vec<Body> = state.turns.open.iter().map(|call| Self::answer(call).into()).collect();
        bodies.extend(copied.last().map(|last| {
            Body::from(ForkMarker {
                source: self.source,
                source_event: last.id,
                title: self.title.clone(),
                description: self.description.clone(),
            })
        }));
        bodies
    }

    fn answer(call: &OpenCall) -> ToolResult {
        let text = match Control::of(&call.name) {
            Some(Control::Fork) => {
                "Forked. You are the copy: the task that made this call goes on elsewhere, without you."
            }
            Some(Control::Yield | Control::Done) | None => {
                "This call was made by the task that this conversation was copied from. Its result belongs to that task and \
                 is not known here."
            }
        };
        ToolResult::unrun(call, text, false)
    }
}

#[cfg(test)]
#[path = "fork_tests.rs"]
mod tests;

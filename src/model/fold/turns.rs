//! Turns: how many there were, how the last one ended, and which tool calls still wait for a result.

use serde::{Deserialize, Serialize};

use crate::base::TurnId;
use crate::model::event::{Body, Event, Exit, StopReason};

/// A tool call without a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCall {
    pub call: String,
    pub name: String,
}

/// The turns of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Turns {
    /// All that ever ended, also those that were rewound or summarised.
    pub ended: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<LastTurn>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<OpenCall>,
    /// How the last run ended, until the conversation goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
}

/// The turn that ended last on the active chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastTurn {
    pub turn: TurnId,
    pub stop: StopReason,
}

impl Turns {
    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::ToolCall(call) => {
                self.open.push(OpenCall { call: call.call.clone(), name: call.name.clone() });
            }
            Body::ToolResult(result) => {
                self.open.retain(|open| open.call != result.call);
                self.exit = None;
            }
            Body::MessagesConsumed(_) => self.exit = None,
            Body::RunEnded(run) => self.exit = Some(run.exit.clone()),
            Body::TurnEnded(end) => {
                self.exit = None;
                self.ended += 1;
                self.last = Some(LastTurn { turn: end.turn, stop: end.stop.clone() });
            }
            // The calls are in the part that was summarised: nobody can answer them any more.
            Body::CompactMarker(marker) => *self = Self { open: Vec::new(), ..marker.carry.turns.clone() },
            Body::HeadMoved(moved) => *self = moved.carry.turns.clone(),
            Body::ForkMarker(_) => {
                self.ended = 0;
                self.exit = None;
            }
            Body::Message(_)
            | Body::MessagesWithdrawn(_)
            | Body::SessionConfig(_)
            | Body::AssistantText(_)
            | Body::Thinking(_)
            | Body::Usage(_)
            | Body::CompactStarted(_)
            | Body::RunStarted(_)
            | Body::DoneNotified(_)
            | Body::AskRaised(_)
            | Body::AskAnswered(_)
            | Body::AskWithdrawn(_)
            | Body::BudgetWarning(_)
            | Body::BudgetExceeded(_)
            | Body::Error(_)
            | Body::Repaired(_)
            | Body::Snapshot(_)
            | Body::TaskChanged(_)
            | Body::Unknown(_) => {}
        }
    }
}

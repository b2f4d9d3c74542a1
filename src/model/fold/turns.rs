//! Turns: how many there were, how the last one ended, and which tool calls still wait for a result.

use serde::{Deserialize, Serialize};

use crate::base::{EventId, TurnId};
use crate::model::conversation::Role;
use crate::model::event::{Body, Event, Exit, StopReason};
use crate::model::fold::PendingMessages;
use crate::model::message::Message;

/// A tool call without a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCall {
    pub call: String,
    pub name: String,
}

/// How the last run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastExit {
    pub exit: Exit,
    /// What a finished task came to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result: String,
    /// The event that says so.
    pub event: EventId,
    /// The event that decided it, where that is older.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<EventId>,
    /// Whether the task above has been told, durably.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub notified: bool,
}

impl LastExit {
    /// Tells whether a message was sent after it was decided that the run ends.
    pub fn precedes(&self, message: &Message) -> bool {
        message.id.ulid() > self.decided.unwrap_or(self.event).ulid()
    }
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
    /// Who spoke last in the conversation: a user's speech wants a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voice: Option<Role>,
    /// How the last run ended, until the conversation goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_exit: Option<LastExit>,
}

/// The turn that ended last on the active chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastTurn {
    pub turn: TurnId,
    pub stop: StopReason,
}

impl Turns {
    /// Returns how the last run ended, unless the conversation has gone on since.
    pub fn exit(&self) -> Option<&Exit> {
        self.last_exit.as_ref().map(|last| &last.exit)
    }

    /// Takes in an event; `sent` are the messages that were pending before it.
    pub fn apply(&mut self, event: &Event, sent: &PendingMessages) {
        match &event.body {
            Body::ToolCall(call) => {
                self.open.push(OpenCall { call: call.call.clone(), name: call.name.clone() });
                self.voice = Some(Role::Assistant);
            }
            Body::ToolResult(result) => {
                let open = self.open.len();
                self.open.retain(|open| open.call != result.call);
                // A result that answers nothing is no part of the conversation.
                if self.open.len() < open {
                    self.voice = Some(Role::User);
                }
                self.last_exit = None;
            }
            Body::MessagesConsumed(consumed) => {
                // A wish that nobody is shown is no part of the conversation, and undoes no end of it.
                if consumed.ids.iter().any(|id| sent.get(*id).is_some_and(|message| message.from.is_visible())) {
                    self.last_exit = None;
                    self.voice = Some(Role::User);
                }
            }
            Body::AssistantText(said) if said.text.trim().is_empty() => {}
            Body::AssistantText(_) | Body::Thinking(_) => self.voice = Some(Role::Assistant),
            Body::RunEnded(run) => {
                let (exit, result) = (run.exit.clone(), run.result.clone());
                let decided = run.decided;
                self.last_exit = Some(LastExit { exit, result, event: event.id, decided, notified: false });
            }
            Body::DoneNotified(_) => {
                if let Some(last) = &mut self.last_exit {
                    last.notified = true;
                }
            }
            Body::TurnEnded(end) => {
                self.last_exit = None;
                self.ended += 1;
                self.last = Some(LastTurn { turn: end.turn, stop: end.stop.clone() });
            }
            // The calls are in the part that was summarised: nobody can answer them any more.
            Body::CompactMarker(marker) => {
                *self = Self { open: Vec::new(), voice: None, ..marker.carry.turns.clone() };
            }
            Body::HeadMoved(moved) => *self = moved.carry.turns.clone(),
            Body::ForkMarker(_) => {
                self.ended = 0;
                self.last_exit = None;
                self.voice = Some(Role::User);
            }
            Body::Message(_)
            | Body::MessagesWithdrawn(_)
            | Body::SessionConfig(_)
            | Body::Usage(_)
            | Body::CompactStarted(_)
            | Body::RunStarted(_)
            | Body::AskRaised(_)
            | Body::AskAnswered(_)
            | Body::AskWithdrawn(_)
            | Body::Granted(_)
            | Body::BudgetWarning(_)
            | Body::BudgetExceeded(_)
            | Body::Error(_)
            | Body::Repaired(_)
            | Body::Snapshot(_)
            | Body::Work(_)
            | Body::TaskChanged(_)
            | Body::Unknown(_) => {}
        }
    }
}

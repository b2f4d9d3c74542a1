//! Turns: how many there were, how the last one ended, and which tool calls still wait for a result.

use serde::{Deserialize, Serialize};

use crate::base::{EventId, MessageId, TurnId};
use crate::model::conversation::{Role, ToolUse};
use crate::model::event::{Exit, RunEnded, StopReason, ToolResult, TurnEnded};
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

    pub fn tool_call(&mut self, call: &ToolUse) {
        self.open.push(OpenCall { call: call.call.clone(), name: call.name.clone() });
        self.voice = Some(Role::Assistant);
    }

    pub fn tool_result(&mut self, result: &ToolResult) {
        let open = self.open.len();
        self.open.retain(|open| open.call != result.call);
        // A result that answers nothing is no part of the conversation.
        if self.open.len() < open {
            self.voice = Some(Role::User);
        }
        self.last_exit = None;
    }

    /// Takes in that messages were consumed; `pending` are those that were pending before.
    pub fn consumed(&mut self, ids: &[MessageId], pending: &PendingMessages) {
        // A wish that nobody is shown is no part of the conversation, and undoes no end of it.
        if ids.iter().any(|id| pending.get(*id).is_some_and(|message| message.from.is_visible())) {
            self.last_exit = None;
            self.voice = Some(Role::User);
        }
    }

    pub fn assistant_spoke(&mut self) {
        self.voice = Some(Role::Assistant);
    }

    pub fn turn_ended(&mut self, end: &TurnEnded) {
        self.last_exit = None;
        self.ended += 1;
        self.last = Some(LastTurn { turn: end.turn, stop: end.stop.clone() });
    }

    pub fn run_ended(&mut self, run: &RunEnded, event: EventId) {
        let RunEnded { exit, result, decided } = run.clone();
        self.last_exit = Some(LastExit { exit, result, event, decided, notified: false });
    }

    pub fn notified(&mut self) {
        if let Some(last) = &mut self.last_exit {
            last.notified = true;
        }
    }

    /// Forgets what was the source's: its number of turns and the end of its run.
    pub fn forked(&mut self) {
        self.ended = 0;
        self.last_exit = None;
        self.voice = Some(Role::User);
    }
}

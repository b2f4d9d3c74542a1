//! Turns: their number, how the last one ended, and the tool calls without a result.

use serde::{Deserialize, Serialize};

use crate::base::{EventId, MessageId, TurnId};
use crate::model::conversation::{Role, ToolUse};
use crate::model::event::{Exit, RunEnded, StopReason, ToolResult, TurnEnded};
use crate::model::fold::PendingMessages;
use crate::model::message::Message;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCall {
    pub call: String,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastExit {
    pub exit: Exit,
    /// The result of a finished task.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result: String,
    /// The `run_ended` event.
    pub event: EventId,
    /// The event that decided the exit, if that is older.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<EventId>,
    /// Whether the parent task has been notified, durably.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub notified: bool,
}

impl LastExit {
    /// Returns true if a message was sent after the exit was decided.
    pub fn precedes(&self, message: &Message) -> bool {
        message.id.ulid() > self.decided.unwrap_or(self.event).ulid()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Turns {
    /// The total number, including rewound and summarized turns.
    pub ended: u64,
    /// How many of them are from before the last hand-over. A profile's limit does not count them.
    #[serde(skip_serializing_if = "is_zero")]
    pub retired: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<LastTurn>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<OpenCall>,
    /// The last role in the conversation: after a user's message the model owes a response.
    #[serde(rename = "voice", skip_serializing_if = "Option::is_none")]
    pub last_role: Option<Role>,
    /// How the last run ended, until the conversation continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_exit: Option<LastExit>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The turn that ended last on the active chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastTurn {
    pub turn: TurnId,
    pub stop: StopReason,
}

impl Turns {
    /// Returns how the last run ended, unless the conversation has continued since.
    pub fn exit(&self) -> Option<&Exit> {
        self.last_exit.as_ref().map(|last| &last.exit)
    }

    pub fn on_tool_call(&mut self, call: &ToolUse) {
        self.open.push(OpenCall { call: call.call.clone(), name: call.name.clone() });
        self.last_role = Some(Role::Assistant);
    }

    pub fn on_tool_result(&mut self, result: &ToolResult) {
        let open = self.open.len();
        self.open.retain(|open| open.call != result.call);
        // A result without a call is not part of the conversation.
        if self.open.len() < open {
            self.last_role = Some(Role::User);
        }
        self.last_exit = None;
    }

    /// Handles consumed messages; `pending` is the list before.
    pub fn on_messages_consumed(&mut self, ids: &[MessageId], pending: &PendingMessages) {
        // An invisible message is not part of the conversation, and does not undo its end.
        if ids.iter().any(|id| pending.get(*id).is_some_and(|message| message.from.is_visible())) {
            self.last_exit = None;
            self.last_role = Some(Role::User);
        }
    }

    pub fn on_assistant_output(&mut self) {
        self.last_role = Some(Role::Assistant);
    }

    pub fn on_turn_ended(&mut self, end: &TurnEnded) {
        self.last_exit = None;
        self.ended += 1;
        self.last = Some(LastTurn { turn: end.turn, stop: end.stop.clone() });
    }

    pub fn on_run_ended(&mut self, run: &RunEnded, event: EventId) {
        let RunEnded { exit, result, decided } = run.clone();
        self.last_exit = Some(LastExit { exit, result, event, decided, notified: false });
    }

    /// Returns the turns after a hand-over. A finished task stays finished until it gets a message.
    pub fn after_handover(&self) -> Self {
        let last_exit = self.last_exit.clone().filter(|last| matches!(last.exit, Exit::DonePassed | Exit::DoneFailed));
        Self { ended: self.ended, retired: self.ended, last_exit, ..Self::default() }
    }

    /// Returns the number of turns of the current profile.
    pub fn of_profile(&self) -> u64 {
        self.ended.saturating_sub(self.retired)
    }

    pub fn on_parent_notified(&mut self) {
        if let Some(last) = &mut self.last_exit {
            last.notified = true;
        }
    }

    /// Drops the state of the source: its number of turns and the end of its run.
    pub fn on_forked(&mut self) {
        self.ended = 0;
        self.retired = 0;
        self.last_exit = None;
        self.last_role = Some(Role::User);
    }
}

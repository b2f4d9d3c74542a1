//! Waits for the reply to a message: the end of the turn that takes it in, or what keeps the task from replying.
//!
//! A turn of the conversation may be several requests to the model, with tool calls between them. Its reply is the text
//! of the last one.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::{MessageId, TaskId, TurnId};
use crate::engine::update::Update;
use crate::model::Ask;
use crate::model::Body;
use crate::model::ask::AskMode;
use crate::model::event::{Event, Exit, StopReason};

/// The reply to a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reply {
    /// The message that was sent.
    pub message: MessageId,
    /// What the agent answered.
    pub text: String,
    /// The last request to the model. `None` if the run ended before one was complete.
    pub turn: Option<TurnId>,
    pub stop: Stop,
}

/// Why the turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    EndTurn,
    MaxTokens,
    Refusal,
    ContextOverflow,
    Interrupted,
    /// The task has passed; the text is its result.
    Passed,
    /// The task has failed; the text is its result.
    Failed,
    Other,
}

/// How the wait ends.
#[derive(Debug, PartialEq)]
pub enum End {
    Reply(Reply),
    /// The task waits for the user.
    Asks(Box<Ask>),
    /// The message was withdrawn before the agent read it.
    Withdrawn,
    /// The task or its engine is gone.
    Gone,
    /// Updates were dropped: the transcript has to be read again.
    Lost,
}

/// Follows a task until its reply to one message.
#[derive(Debug)]
pub struct TurnWatch {
    task: TaskId,
    message: MessageId,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Unread,
    /// The agent has read the message.
    Reading {
        text: String,
        turn: Option<TurnId>,
    },
}

impl TurnWatch {
    pub fn new(task: TaskId, message: MessageId) -> Self {
        Self { task, message, phase: Phase::Unread }
    }

    pub fn on_update(&mut self, update: &Update) -> Option<End> {
        match update {
            Update::Event { task, event } if *task == self.task => self.on_event(event),
            Update::Removed { task } if *task == self.task => Some(End::Gone),
            Update::Moved | Update::Ended => Some(End::Gone),
            Update::Resync => Some(End::Lost),
            Update::Event { .. }
            | Update::Removed { .. }
            | Update::Task { .. }
            | Update::Live { .. }
            | Update::Project { .. }
            | Update::Notice { .. }
            | Update::Clients { .. }
            | Update::Quiet => None,
        }
    }

    pub fn on_event(&mut self, event: &Event) -> Option<End> {
        match &event.body {
            Body::MessagesConsumed(consumed) if consumed.ids.contains(&self.message) => {
                self.phase = Phase::Reading { text: String::new(), turn: None };
            }
            Body::MessagesWithdrawn(withdrawn) if withdrawn.ids.contains(&self.message) => {
                return Some(End::Withdrawn);
            }
            Body::AskRaised(ask) if ask.mode == AskMode::Blocks => return Some(End::Asks(Box::new(ask.clone()))),
            Body::AssistantText(said) => {
                if let Phase::Reading { text, .. } = &mut self.phase {
                    text.push_str(&said.text);
                }
            }
            Body::TurnEnded(ended) => {
                if let Phase::Reading { text, turn } = &mut self.phase {
                    *turn = Some(ended.turn);
                    match stop_of(&ended.stop) {
                        Some(stop) => return Some(self.reply(None, stop)),
                        None => text.clear(),
                    }
                }
            }
            Body::RunEnded(ended) => {
                if matches!(self.phase, Phase::Reading { .. }) {
                    return Some(match &ended.exit {
                        Exit::DonePassed => self.reply(Some(&ended.result), Stop::Passed),
                        Exit::DoneFailed => self.reply(Some(&ended.result), Stop::Failed),
                        Exit::Interrupted(_) => self.reply(None, Stop::Interrupted),
                    });
                }
            }
            Body::Message(_)
            | Body::MessagesConsumed(_)
            | Body::MessagesWithdrawn(_)
            | Body::SessionConfig(_)
            | Body::Thinking(_)
            | Body::ToolCall(_)
            | Body::ToolResult(_)
            | Body::Usage(_)
            | Body::CompactStarted(_)
            | Body::CompactMarker(_)
            | Body::ForkMarker(_)
            | Body::HandedOver(_)
            | Body::RunStarted(_)
            | Body::DoneNotified(_)
            | Body::AskRaised(_)
            | Body::AskAnswered(_)
            | Body::AskWithdrawn(_)
            | Body::CallReleased(_)
            | Body::Granted(_)
            | Body::BudgetWarning(_)
            | Body::BudgetExceeded(_)
            | Body::Error(_)
            | Body::Repaired(_)
            | Body::HeadMoved(_)
            | Body::Snapshot(_)
            | Body::Work(_)
            | Body::Backend(_)
            | Body::TaskChanged(_)
            | Body::HookRan(_)
            | Body::Unknown(_) => {}
        }
        None
    }

    fn reply(&mut self, result: Option<&str>, stop: Stop) -> End {
        let (text, turn) = match std::mem::replace(&mut self.phase, Phase::Unread) {
            Phase::Reading { text, turn } => (text, turn),
            Phase::Unread => (String::new(), None),
        };
        let text = result.filter(|result| !result.is_empty()).map_or(text, str::to_owned);
        End::Reply(Reply { message: self.message, text, turn, stop })
    }
}

/// Returns why a turn ended, or `None` if it goes on with another request.
fn stop_of(stop: &StopReason) -> Option<Stop> {
    match stop {
        StopReason::ToolUse | StopReason::Pause => None,
        StopReason::EndTurn => Some(Stop::EndTurn),
        StopReason::MaxTokens => Some(Stop::MaxTokens),
        StopReason::Refusal => Some(Stop::Refusal),
        StopReason::ContextOverflow => Some(Stop::ContextOverflow),
        StopReason::Interrupted => Some(Stop::Interrupted),
        StopReason::Other(_) => Some(Stop::Other),
    }
}

#[cfg(test)]
#[path = "wait_tests.rs"]
mod tests;

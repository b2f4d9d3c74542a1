//! Processes that outlive the tool call that started them and have not been reported as ended.

use serde::{Deserialize, Serialize};

use crate::base::Timestamp;
use crate::model::event::{BackgroundRef, Body, Event};
use crate::model::message::{Message, Source};

/// A process that, as far as the log knows, still runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningProcess {
    pub id: String,
    pub command: String,
    pub since: Timestamp,
}

impl RunningProcess {
    pub fn reference(&self) -> BackgroundRef {
        BackgroundRef { id: self.id.clone(), command: self.command.clone() }
    }
}

/// Started minus reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Background(Vec<RunningProcess>);

impl Background {
    pub fn iter(&self) -> impl Iterator<Item = &RunningProcess> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::ToolResult(result) => {
                if let Some(ended) = &result.ended {
                    self.0.retain(|running| running.id != *ended);
                }
                if let Some(process) = &result.background {
                    self.0.retain(|running| running.id != process.id);
                    self.0.push(RunningProcess {
                        id: process.id.clone(),
                        command: process.command.clone(),
                        since: event.ts,
                    });
                }
            }
            Body::Message(Message { from: Source::BackgroundComplete { process, .. }, .. }) => {
                self.0.retain(|running| running.id != *process);
            }
            Body::CompactMarker(marker) => *self = marker.carry.background.clone(),
            Body::HeadMoved(moved) => *self = moved.carry.background.clone(),
            Body::ForkMarker(_) => self.0.clear(),
            Body::Message(_)
            | Body::MessagesConsumed(_)
            | Body::MessagesWithdrawn(_)
            | Body::SessionConfig(_)
            | Body::AssistantText(_)
            | Body::Thinking(_)
            | Body::ToolCall(_)
            | Body::Usage(_)
            | Body::TurnEnded(_)
            | Body::CompactStarted(_)
            | Body::RunStarted(_)
            | Body::RunEnded(_)
            | Body::DoneNotified(_)
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

//! Background processes that have not been reported as ended.

use serde::{Deserialize, Serialize};

use crate::base::Timestamp;
use crate::model::event::{BackgroundRef, ToolResult};
use crate::model::message::{Message, MessageSource};

/// A process that still runs, as far as the log knows.
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

    /// Adds a process that a result left running, or removes one whose end it reports.
    pub fn on_tool_result(&mut self, result: &ToolResult, at: Timestamp) {
        if let Some(ended) = &result.ended {
            self.on_ended(ended);
        }
        if let Some(process) = &result.background {
            self.on_ended(&process.id);
            self.0.push(RunningProcess { id: process.id.clone(), command: process.command.clone(), since: at });
        }
    }

    pub fn on_message(&mut self, message: &Message) {
        if let MessageSource::BackgroundComplete { process, .. } = &message.from {
            self.on_ended(process);
        }
    }

    fn on_ended(&mut self, process: &str) {
        self.0.retain(|running| running.id != process);
    }
}

//! Processes that outlive the tool call that started them and have not been reported as ended.

use serde::{Deserialize, Serialize};

use crate::base::Timestamp;
use crate::model::event::{BackgroundRef, ToolResult};
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

    /// Takes in a result: a process that it left running, or one whose end it reports.
    pub fn tool_result(&mut self, result: &ToolResult, at: Timestamp) {
        if let Some(ended) = &result.ended {
            self.ended(ended);
        }
        if let Some(process) = &result.background {
            self.ended(&process.id);
            self.0.push(RunningProcess { id: process.id.clone(), command: process.command.clone(), since: at });
        }
    }

    pub fn message(&mut self, message: &Message) {
        if let Source::BackgroundComplete { process, .. } = &message.from {
            self.ended(process);
        }
    }

    fn ended(&mut self, process: &str) {
        self.0.retain(|running| running.id != process);
    }
}

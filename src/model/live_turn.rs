//! What agents have streamed since their last saved events: the part of a turn that is in no session yet.
//!
//! The engine and every client fold the same updates in the same order. A client that connects in mid-turn starts from
//! the engine's fold, so it shows the turn from its first character. Memory is bounded per task.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::{EventId, TaskId};
use crate::model::{Body, Event, Live};

/// The kept bytes of a streamed text. Longer than any ordinary response.
const MAX_TEXT: usize = 512 * 1024;
/// The kept bytes of the output of one running call.
const MAX_OUTPUT: usize = 64 * 1024;

/// The end of a text that arrives in pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Tail {
    pub text: String,
    /// Bytes dropped from the start.
    #[serde(default)]
    pub dropped: u64,
}

impl Tail {
    /// Appends a piece of a response.
    pub fn push_text(&mut self, piece: &str) {
        self.push(piece, MAX_TEXT);
    }

    /// Appends output of a call.
    pub fn push_output(&mut self, piece: &str) {
        self.push(piece, MAX_OUTPUT);
    }

    fn push(&mut self, piece: &str, limit: usize) {
        self.text.push_str(piece);
        // Cut only at twice the limit: cutting moves everything that is kept.
        if self.text.len() > 2 * limit {
            let cut = self.text.ceil_char_boundary(self.text.len() - limit);
            let cut = self.text[cut..].find('\n').map_or(cut, |line| cut + line + 1);
            self.dropped += cut as u64;
            self.text.drain(..cut);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// A tool call that the model is writing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CallDraft {
    pub name: String,
    pub bytes: u64,
}

/// The streamed part of one task's turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct LiveTurn {
    /// The last event of the session that this follows.
    pub after: Option<EventId>,
    #[serde(skip_serializing_if = "Tail::is_empty")]
    pub thinking: Tail,
    #[serde(skip_serializing_if = "Tail::is_empty")]
    pub text: Tail,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallDraft>,
    /// The output of running calls, by call id.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, Tail>,
}

impl LiveTurn {
    fn on_live(&mut self, live: &Live) {
        match live {
            Live::TextDelta { text } => self.text.push_text(text),
            Live::ThinkingDelta { text } => self.thinking.push_text(text),
            Live::CallDelta { name, bytes, .. } => self.call = Some(CallDraft { name: name.clone(), bytes: *bytes }),
            Live::OutputChunk { call, text, .. } => match self.outputs.get_mut(call) {
                Some(output) => output.push_output(text),
                None => drop(self.outputs.insert(call.clone(), Tail { text: text.clone(), dropped: 0 })),
            },
            Live::Discarded => self.clear_response(),
            Live::ProcessOutput { .. } | Live::Activity { .. } | Live::Retry { .. } => {}
        }
    }

    /// Removes what the event has stored.
    fn on_event(&mut self, event: &Event) {
        self.after = Some(event.id);
        match &event.body {
            Body::AssistantText(_) => self.text = Tail::default(),
            Body::Thinking(_) => self.thinking = Tail::default(),
            Body::ToolCall(_) => self.call = None,
            Body::ToolResult(result) => drop(self.outputs.remove(&result.call)),
            Body::TurnEnded(_) => self.clear_response(),
            Body::RunStarted(_) | Body::RunEnded(_) => self.clear(),
            _ => {}
        }
    }

    fn clear_response(&mut self) {
        (self.thinking, self.text, self.call) = (Tail::default(), Tail::default(), None);
    }

    fn clear(&mut self) {
        *self = Self { after: self.after, ..Self::default() };
    }
}

/// The streamed parts of all tasks that have run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct LiveTurns(BTreeMap<TaskId, LiveTurn>);

impl LiveTurns {
    pub fn on_live(&mut self, task: TaskId, live: &Live) {
        match live {
            Live::ProcessOutput { .. } | Live::Activity { .. } | Live::Retry { .. } => {}
            Live::TextDelta { .. }
            | Live::ThinkingDelta { .. }
            | Live::CallDelta { .. }
            | Live::OutputChunk { .. }
            | Live::Discarded => self.0.entry(task).or_default().on_live(live),
        }
    }

    pub fn on_event(&mut self, task: TaskId, event: &Event) {
        self.0.entry(task).or_default().on_event(event);
    }

    /// Drops what a run that is over has not saved.
    pub fn on_run_over(&mut self, task: TaskId) {
        if let Some(turn) = self.0.get_mut(&task) {
            turn.clear();
        }
    }

    pub fn forget(&mut self, task: TaskId) {
        self.0.remove(&task);
    }

    pub fn get(&self, task: TaskId) -> Option<&LiveTurn> {
        self.0.get(&task)
    }

    pub fn iter(&self) -> impl Iterator<Item = (TaskId, &LiveTurn)> {
        self.0.iter().map(|(task, turn)| (*task, turn))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
#[path = "live_turn_tests.rs"]
mod tests;

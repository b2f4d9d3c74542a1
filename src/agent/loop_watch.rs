//! Detects an agent that goes in circles: turns whose calls and results have all occurred before.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::model::Content;
use crate::model::conversation::ToolUse;
use crate::model::event::{Body, Event, ToolResult};

/// Number of outcomes to remember.
const MEMORY: usize = 64;
/// Turns without a new outcome after which the agent is warned.
const WARN_TURNS: u32 = 4;
/// Turns without a new outcome after which the user is asked.
const ASK_TURNS: u32 = 8;

/// The action to take before the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopVerdict {
    Fine,
    /// Warn the agent.
    Warn {
        turns: u32,
    },
    /// Ask the user.
    Ask {
        turns: u32,
    },
}

/// Recent calls and their outcomes, as hashes.
#[derive(Clone, Debug, Default)]
pub struct LoopDetector {
    calls: Vec<(String, u64)>,
    seen: VecDeque<u64>,
    /// The current turn has a new outcome.
    has_new_outcome: bool,
    results: usize,
    stale_turns: u32,
    reported_turns: u32,
}

impl LoopDetector {
    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::ToolCall(call) => self.on_call(call),
            Body::ToolResult(result) => self.on_result(result),
            _ => {}
        }
    }

    fn on_call(&mut self, call: &ToolUse) {
        self.calls.push((call.call.clone(), hash(&(&call.name, call.input.as_str()))));
    }

    fn on_result(&mut self, result: &ToolResult) {
        let Some(at) = self.calls.iter().position(|(call, _)| *call == result.call) else { return };
        let (_, input) = self.calls.swap_remove(at);
        let content = match &result.content {
            Content::Text { text } => hash(text),
            Content::Blob(blob) => hash(blob.blob.as_str()),
        };
        let outcome = hash(&(input, content, result.is_error));
        self.results += 1;
        if !self.seen.contains(&outcome) {
            self.has_new_outcome = true;
            self.seen.push_back(outcome);
            if self.seen.len() > MEMORY {
                self.seen.pop_front();
            }
        }
    }

    /// Starts the count anew, because a message gave the agent something new to do.
    pub fn on_message(&mut self) {
        self.stale_turns = 0;
        self.reported_turns = 0;
        self.seen.clear();
    }

    /// Ends a turn and returns what to do about repeated turns.
    pub fn end_turn(&mut self) -> LoopVerdict {
        let had_results = std::mem::take(&mut self.results) > 0;
        let has_new_outcome = std::mem::take(&mut self.has_new_outcome);
        if !had_results {
            return LoopVerdict::Fine;
        }
        if has_new_outcome {
            self.stale_turns = 0;
            self.reported_turns = 0;
            return LoopVerdict::Fine;
        }
        self.stale_turns += 1;
        match self.stale_turns {
            turns if turns >= ASK_TURNS && self.reported_turns < ASK_TURNS => {
                self.reported_turns = ASK_TURNS;
                LoopVerdict::Ask { turns }
            }
            turns if turns >= WARN_TURNS && self.reported_turns < WARN_TURNS => {
                self.reported_turns = WARN_TURNS;
                LoopVerdict::Warn { turns }
            }
            _ => LoopVerdict::Fine,
        }
    }
}

fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
#[path = "loop_watch_tests.rs"]
mod tests;

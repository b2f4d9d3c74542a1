//! Notices an agent that goes in circles: the same call with the same result again and again, or turn after turn
//! in which nothing is new.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::model::Content;
use crate::model::conversation::ToolUse;
use crate::model::event::{Body, Event, ToolResult};

/// How many outcomes are remembered.
const MEMORY: usize = 64;
/// After so many turns without anything new the agent is told, and then the person.
const WARN_TURNS: u32 = 4;
const ASK_TURNS: u32 = 8;

/// What the watch has to say before the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Fine,
    /// Tell the agent.
    Warn {
        turns: u32,
    },
    /// Ask the person.
    Ask {
        turns: u32,
    },
}

/// What was called with what and what came of it, lately.
#[derive(Clone, Debug, Default)]
pub struct LoopWatch {
    calls: Vec<(String, u64)>,
    seen: VecDeque<u64>,
    /// The turn under way has shown something new.
    news: bool,
    results: usize,
    stale_turns: u32,
    said: u32,
}

impl LoopWatch {
    pub fn apply(&mut self, event: &Event) {
        match &event.body {
            Body::ToolCall(call) => self.called(call),
            Body::ToolResult(result) => self.answered(result),
            _ => {}
        }
    }

    fn called(&mut self, call: &ToolUse) {
        self.calls.push((call.call.clone(), hash(&(&call.name, call.input.as_str()))));
    }

    fn answered(&mut self, result: &ToolResult) {
        let Some(at) = self.calls.iter().position(|(call, _)| *call == result.call) else { return };
        let (_, input) = self.calls.swap_remove(at);
        let content = match &result.content {
            Content::Text { text } => hash(text),
            Content::Blob(blob) => hash(blob.blob.as_str()),
        };
        let outcome = hash(&(input, content, result.is_error));
        self.results += 1;
        if !self.seen.contains(&outcome) {
            self.news = true;
            self.seen.push_back(outcome);
            if self.seen.len() > MEMORY {
                self.seen.pop_front();
            }
        }
    }

    /// Something was said to the agent: whatever it does next is not by itself.
    pub fn spoken_to(&mut self) {
        self.stale_turns = 0;
        self.said = 0;
        self.seen.clear();
    }

    /// Ends a turn and says whether it was one too many.
    pub fn turn_over(&mut self) -> Verdict {
        let had_results = std::mem::take(&mut self.results) > 0;
        let news = std::mem::take(&mut self.news);
        if !had_results {
            return Verdict::Fine;
        }
        if news {
            self.stale_turns = 0;
            self.said = 0;
            return Verdict::Fine;
        }
        self.stale_turns += 1;
        match self.stale_turns {
            turns if turns >= ASK_TURNS && self.said < ASK_TURNS => {
                self.said = ASK_TURNS;
                Verdict::Ask { turns }
            }
            turns if turns >= WARN_TURNS && self.said < WARN_TURNS => {
                self.said = WARN_TURNS;
                Verdict::Warn { turns }
            }
            _ => Verdict::Fine,
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

//! An answer that is decided but not yet spelled: the same for every wire.

use super::seen::{Seen, Wire};
use super::turn::{Chunk, Stop};
use super::wire::{anthropic_reply, chat_reply, responses_reply};

/// What the model says now.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Unique to this answer and the same for every retry of its request.
    pub tag: String,
    pub model: String,
    pub pieces: Vec<Spoken>,
    pub stop: Stop,
    pub tokens: Tokens,
    pub with_usage: bool,
    pub encrypted_reasoning: bool,
}

/// A piece with every name filled in.
#[derive(Clone, Debug)]
pub enum Spoken {
    Text(Vec<Chunk>),
    Thinking(String),
    Redacted(String),
    Tool { id: String, name: String, input: String },
    Gate(String),
    DelayMs(u64),
}

/// What the answer is said to have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Neither read from the cache nor written to it.
    pub input: u64,
    pub output: u64,
    pub thinking: u64,
    pub cache_read: u64,
    pub cache_write_5m: u64,
    pub cache_write_1h: u64,
}

impl Tokens {
    pub fn prompt(&self) -> u64 {
        self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h
    }
}

/// One thing that the connection does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends a whole event, or a piece of a body.
    Send(String),
    Gate(String),
    DelayMs(u64),
}

impl Reply {
    /// Returns the answer as a stream of events.
    pub fn stream(&self, wire: Wire) -> Vec<Step> {
        match wire {
            Wire::Anthropic => anthropic_reply::stream(self),
            Wire::Responses => responses_reply::stream(self),
            Wire::Chat => chat_reply::stream(self),
        }
    }

    /// Returns the answer in one piece, after the pauses that a stream would have had.
    pub fn whole(&self, wire: Wire) -> Vec<Step> {
        let body = match wire {
            Wire::Anthropic => anthropic_reply::whole(self),
            Wire::Responses => responses_reply::whole(self),
            Wire::Chat => chat_reply::whole(self),
        };
        let mut steps = self.pauses();
        steps.push(Step::Send(body.to_string()));
        steps
    }

    pub fn spell(&self, seen: &Seen) -> Vec<Step> {
        if seen.stream { self.stream(seen.wire) } else { self.whole(seen.wire) }
    }

    fn pauses(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for piece in &self.pieces {
            match piece {
                Spoken::Text(chunks) => steps.extend(chunks.iter().filter_map(pause)),
                Spoken::Gate(name) => steps.push(Step::Gate(name.clone())),
                Spoken::DelayMs(ms) => steps.push(Step::DelayMs(*ms)),
                Spoken::Thinking(_) | Spoken::Redacted(_) | Spoken::Tool { .. } => {}
            }
        }
        steps
    }
}

impl Spoken {
    /// Returns the words of a text without its pauses.
    pub fn words(chunks: &[Chunk]) -> String {
        let words = chunks.iter().filter_map(|chunk| match chunk {
            Chunk::Say(text) => Some(text.as_str()),
            Chunk::Gate(_) | Chunk::DelayMs(_) => None,
        });
        words.collect()
    }
}

/// Returns the pause that a chunk is, if it is one.
pub fn pause(chunk: &Chunk) -> Option<Step> {
    match chunk {
        Chunk::Say(_) => None,
        Chunk::Gate(name) => Some(Step::Gate(name.clone())),
        Chunk::DelayMs(ms) => Some(Step::DelayMs(*ms)),
    }
}

//! The request for a diff.

use crate::base::text;
use crate::engine::review::{DiffRange, TurnView, Whitespace};

/// Which states are compared, and how. A response to another request is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub range: DiffRange,
    pub whitespace: Whitespace,
    /// The number of context lines.
    pub context: u32,
}

impl Default for Request {
    fn default() -> Self {
        Self { range: DiffRange::Base, whitespace: Whitespace::Counts, context: 3 }
    }
}

/// Returns a turn in a few words: number and subject.
pub fn turn_words(turn: &TurnView) -> String {
    let about = if turn.text.trim().is_empty() { turn.calls.join(", ") } else { turn.text.clone() };
    let about = text::headline(&crate::base::sanitize::line(&about), 60);
    if about.is_empty() { format!("turn {}", turn.number) } else { format!("turn {}: {about}", turn.number) }
}

//! What a diff is asked for with.

use crate::base::text;
use crate::engine::review::{Range, TurnView, Whitespace};

/// Which two moments are compared, and how. An answer to another question is not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub range: Range,
    pub whitespace: Whitespace,
    /// Unchanged lines around what changed.
    pub context: u32,
}

impl Default for Request {
    fn default() -> Self {
        Self { range: Range::Base, whitespace: Whitespace::Counts, context: 3 }
    }
}

/// Returns a turn in a few words: its number and what it was about.
pub fn turn_words(turn: &TurnView) -> String {
    let about = if turn.said.trim().is_empty() { turn.calls.join(", ") } else { turn.said.clone() };
    let about = text::headline(&crate::base::sanitize::line(&about), 60);
    if about.is_empty() { format!("turn {}", turn.number) } else { format!("turn {}: {about}", turn.number) }
}

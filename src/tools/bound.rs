//! Long output as a model gets it: its beginning and its end, cut between lines where possible, and what is missing.

use std::borrow::Cow;

use crate::base::text::{count, size};
use crate::process::Glimpse;
use crate::process::output::line_breaks;

/// What more than a tenth of undecodable bytes means: this was never text.
const TEXT_PER_GARBAGE: usize = 10;

/// A stream, bounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bounded {
    pub(super) text: String,
    /// Something is not in the text.
    pub(super) is_cut: bool,
}

/// Returns what is shown of a stream in about `budget` bytes.
pub(super) fn output(glimpse: &Glimpse, budget: usize) -> Bounded {
    if is_binary(glimpse) {
        return Bounded { text: format!("[binary output, {}: not shown]", size(glimpse.total)), is_cut: true };
    }
    if glimpse.total <= budget.min(glimpse.head.len()) as u64 {
        return Bounded { text: String::from_utf8_lossy(&glimpse.head).into_owned(), is_cut: false };
    }
    Bounded { text: ends(&glimpse.head, &glimpse.tail, glimpse.total, glimpse.lines, budget), is_cut: true }
}

/// Returns `whole` in about `budget` bytes.
pub(super) fn text(whole: &str, budget: usize) -> String {
    if whole.len() <= budget {
        return whole.to_owned();
    }
    ends(whole.as_bytes(), whole.as_bytes(), whole.len() as u64, line_breaks(whole.as_bytes()), budget)
}

/// Returns only the end of a stream: what a process is doing now.
pub(super) fn latest(glimpse: &Glimpse, budget: usize) -> Bounded {
    if is_binary(glimpse) || glimpse.total <= budget.min(glimpse.tail.len()) as u64 {
        return output(glimpse, budget);
    }
    let tail = back(&glimpse.tail, budget);
    let text = format!(
        "[{} before this not shown]\n{}",
        size(glimpse.total - tail.len() as u64),
        String::from_utf8_lossy(tail)
    );
    Bounded { text, is_cut: true }
}

fn ends(head: &[u8], tail: &[u8], total: u64, lines: u64, budget: usize) -> String {
    let (head, tail) = (front(head, budget / 2), back(tail, budget / 2));
    let missing = total.saturating_sub((head.len() + tail.len()) as u64);
    let missing_lines = lines.saturating_sub(line_breaks(head) + line_breaks(tail));
    let lines = count(usize::try_from(missing_lines).unwrap_or(usize::MAX), "line", "lines");
    let head = String::from_utf8_lossy(head);
    let open: Cow<'_, str> = if head.is_empty() || head.ends_with('\n') { "".into() } else { "\n".into() };
    format!("{head}{open}[… {} in {lines} cut here …]\n{}", size(missing), String::from_utf8_lossy(tail))
}

/// Returns at most `budget` bytes from the front, up to a line's end if one is not too far back.
fn front(bytes: &[u8], budget: usize) -> &[u8] {
    let bytes = &bytes[..floor_char(bytes, budget.min(bytes.len()))];
    match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(end) if end >= bytes.len() / 2 => &bytes[..=end],
        _ => bytes,
    }
}

/// Returns at most `budget` bytes from the back, from a line's start if one is not too far on.
fn back(bytes: &[u8], budget: usize) -> &[u8] {
    let from = bytes.len().saturating_sub(budget);
    let from = (from..bytes.len()).find(|at| !is_continuation(bytes[*at])).unwrap_or(bytes.len());
    let bytes = &bytes[from..];
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) if end < bytes.len() / 2 && from > 0 => &bytes[end + 1..],
        _ => bytes,
    }
}

fn floor_char(bytes: &[u8], at: usize) -> usize {
    let begins = |at: usize| at == bytes.len() || !is_continuation(bytes[at]);
    // A character has at most four bytes; further back it was not one.
    (at.saturating_sub(3)..=at).rev().find(|at| begins(*at)).unwrap_or(at)
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

fn is_binary(glimpse: &Glimpse) -> bool {
    let wrong = glimpse.head.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    // Where the head ends before the stream does, it may end within a character.
    let cut = usize::from(glimpse.total > glimpse.head.len() as u64);
    glimpse.has_nul || wrong.saturating_sub(cut) * TEXT_PER_GARBAGE > glimpse.head.len()
}

#[cfg(test)]
#[path = "bound_tests.rs"]
mod tests;

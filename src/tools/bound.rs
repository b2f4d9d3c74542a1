//! Bounds long output for a model: its start and its end, cut between lines where possible, with a note about the
//! rest.

use std::borrow::Cow;

use crate::base::text::{count, size};
use crate::process::OutputSnapshot;
use crate::process::output::line_breaks;

/// More than a tenth of undecodable bytes means that it is not text.
const TEXT_PER_GARBAGE: usize = 10;

/// A bounded stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TruncatedText {
    pub(super) text: String,
    /// Something is missing from the text.
    pub(super) is_cut: bool,
}

/// Returns a stream in about `budget` bytes.
pub(super) fn output(snapshot: &OutputSnapshot, budget: usize) -> TruncatedText {
    if is_binary(snapshot) {
        return TruncatedText { text: format!("[binary output, {}: not shown]", size(snapshot.total)), is_cut: true };
    }
    if snapshot.total <= budget.min(snapshot.head.len()) as u64 {
        return TruncatedText { text: String::from_utf8_lossy(&snapshot.head).into_owned(), is_cut: false };
    }
    TruncatedText { text: ends(&snapshot.head, &snapshot.tail, snapshot.total, snapshot.lines, budget), is_cut: true }
}

/// Returns `whole` in about `budget` bytes.
pub(super) fn text(whole: &str, budget: usize) -> String {
    if whole.len() <= budget {
        return whole.to_owned();
    }
    ends(whole.as_bytes(), whole.as_bytes(), whole.len() as u64, line_breaks(whole.as_bytes()), budget)
}

/// Returns only the end of a stream: the current activity of a process.
pub(super) fn latest(snapshot: &OutputSnapshot, budget: usize) -> TruncatedText {
    if is_binary(snapshot) || snapshot.total <= budget.min(snapshot.tail.len()) as u64 {
        return output(snapshot, budget);
    }
    let tail = back(&snapshot.tail, budget);
    let text = format!(
        "[{} before this not shown]\n{}",
        size(snapshot.total - tail.len() as u64),
        String::from_utf8_lossy(tail)
    );
    TruncatedText { text, is_cut: true }
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

/// Returns at most `budget` bytes from the start, up to the end of a line if one is near.
fn front(bytes: &[u8], budget: usize) -> &[u8] {
    let bytes = &bytes[..floor_char(bytes, budget.min(bytes.len()))];
    match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(end) if end >= bytes.len() / 2 => &bytes[..=end],
        _ => bytes,
    }
}

/// Returns at most `budget` bytes from the end, from the start of a line if one is near.
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
    // A character has at most four bytes; further back it is not one.
    (at.saturating_sub(3)..=at).rev().find(|at| begins(*at)).unwrap_or(at)
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

fn is_binary(snapshot: &OutputSnapshot) -> bool {
    let wrong = snapshot.head.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    // If the head ends before the stream does, it may end within a character.
    let cut = usize::from(snapshot.total > snapshot.head.len() as u64);
    snapshot.has_nul || wrong.saturating_sub(cut) * TEXT_PER_GARBAGE > snapshot.head.len()
}

#[cfg(test)]
#[path = "bound_tests.rs"]
mod tests;

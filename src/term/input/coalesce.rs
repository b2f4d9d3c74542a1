//! Coalesces pointer motion and resizes, and detects unbracketed pastes.
//!
//! Works on the events of one read; there is no timer that could swallow typed keys. Once a terminal has sent a
//! bracketed paste, nothing is guessed any more.

use super::ReaderEvent;
use crate::base::keys::{Input, Key, KeyCode, Mouse, MouseKind};

/// Characters that must arrive at once, with a line break inside, to count as a paste. Fewer may be fast typing on a
/// slow connection.
const PASTE_AT_LEAST: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Coalescer {
    brackets_pastes: bool,
}

impl Coalescer {
    /// Coalesces the events of one read.
    pub(super) fn coalesce(&mut self, events: Vec<ReaderEvent>) -> Vec<ReaderEvent> {
        self.brackets_pastes |= events.iter().any(|event| matches!(event, ReaderEvent::Input(Input::Paste(_))));
        let mut out: Vec<ReaderEvent> = Vec::with_capacity(events.len());
        let mut typed: Vec<Key> = Vec::new();
        for next in events {
            if let ReaderEvent::Input(Input::Key(key)) = next
                && character(key).is_some()
            {
                typed.push(key);
                continue;
            }
            self.flush(&mut typed, &mut out);
            match out.last_mut() {
                Some(last) if replaces(last, &next) => *last = next,
                _ => out.push(next),
            }
        }
        self.flush(&mut typed, &mut out);
        out
    }

    fn flush(&self, typed: &mut Vec<Key>, out: &mut Vec<ReaderEvent>) {
        let run = std::mem::take(typed);
        if !self.brackets_pastes && is_paste(&run) {
            let text = run.into_iter().filter_map(character).collect();
            out.push(ReaderEvent::Input(Input::Paste(text)));
        } else {
            out.extend(run.into_iter().map(|key| ReaderEvent::Input(Input::Key(key))));
        }
    }
}

/// Returns the character that this key stands for in pasted text.
fn character(key: Key) -> Option<char> {
    match key.code() {
        KeyCode::Enter if key.mods().is_empty() => Some('\n'),
        KeyCode::Tab if key.mods().is_empty() => Some('\t'),
        // A line feed: Ctrl-J in raw mode, or a line break in pasted text.
        KeyCode::Char('j') if key == Key::ctrl('j') => Some('\n'),
        _ => key.typed(),
    }
}

/// Returns true if keys that arrived at once are pasted text: enough of them, and a line break that does not end them.
fn is_paste(run: &[Key]) -> bool {
    let breaks_line = |key: &Key| character(*key) == Some('\n');
    let Some(first) = run.iter().position(breaks_line) else { return false };
    run.len() >= PASTE_AT_LEAST && run[first..].iter().any(|key| !breaks_line(key))
}

/// Returns true if `next` makes `last` obsolete: the pointer or the window has moved on.
fn replaces(last: &ReaderEvent, next: &ReaderEvent) -> bool {
    let moved = |mouse: &Mouse| matches!(mouse.kind, MouseKind::Moved | MouseKind::Drag(_));
    match (last, next) {
        (ReaderEvent::Input(Input::Resize(..)), ReaderEvent::Input(Input::Resize(..))) => true,
        (ReaderEvent::Input(Input::Mouse(last)), ReaderEvent::Input(Input::Mouse(next))) => {
            moved(last) && last.kind == next.kind && last.mods == next.mods
        }
        _ => false,
    }
}

#[cfg(test)]
#[path = "coalesce_tests.rs"]
mod tests;

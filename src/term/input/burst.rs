//! What was read together, made less and more honest: pointer movements are merged, and text that was pasted into
//! a terminal without bracketed paste is recognised by its line breaks.
//!
//! A pure fold over what one read brought; there is no timer that could swallow what a person types. Once a terminal has
//! shown that it brackets its pastes, nothing is guessed any more.

use super::Heard;
use crate::base::keys::{Input, Key, KeyCode, Mouse, MouseKind};

/// How many characters must arrive at once, with a line break inside, to be taken for a paste. Fewer may be the fingers
/// of a person on a slow line.
const PASTE_AT_LEAST: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Gatherer {
    brackets_pastes: bool,
}

impl Gatherer {
    /// Returns what one read brought, gathered.
    pub(super) fn gather(&mut self, heard: Vec<Heard>) -> Vec<Heard> {
        self.brackets_pastes |= heard.iter().any(|heard| matches!(heard, Heard::Input(Input::Paste(_))));
        let mut out: Vec<Heard> = Vec::with_capacity(heard.len());
        let mut typed: Vec<Key> = Vec::new();
        for next in heard {
            if let Heard::Input(Input::Key(key)) = next
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

    fn flush(&self, typed: &mut Vec<Key>, out: &mut Vec<Heard>) {
        let run = std::mem::take(typed);
        if !self.brackets_pastes && is_paste(&run) {
            let text = run.into_iter().filter_map(character).collect();
            out.push(Heard::Input(Input::Paste(text)));
        } else {
            out.extend(run.into_iter().map(|key| Heard::Input(Input::Key(key))));
        }
    }
}

/// Returns the character of a paste that this key would be.
fn character(key: Key) -> Option<char> {
    match key.code() {
        KeyCode::Enter if key.mods().is_empty() => Some('\n'),
        KeyCode::Tab if key.mods().is_empty() => Some('\t'),
        // A line feed, which a terminal in raw mode sends for Ctrl-J, and pasted text for a line break.
        KeyCode::Char('j') if key == Key::ctrl('j') => Some('\n'),
        _ => key.typed(),
    }
}

/// Tells whether keys that arrived at once are pasted text: enough of them, and a line break that does not end them.
fn is_paste(run: &[Key]) -> bool {
    let breaks_line = |key: &Key| character(*key) == Some('\n');
    let Some(first) = run.iter().position(breaks_line) else { return false };
    run.len() >= PASTE_AT_LEAST && run[first..].iter().any(|key| !breaks_line(key))
}

/// Tells whether `next` makes `last` pointless: the pointer or the window has moved on.
fn replaces(last: &Heard, next: &Heard) -> bool {
    let moved = |mouse: &Mouse| matches!(mouse.kind, MouseKind::Moved | MouseKind::Drag(_));
    match (last, next) {
        (Heard::Input(Input::Resize(..)), Heard::Input(Input::Resize(..))) => true,
        (Heard::Input(Input::Mouse(last)), Heard::Input(Input::Mouse(next))) => {
            moved(last) && last.kind == next.kind && last.mods == next.mods
        }
        _ => false,
    }
}

#[cfg(test)]
#[path = "burst_tests.rs"]
mod tests;

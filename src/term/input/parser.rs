//! Bytes from the terminal, understood: keys, pastes, pointer, focus, and answers to questions.
//!
//! Sans I/O: bytes go in, meanings come out, and the caller is told how long an unfinished sequence may be waited for.
//! Invariants: how the bytes are cut into reads does not matter; no byte sequence panics or stalls it; what is a sequence
//! never comes out as typed text, known or not.

mod sequence;

use std::time::Duration;

use super::Heard;
use crate::base::keys::{Input, Key, KeyCode, Modifiers};

const ESC: u8 = 0x1b;
const PASTE_END: &[u8] = b"\x1b[201~";

/// How long after an escape byte the rest of a sequence may follow. Longer, and the Esc key feels slow.
const ESCAPE_PATIENCE: Duration = Duration::from_millis(30);
/// How long an answer that has begun may take: nobody types one.
const STRING_PATIENCE: Duration = Duration::from_millis(250);
/// How long a paste may pause before its missing end is taken for lost.
const PASTE_PATIENCE: Duration = Duration::from_secs(1);

/// The longest sequences that mean something to us are far shorter.
const SEQUENCE_LIMIT: usize = 4096;
/// How much of one paste is kept together.
const PASTE_LIMIT: usize = 16 << 20;

#[derive(Debug, Default)]
pub(super) struct Parser {
    bytes: Vec<u8>,
    paste: Option<Vec<u8>>,
    heard: Vec<Heard>,
}

/// What stands at the front of the bytes.
enum Front {
    /// So many bytes, and what they mean, if it is of interest.
    Whole(usize, Option<Heard>),
    PasteStart(usize),
    /// More bytes are needed.
    Partial,
}

impl Parser {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.parse();
    }

    /// Returns what was understood so far.
    pub(super) fn take(&mut self) -> Vec<Heard> {
        std::mem::take(&mut self.heard)
    }

    /// Returns how long to wait for the rest of what has begun, if something has.
    pub(super) fn patience(&self) -> Option<Duration> {
        if self.paste.is_some() {
            return Some(PASTE_PATIENCE);
        }
        match self.bytes.as_slice() {
            [] => None,
            [ESC, b']' | b'P' | b'_', b'0'..=b'9' | b'>' | b'!' | b'G', ..] => Some(STRING_PATIENCE),
            _ => Some(ESCAPE_PATIENCE),
        }
    }

    /// Takes what has begun for what it is without the rest, because the rest does not come.
    pub(super) fn give_up_waiting(&mut self) {
        if let Some(paste) = self.paste.take() {
            let rest = std::mem::take(&mut self.bytes);
            self.push_paste(&[paste, rest].concat());
            return;
        }
        match self.bytes.as_slice() {
            [] => return,
            [ESC] => {
                self.push_key(Key::plain(KeyCode::Esc));
                self.bytes.clear();
            }
            // A letter pressed with alt looks like the start of a sequence.
            [ESC, byte @ (b'[' | b']' | b'O' | b'P' | b'X' | b'^' | b'_')] => {
                let key = Key::alt(char::from(*byte));
                self.push_key(key);
                self.bytes.clear();
            }
            _ => self.bytes.clear(),
        }
        self.parse();
    }

    fn parse(&mut self) {
        loop {
            if let Some(paste) = &mut self.paste {
                match find(&self.bytes, PASTE_END) {
                    Some(at) => {
                        paste.extend(self.bytes.drain(..at));
                        self.bytes.drain(..PASTE_END.len());
                        if let Some(paste) = self.paste.take() {
                            self.push_paste(&paste);
                        }
                    }
                    None => {
                        // The last bytes may be the first ones of the end.
                        let sure = self.bytes.len().saturating_sub(PASTE_END.len() - 1);
                        paste.extend(self.bytes.drain(..sure));
                        if paste.len() > PASTE_LIMIT {
                            let part = std::mem::take(paste);
                            self.push_paste(&part);
                        }
                        return;
                    }
                }
            }
            match front(&self.bytes) {
                Front::Whole(0, _) => return,
                Front::Whole(count, heard) => {
                    self.bytes.drain(..count);
                    self.heard.extend(heard);
                }
                Front::PasteStart(count) => {
                    self.bytes.drain(..count);
                    self.paste = Some(Vec::new());
                }
                Front::Partial if self.bytes.len() > SEQUENCE_LIMIT => self.bytes.clear(),
                Front::Partial => return,
            }
        }
    }

    fn push_key(&mut self, key: Key) {
        self.heard.push(Heard::Input(Input::Key(key)));
    }

    fn push_paste(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
        self.heard.push(Heard::Input(Input::Paste(text)));
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, what)
}

fn key(count: usize, key: Key) -> Front {
    Front::Whole(count, Some(Heard::Input(Input::Key(key))))
}

fn front(bytes: &[u8]) -> Front {
    match bytes {
        [] => Front::Whole(0, None),
        [ESC] => Front::Partial,
        [ESC, b'[', rest @ ..] => sequence::control(rest),
        [ESC, b'O', rest @ ..] => sequence::single_shift(rest),
        [ESC, b']' | b'P' | b'X' | b'^' | b'_', ..] => sequence::string(bytes),
        // Two presses of Esc, or one before a sequence: never a key of its own.
        [ESC, ESC, ..] => key(1, Key::plain(KeyCode::Esc)),
        [ESC, rest @ ..] => match character(rest) {
            Front::Whole(count, Some(Heard::Input(Input::Key(with)))) => key(1 + count, with.holding(Modifiers::ALT)),
            Front::Whole(count, _) => Front::Whole(1 + count, None),
            other => other,
        },
        _ => character(bytes),
    }
}

/// Understands one typed character, with what terminals make of the control key.
fn character(bytes: &[u8]) -> Front {
    let Some(&first) = bytes.first() else { return Front::Partial };
    match first {
        b'\r' => key(1, Key::plain(KeyCode::Enter)),
        b'\t' => key(1, Key::plain(KeyCode::Tab)),
        0x7f => key(1, Key::plain(KeyCode::Backspace)),
        0 => key(1, Key::ctrl(' ')),
        0x01..=0x1a => key(1, Key::ctrl(char::from(first - 1 + b'a'))),
        0x1b..=0x1f => key(1, Key::ctrl(char::from(first - 0x1b + b'['))),
        b' '..=b'~' => key(1, Key::char(char::from(first))),
        0x80.. => {
            let length = match first {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                _ => return Front::Whole(1, None),
            };
            match std::str::from_utf8(&bytes[..bytes.len().min(length)]) {
                Ok(text) => match text.chars().next() {
                    // Control characters of the upper half come from no key.
                    Some(char) if !char.is_control() => key(char.len_utf8(), Key::char(char)),
                    _ => Front::Whole(length, None),
                },
                Err(error) if error.error_len().is_none() && bytes.len() < length => Front::Partial,
                Err(error) => Front::Whole(error.error_len().unwrap_or(1), None),
            }
        }
    }
}

#[cfg(test)]
#[path = "parser_tests.rs"]
mod tests;

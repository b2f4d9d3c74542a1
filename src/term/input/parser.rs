//! Parses terminal input: keys, pastes, pointer, focus, and replies to queries.
//!
//! Sans I/O: takes bytes, returns events, and tells the caller how long to wait for an unfinished sequence. Invariants:
//! how the bytes are split into reads does not matter; no input panics or stalls it; an escape sequence, known or not,
//! never comes out as typed text.

mod sequence;

use std::time::Duration;

use super::ReaderEvent;
use crate::base::keys::{Input, Key, KeyCode, Modifiers};

const ESC: u8 = 0x1b;
const PASTE_END: &[u8] = b"\x1b[201~";

/// How long to wait for the rest of a sequence after an escape byte. Longer, and the Esc key feels slow.
const ESCAPE_TIMEOUT: Duration = Duration::from_millis(30);
/// How long to wait for the rest of a reply, which is never typed by hand.
const STRING_TIMEOUT: Duration = Duration::from_millis(250);
/// How long a paste may pause before its end counts as lost.
const PASTE_TIMEOUT: Duration = Duration::from_secs(1);

/// An unfinished sequence longer than this is dropped. Known ones are far shorter.
const SEQUENCE_LIMIT: usize = 4096;
/// The largest paste that is delivered in one piece.
const PASTE_LIMIT: usize = 16 << 20;

#[derive(Debug, Default)]
pub(super) struct Parser {
    bytes: Vec<u8>,
    paste: Option<Vec<u8>>,
    events: Vec<ReaderEvent>,
}

/// The token at the start of the buffer.
enum Token {
    /// Length in bytes, and the event, if it is of interest.
    Complete(usize, Option<ReaderEvent>),
    PasteStart(usize),
    /// More bytes are needed.
    Partial,
}

impl Parser {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.parse();
    }

    /// Takes the events parsed so far.
    pub(super) fn take(&mut self) -> Vec<ReaderEvent> {
        std::mem::take(&mut self.events)
    }

    /// Returns how long to wait for the rest of an unfinished sequence, or `None` if there is none.
    pub(super) fn timeout(&self) -> Option<Duration> {
        if self.paste.is_some() {
            return Some(PASTE_TIMEOUT);
        }
        match self.bytes.as_slice() {
            [] => None,
            [ESC, b']' | b'P' | b'_', b'0'..=b'9' | b'>' | b'!' | b'G', ..] => Some(STRING_TIMEOUT),
            _ => Some(ESCAPE_TIMEOUT),
        }
    }

    /// Interprets an unfinished sequence as it is, because the rest did not arrive.
    pub(super) fn on_timeout(&mut self) {
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
            // An Alt key combination looks like the start of a sequence.
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
                        // The last bytes may be the start of the end marker.
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
            match next_token(&self.bytes) {
                Token::Complete(0, _) => return,
                Token::Complete(count, event) => {
                    self.bytes.drain(..count);
                    self.events.extend(event);
                }
                Token::PasteStart(count) => {
                    self.bytes.drain(..count);
                    self.paste = Some(Vec::new());
                }
                Token::Partial if self.bytes.len() > SEQUENCE_LIMIT => self.bytes.clear(),
                Token::Partial => return,
            }
        }
    }

    fn push_key(&mut self, key: Key) {
        self.events.push(ReaderEvent::Input(Input::Key(key)));
    }

    fn push_paste(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
        self.events.push(ReaderEvent::Input(Input::Paste(text)));
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, what)
}

fn key(count: usize, key: Key) -> Token {
    Token::Complete(count, Some(ReaderEvent::Input(Input::Key(key))))
}

fn next_token(bytes: &[u8]) -> Token {
    match bytes {
        [] => Token::Complete(0, None),
        [ESC] => Token::Partial,
        [ESC, b'[', rest @ ..] => sequence::parse_control(rest),
        [ESC, b'O', rest @ ..] => sequence::parse_single_shift(rest),
        [ESC, b']' | b'P' | b'X' | b'^' | b'_', ..] => sequence::parse_string(bytes),
        // Esc twice, or Esc before a sequence.
        [ESC, ESC, ..] => key(1, Key::plain(KeyCode::Esc)),
        [ESC, rest @ ..] => match character(rest) {
            Token::Complete(count, Some(ReaderEvent::Input(Input::Key(with)))) => {
                key(1 + count, with.with_mods(Modifiers::ALT))
            }
            Token::Complete(count, _) => Token::Complete(1 + count, None),
            other => other,
        },
        _ => character(bytes),
    }
}

/// Parses one typed character, including control characters.
fn character(bytes: &[u8]) -> Token {
    let Some(&first) = bytes.first() else { return Token::Partial };
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
                _ => return Token::Complete(1, None),
            };
            match std::str::from_utf8(&bytes[..bytes.len().min(length)]) {
                Ok(text) => match text.chars().next() {
                    // No key sends C1 control characters.
                    Some(char) if !char.is_control() => key(char.len_utf8(), Key::char(char)),
                    _ => Token::Complete(length, None),
                },
                Err(error) if error.error_len().is_none() && bytes.len() < length => Token::Partial,
                Err(error) => Token::Complete(error.error_len().unwrap_or(1), None),
            }
        }
    }
}

#[cfg(test)]
#[path = "parser_tests.rs"]
mod tests;

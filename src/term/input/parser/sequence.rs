//! Parses escape sequences.
//!
//! A sequence is recognised by its shape first and its meaning second, so that an unknown one is skipped as a whole.

use super::{ESC, Token, key};
use crate::base::keys::{Input, Key, KeyCode, Modifiers, Mouse, MouseButton, MouseKind};
use crate::term::input::ReaderEvent;
use crate::term::query::{QueryReply, Rgb};

/// Length of the introducer, such as `ESC [`.
const INTRODUCER: usize = 2;

/// Parses what follows `ESC [`.
pub(super) fn parse_control(rest: &[u8]) -> Token {
    // The Linux console has its own form for F1 to F5.
    if let [b'[', after @ ..] = rest {
        return match after {
            [] => Token::Partial,
            [letter @ b'A'..=b'E', ..] => key(INTRODUCER + 2, Key::plain(KeyCode::F(letter - b'A' + 1))),
            _ => Token::Complete(INTRODUCER + 1, None),
        };
    }
    let parameters = rest.iter().take_while(|byte| (0x30..=0x3f).contains(*byte)).count();
    let intermediates = rest[parameters..].iter().take_while(|byte| (0x20..=0x2f).contains(*byte)).count();
    let Some(&last) = rest.get(parameters + intermediates) else { return Token::Partial };
    let length = INTRODUCER + parameters + intermediates + 1;
    if !(0x40..=0x7e).contains(&last) {
        // Not a sequence. The byte that breaks it may begin the next one.
        return Token::Complete(length - 1, None);
    }
    let (parameters, intermediates) = (&rest[..parameters], &rest[parameters..parameters + intermediates]);
    let Ok(text) = std::str::from_utf8(parameters) else { return Token::Complete(length, None) };
    if last == b'~' && text == "200" {
        return Token::PasteStart(length);
    }
    Token::Complete(length, parse_event(text, intermediates, last))
}

fn parse_event(text: &str, intermediates: &[u8], last: u8) -> Option<ReaderEvent> {
    let input = |input| Some(ReaderEvent::Input(input));
    if let Some(text) = text.strip_prefix('?') {
        return parse_reply(text, intermediates, last).map(ReaderEvent::Reply);
    }
    if let Some(text) = text.strip_prefix('<') {
        return parse_mouse(text, last).map(|mouse| ReaderEvent::Input(Input::Mouse(mouse)));
    }
    if !intermediates.is_empty() || text.starts_with(['>', '=']) {
        return None;
    }
    match last {
        b'I' if text.is_empty() => return input(Input::Focus(true)),
        b'O' if text.is_empty() => return input(Input::Focus(false)),
        _ => {}
    }
    let parameters = Parameters::read(text);
    if parameters.is_release() {
        return None;
    }
    let mods = parameters.modifiers();
    let code = match last {
        b'Z' => return input(Input::Key(Key::new(KeyCode::Tab, mods.with(Modifiers::SHIFT)))),
        b'u' => kitty_code(parameters.number(0)?)?,
        b'~' => match parameters.number(0)? {
            27 => return other_key(&parameters),
            number => key_for_number(number)?,
        },
        // A cursor position report ends in the same letter, with a row other than 1 as its first parameter.
        b'R' if parameters.number(0).is_some_and(|row| row != 1) => return None,
        letter => key_for_letter(letter)?,
    };
    input(Input::Key(Key::new(code, mods)))
}

/// The numbers of a sequence: groups between semicolons, each with parts between colons.
struct Parameters<'a>(Vec<&'a str>);

impl<'a> Parameters<'a> {
    fn read(text: &'a str) -> Self {
        Self(text.split(';').collect())
    }

    fn part(&self, group: usize, part: usize) -> Option<u32> {
        self.0.get(group)?.split(':').nth(part)?.parse().ok()
    }

    fn number(&self, group: usize) -> Option<u32> {
        self.part(group, 0)
    }

    fn modifiers(&self) -> Modifiers {
        self.number(1).and_then(|bits| u16::try_from(bits).ok()).map_or(Modifiers::NONE, Modifiers::from_report)
    }

    /// Returns true for a key release.
    fn is_release(&self) -> bool {
        self.part(1, 1) == Some(3)
    }
}

fn key_for_letter(letter: u8) -> Option<KeyCode> {
    Some(match letter {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        b'P' => KeyCode::F(1),
        b'Q' => KeyCode::F(2),
        b'R' => KeyCode::F(3),
        b'S' => KeyCode::F(4),
        _ => return None,
    })
}

fn key_for_number(number: u32) -> Option<KeyCode> {
    let function = |base: u32, offset: u8| u8::try_from(number - base).ok().map(|n| KeyCode::F(n + offset));
    match number {
        1 | 7 => Some(KeyCode::Home),
        2 => Some(KeyCode::Insert),
        3 => Some(KeyCode::Delete),
        4 | 8 => Some(KeyCode::End),
        5 => Some(KeyCode::PageUp),
        6 => Some(KeyCode::PageDown),
        // The gaps come from the VT220.
        11..=15 => function(11, 1),
        17..=21 => function(17, 6),
        23..=26 => function(23, 11),
        28..=29 => function(28, 15),
        31..=34 => function(31, 17),
        _ => None,
    }
}

/// xterm's modifyOtherKeys form: `27 ; modifiers ; character`.
fn other_key(parameters: &Parameters<'_>) -> Option<ReaderEvent> {
    let code = kitty_code(parameters.number(2)?)?;
    Some(ReaderEvent::Input(Input::Key(Key::new(code, parameters.modifiers()))))
}

/// The keypad keys, from 57399 on.
const KEYPAD: [KeyCode; 28] = [
    KeyCode::Char('0'),
    KeyCode::Char('1'),
    KeyCode::Char('2'),
    KeyCode::Char('3'),
    KeyCode::Char('4'),
    KeyCode::Char('5'),
    KeyCode::Char('6'),
    KeyCode::Char('7'),
    KeyCode::Char('8'),
    KeyCode::Char('9'),
    KeyCode::Char('.'),
    KeyCode::Char('/'),
    KeyCode::Char('*'),
    KeyCode::Char('-'),
    KeyCode::Char('+'),
    KeyCode::Enter,
    KeyCode::Char('='),
    KeyCode::Char(','),
    KeyCode::Left,
    KeyCode::Right,
    KeyCode::Up,
    KeyCode::Down,
    KeyCode::PageUp,
    KeyCode::PageDown,
    KeyCode::Home,
    KeyCode::End,
    KeyCode::Insert,
    KeyCode::Delete,
];

fn kitty_code(number: u32) -> Option<KeyCode> {
    match number {
        27 => Some(KeyCode::Esc),
        13 => Some(KeyCode::Enter),
        9 => Some(KeyCode::Tab),
        8 | 127 => Some(KeyCode::Backspace),
        57376..=57398 => u8::try_from(number - 57376).ok().map(|n| KeyCode::F(n + 13)),
        57399..=57426 => KEYPAD.get(usize::try_from(number - 57399).ok()?).copied(),
        // Media keys, lock keys and lone modifiers.
        57344..=63743 => None,
        _ => char::from_u32(number).filter(|char| !char.is_control()).map(KeyCode::Char),
    }
}

fn parse_reply(text: &str, intermediates: &[u8], last: u8) -> Option<QueryReply> {
    match (intermediates, last, text) {
        (b"", b'u', _) => Some(QueryReply::KittyKeys),
        (b"", b'c', _) => Some(QueryReply::End),
        (b"", b'n', "997;1") => Some(QueryReply::Dark(true)),
        (b"", b'n', "997;2") => Some(QueryReply::Dark(false)),
        // Set or reset; the other values mean unknown or fixed.
        (b"$", b'y', "2026;1" | "2026;2") => Some(QueryReply::SynchronizedOutput),
        _ => None,
    }
}

fn parse_mouse(text: &str, last: u8) -> Option<Mouse> {
    let pressed = match last {
        b'M' => true,
        b'm' => false,
        _ => return None,
    };
    let mut numbers = text.split(';').map(|number| number.parse::<u16>().ok());
    let (flags, column, row) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let button = match flags & 3 {
        0 => Some(MouseButton::Left),
        1 => Some(MouseButton::Middle),
        2 => Some(MouseButton::Right),
        _ => None,
    };
    let kind = match (flags & 0b1110_0000, button) {
        (64 | 96, _) => match flags & 3 {
            0 => MouseKind::ScrollUp,
            1 => MouseKind::ScrollDown,
            2 => MouseKind::ScrollLeft,
            _ => MouseKind::ScrollRight,
        },
        (0, Some(button)) if pressed => MouseKind::Press(button),
        (0 | 32, Some(button)) if !pressed => MouseKind::Release(button),
        (32, Some(button)) => MouseKind::Drag(button),
        (32, None) => MouseKind::Moved,
        _ => return None,
    };
    let mods = Modifiers::from_report(((flags >> 2) & 7) + 1);
    Some(Mouse { kind, column: column.saturating_sub(1), row: row.saturating_sub(1), mods })
}

/// Parses what follows `ESC O`.
pub(super) fn parse_single_shift(rest: &[u8]) -> Token {
    let Some(&letter) = rest.first() else { return Token::Partial };
    let code = match letter {
        b'M' => Some(KeyCode::Enter),
        b'I' => Some(KeyCode::Tab),
        b'X' => Some(KeyCode::Char('=')),
        b'j'..=b'y' => Some(KeyCode::Char(char::from(letter - b'j' + b'*'))),
        letter => key_for_letter(letter),
    };
    match code {
        Some(code) => key(INTRODUCER + 1, Key::plain(code)),
        // Not a sequence: Alt-O, followed by another key.
        None => key(INTRODUCER, Key::alt('O')),
    }
}

/// Parses a control string with its introducer. Only colour replies are of interest.
pub(super) fn parse_string(bytes: &[u8]) -> Token {
    let body = &bytes[INTRODUCER..];
    let Some(at) = body.iter().position(|byte| matches!(*byte, ESC | 0x07)) else { return Token::Partial };
    let length = match &body[at..] {
        [0x07, ..] => INTRODUCER + at + 1,
        [ESC, b'\\', ..] => INTRODUCER + at + 2,
        [ESC] => return Token::Partial,
        // Another sequence begins: this one was cut off.
        _ => INTRODUCER + at,
    };
    let reply = std::str::from_utf8(&body[..at]).ok().filter(|_| bytes[1] == b']').and_then(parse_colour);
    Token::Complete(length, reply.map(ReaderEvent::Reply))
}

fn parse_colour(text: &str) -> Option<QueryReply> {
    let (number, colour) = text.split_once(';')?;
    match number {
        "10" => Rgb::parse(colour).map(QueryReply::Foreground),
        "11" => Rgb::parse(colour).map(QueryReply::Background),
        _ => None,
    }
}

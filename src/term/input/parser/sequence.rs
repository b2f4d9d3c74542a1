//! Escape sequences: what each one of them means.
//!
//! A sequence is recognised by its shape first and by its meaning second, so that one nobody knows is skipped as a whole.

use super::{ESC, Front, key};
use crate::base::keys::{Input, Key, KeyCode, Modifiers, Mouse, MouseButton, MouseKind};
use crate::term::input::Heard;
use crate::term::query::{Answer, Rgb};

/// How many bytes precede what the functions below are given.
const INTRODUCER: usize = 2;

/// Understands what follows `ESC [`.
pub(super) fn control(rest: &[u8]) -> Front {
    // The Linux console writes its first function keys as no other terminal does.
    if let [b'[', after @ ..] = rest {
        return match after {
            [] => Front::Partial,
            [letter @ b'A'..=b'E', ..] => key(INTRODUCER + 2, Key::plain(KeyCode::F(letter - b'A' + 1))),
            _ => Front::Whole(INTRODUCER + 1, None),
        };
    }
    let parameters = rest.iter().take_while(|byte| (0x30..=0x3f).contains(*byte)).count();
    let between = rest[parameters..].iter().take_while(|byte| (0x20..=0x2f).contains(*byte)).count();
    let Some(&last) = rest.get(parameters + between) else { return Front::Partial };
    let length = INTRODUCER + parameters + between + 1;
    if !(0x40..=0x7e).contains(&last) {
        // Not a sequence after all. What breaks it may begin the next one.
        return Front::Whole(length - 1, None);
    }
    let (parameters, between) = (&rest[..parameters], &rest[parameters..parameters + between]);
    let Ok(text) = std::str::from_utf8(parameters) else { return Front::Whole(length, None) };
    if last == b'~' && text == "200" {
        return Front::PasteStart(length);
    }
    Front::Whole(length, meaning(text, between, last))
}

fn meaning(text: &str, between: &[u8], last: u8) -> Option<Heard> {
    let input = |input| Some(Heard::Input(input));
    if let Some(text) = text.strip_prefix('?') {
        return answer(text, between, last).map(Heard::Answer);
    }
    if let Some(text) = text.strip_prefix('<') {
        return mouse(text, last).map(|mouse| Heard::Input(Input::Mouse(mouse)));
    }
    if !between.is_empty() || text.starts_with(['>', '=']) {
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
            number => numbered(number)?,
        },
        // A report of the cursor ends in the same letter; it was not asked for and says a row.
        b'R' if parameters.number(0).is_some_and(|row| row != 1) => return None,
        letter => lettered(letter)?,
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

    /// Tells whether this says that a key was let go.
    fn is_release(&self) -> bool {
        self.part(1, 1) == Some(3)
    }
}

fn lettered(letter: u8) -> Option<KeyCode> {
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

fn numbered(number: u32) -> Option<KeyCode> {
    let function = |base: u32, offset: u8| u8::try_from(number - base).ok().map(|n| KeyCode::F(n + offset));
    match number {
        1 | 7 => Some(KeyCode::Home),
        2 => Some(KeyCode::Insert),
        3 => Some(KeyCode::Delete),
        4 | 8 => Some(KeyCode::End),
        5 => Some(KeyCode::PageUp),
        6 => Some(KeyCode::PageDown),
        // The gaps are the terminal's of 1983.
        11..=15 => function(11, 1),
        17..=21 => function(17, 6),
        23..=26 => function(23, 11),
        28..=29 => function(28, 15),
        31..=34 => function(31, 17),
        _ => None,
    }
}

/// A key in the form `27 ; modifiers ; character`.
fn other_key(parameters: &Parameters<'_>) -> Option<Heard> {
    let code = kitty_code(parameters.number(2)?)?;
    Some(Heard::Input(Input::Key(Key::new(code, parameters.modifiers()))))
}

/// The keys of the numeric block, from 57399 on.
const NUMERIC_BLOCK: [KeyCode; 28] = [
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
        57399..=57426 => NUMERIC_BLOCK.get(usize::try_from(number - 57399).ok()?).copied(),
        // Media keys, lock keys and modifiers on their own.
        57344..=63743 => None,
        _ => char::from_u32(number).filter(|char| !char.is_control()).map(KeyCode::Char),
    }
}

fn answer(text: &str, between: &[u8], last: u8) -> Option<Answer> {
    match (between, last, text) {
        (b"", b'u', _) => Some(Answer::KittyKeys),
        (b"", b'c', _) => Some(Answer::End),
        (b"", b'n', "997;1") => Some(Answer::Dark(true)),
        (b"", b'n', "997;2") => Some(Answer::Dark(false)),
        // Set or not set, but known; the other numbers say that it is unknown or fixed.
        (b"$", b'y', "2026;1" | "2026;2") => Some(Answer::SynchronizedOutput),
        _ => None,
    }
}

fn mouse(text: &str, last: u8) -> Option<Mouse> {
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

/// Understands what follows `ESC O`.
pub(super) fn single_shift(rest: &[u8]) -> Front {
    let Some(&letter) = rest.first() else { return Front::Partial };
    let code = match letter {
        b'M' => Some(KeyCode::Enter),
        b'I' => Some(KeyCode::Tab),
        b'X' => Some(KeyCode::Char('=')),
        b'j'..=b'y' => Some(KeyCode::Char(char::from(letter - b'j' + b'*'))),
        letter => lettered(letter),
    };
    match code {
        Some(code) => key(INTRODUCER + 1, Key::plain(code)),
        // Not a sequence: O was pressed with alt, and something after it.
        None => key(INTRODUCER, Key::alt('O')),
    }
}

/// Understands a control string with its introducer. Only colours are of interest.
pub(super) fn string(bytes: &[u8]) -> Front {
    let body = &bytes[INTRODUCER..];
    let Some(at) = body.iter().position(|byte| matches!(*byte, ESC | 0x07)) else { return Front::Partial };
    let length = match &body[at..] {
        [0x07, ..] => INTRODUCER + at + 1,
        [ESC, b'\\', ..] => INTRODUCER + at + 2,
        [ESC] => return Front::Partial,
        // Another sequence begins: this one was cut.
        _ => INTRODUCER + at,
    };
    let heard = std::str::from_utf8(&body[..at]).ok().filter(|_| bytes[1] == b']').and_then(colour);
    Front::Whole(length, heard.map(Heard::Answer))
}

fn colour(text: &str) -> Option<Answer> {
    let (number, colour) = text.split_once(';')?;
    match number {
        "10" => Rgb::parse(colour).map(Answer::Foreground),
        "11" => Rgb::parse(colour).map(Answer::Background),
        _ => None,
    }
}

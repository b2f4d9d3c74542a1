//! Terminal input as plain data: keys with modifiers, pasted text, the mouse, focus and size; and the notation of
//! keys in settings and on the screen (`ctrl-x`, `alt-enter`, `f5`, `g g`).
//!
//! Invariants: a [`Key`] is canonical, so that equal keys compare equal whatever the terminal sent (a letter carries
//! its shift in its case); [`Chord`] and [`Key`] parse everything they print. This module knows no terminal and no
//! bindings.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// One input event of the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Key(Key),
    /// Text that arrived as a whole, with line breaks as `
    /// `. Untrusted: it may contain any character.
    Paste(String),
    Mouse(Mouse),
    /// The terminal window gained (`true`) or lost the focus.
    Focus(bool),
    /// The new size in columns and rows.
    Resize(u16, u16),
    /// The terminal is gone; no more input follows.
    Closed,
}

/// One key press.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    code: KeyCode,
    mods: Modifiers,
}

/// A key without its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyCode {
    Char(char),
    Enter,
    Esc,
    Tab,
    Backspace,
    Delete,
    Insert,
    Home,
    End,
    PageUp,
    PageDown,
    Up,
    Down,
    Left,
    Right,
    /// A function key, counted from one.
    F(u8),
}

/// The modifiers held during a key press.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Modifiers(u8);

impl Modifiers {
    pub const NONE: Self = Self(0);
    pub const SHIFT: Self = Self(1);
    pub const ALT: Self = Self(2);
    pub const CTRL: Self = Self(4);
    pub const SUPER: Self = Self(8);
    const ALL: Self = Self(15);

    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the modifiers that a terminal reports as `1 + bits`. Drops locks and unknown bits.
    pub const fn from_report(parameter: u16) -> Self {
        let [_, bits] = parameter.saturating_sub(1).to_be_bytes();
        Self(bits & Self::ALL.0)
    }
}

/// A mouse event and its cell, counted from the upper left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mouse {
    pub kind: MouseKind,
    pub column: u16,
    pub row: u16,
    pub mods: Modifiers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MouseKind {
    Press(MouseButton),
    Release(MouseButton),
    Drag(MouseButton),
    Moved,
    ScrollUp,
    ScrollDown,
    ScrollLeft,
    ScrollRight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MouseButton {
    Left,
    Middle,
    Right,
}

impl Key {
    /// Returns the key in canonical form: shift with a letter becomes the capital letter.
    pub fn new(code: KeyCode, mods: Modifiers) -> Self {
        let KeyCode::Char(char) = code else { return Self { code, mods } };
        if !mods.contains(Modifiers::SHIFT) || !char.is_alphabetic() {
            return Self { code, mods };
        }
        let mut upper = char.to_uppercase();
        match (upper.next(), upper.next()) {
            (Some(upper), None) => Self { code: KeyCode::Char(upper), mods: mods.without(Modifiers::SHIFT) },
            // A letter such as ß has no capital of one character: it keeps the shift.
            _ => Self { code, mods },
        }
    }

    pub fn plain(code: KeyCode) -> Self {
        Self::new(code, Modifiers::NONE)
    }

    pub fn char(char: char) -> Self {
        Self::plain(KeyCode::Char(char))
    }

    pub fn ctrl(char: char) -> Self {
        Self::new(KeyCode::Char(char), Modifiers::CTRL)
    }

    pub fn alt(char: char) -> Self {
        Self::new(KeyCode::Char(char), Modifiers::ALT)
    }

    pub const fn code(self) -> KeyCode {
        self.code
    }

    pub const fn mods(self) -> Modifiers {
        self.mods
    }

    /// Returns the same key with additional modifiers.
    pub fn with_mods(self, mods: Modifiers) -> Self {
        Self::new(self.code, self.mods.with(mods))
    }

    /// Returns the character that this key types, or `None` if it types none.
    pub fn typed(self) -> Option<char> {
        match self.code {
            KeyCode::Char(char) if self.mods.without(Modifiers::SHIFT).is_empty() => Some(char),
            _ => None,
        }
    }
}

/// Keys pressed one after another. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Chord(Vec<Key>);

impl Chord {
    /// Returns `None` if there are no keys.
    pub fn new(keys: Vec<Key>) -> Option<Self> {
        (!keys.is_empty()).then_some(Self(keys))
    }

    pub fn keys(&self) -> &[Key] {
        &self.0
    }
}

/// Lookup of chords by their keys. `Hash` and `Ord` agree with those of the slice.
impl Borrow<[Key]> for Chord {
    fn borrow(&self) -> &[Key] {
        &self.0
    }
}

impl From<Key> for Chord {
    fn from(key: Key) -> Self {
        Self(vec![key])
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    #[error("no key given: write one, such as `x`, `ctrl-x`, `alt-enter` or `f5`, or two, such as `g g`")]
    Empty,
    #[error(
        "`{word}` is not a key: write one character, or one of enter, esc, tab, space, backspace, delete, insert, home, \
         end, pageup, pagedown, up, down, left, right, f1 to f{MAX_FUNCTION_KEY}, after any of ctrl-, alt-, shift-, super-"
    )]
    Unknown { word: String },
    #[error("`{word}` has {modifier} twice: write it once")]
    Twice { word: String, modifier: &'static str },
}

/// The highest function key that terminals can report.
pub const MAX_FUNCTION_KEY: u8 = 35;

/// The names of keys without a character. The first name of a key is printed.
const NAMES: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("return", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("escape", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("space", KeyCode::Char(' ')),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("del", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("ins", KeyCode::Insert),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pgup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("pgdn", KeyCode::PageDown),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
];

/// The names of modifiers, in the order in which they are printed. The first name of each is printed.
const MODIFIERS: &[(&str, Modifiers)] = &[
    ("ctrl", Modifiers::CTRL),
    ("control", Modifiers::CTRL),
    ("alt", Modifiers::ALT),
    ("meta", Modifiers::ALT),
    ("option", Modifiers::ALT),
    ("shift", Modifiers::SHIFT),
    ("super", Modifiers::SUPER),
    ("cmd", Modifiers::SUPER),
];

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(word: &str) -> Result<Self, KeyError> {
        let mut rest = word.trim();
        let mut mods = Modifiers::NONE;
        while let Some((name, modifier, after)) = split_modifier(rest) {
            if mods.contains(modifier) {
                return Err(KeyError::Twice { word: word.to_owned(), modifier: name });
            }
            mods = mods.with(modifier);
            rest = after;
        }
        if rest.is_empty() {
            return Err(KeyError::Empty);
        }
        code(rest).map(|code| Self::new(code, mods)).ok_or_else(|| KeyError::Unknown { word: word.to_owned() })
    }
}

/// Splits a modifier off the front of `word`, if there is one and a key follows.
fn split_modifier(word: &str) -> Option<(&'static str, Modifiers, &str)> {
    MODIFIERS.iter().find_map(|&(name, modifier)| {
        let head = word.get(..name.len())?;
        let rest = word[name.len()..].strip_prefix(['-', '+'])?;
        (head.eq_ignore_ascii_case(name) && !rest.is_empty()).then_some((name, modifier, rest))
    })
}

fn code(word: &str) -> Option<KeyCode> {
    let mut chars = word.chars();
    if let (Some(char), None) = (chars.next(), chars.next()) {
        return (!char.is_control() && !char.is_whitespace()).then_some(KeyCode::Char(char));
    }
    if let Some(number) = word.strip_prefix(['f', 'F'])
        && let Ok(number @ 1..=MAX_FUNCTION_KEY) = number.parse()
        && !word[1..].starts_with(['0', '+'])
    {
        return Some(KeyCode::F(number));
    }
    NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|&(_, code)| code)
}

impl FromStr for Chord {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let keys: Vec<Key> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        Self::new(keys).ok_or(KeyError::Empty)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printed = Modifiers::NONE;
        for &(name, modifier) in MODIFIERS {
            if self.mods.contains(modifier) && !printed.contains(modifier) {
                printed = printed.with(modifier);
                write!(f, "{name}-")?;
            }
        }
        match NAMES.iter().find(|(_, code)| *code == self.code) {
            Some((name, _)) => f.write_str(name),
            None => match self.code {
                KeyCode::Char(char) => write!(f, "{char}"),
                KeyCode::F(number) => write!(f, "f{number}"),
                // Every other key has a name; a test checks them all.
                _ => write!(f, "{:?}", self.code),
            },
        }
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(index, key)| {
            if index > 0 {
                f.write_str(" ")?;
            }
            key.fmt(f)
        })
    }
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;

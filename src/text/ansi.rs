//! Output of tools: colours become roles, overwritten lines collapse to their final state, and everything else that a
//! terminal would interpret is dropped.
//!
//! Text may arrive in pieces of any size; the result is the same. No control character gets into the document. Cursor
//! movements to other lines are ignored: later output cannot hide earlier output.

use ratatui::style::Modifier;

use super::document::Document;
use super::row::Ink;
use super::width;
use crate::theme::{Role, colour, quantize};

/// Printed text and the state of its parser.
#[derive(Clone, Debug)]
pub struct AnsiText {
    document: Document,
    state: State,
    pen: Pen,
    /// The byte at which the current line starts in the document.
    line_start: usize,
    /// The characters of the current line and the cursor, once something in the line was overwritten.
    cells: Option<(Vec<(char, Ink)>, usize)>,
    /// The width of the line in columns, for tabs.
    column: usize,
}

/// A longer line is not edited in place: a return to its start begins a new line.
const MAX_EDITED: usize = 4096;
/// The longest control sequence. Anything longer is not one.
const MAX_SEQUENCE: usize = 64;
/// The longest control string. Anything longer is text.
const MAX_STRING: usize = 4096;

#[derive(Clone, Debug)]
enum State {
    Text,
    /// A carriage return whose meaning depends on the next character.
    Return,
    Escape,
    /// An escape with intermediate characters.
    Intermediate,
    Csi(String),
    /// A control string, buffered in case it never ends.
    Str(String),
    StrEscape,
}

/// The current colours and attributes.
#[derive(Clone, Copy, Debug, Default)]
struct Pen {
    fg: Option<u8>,
    bg: Option<u8>,
    marks: Modifier,
}

impl Pen {
    fn ink(self, base: Role) -> Ink {
        // A background matters more than the foreground on it: it becomes the colour, reversed.
        let (role, marks) = match (self.fg, self.bg) {
            (_, Some(bg)) => (Role::ANSI[usize::from(bg & 15)], self.marks ^ Modifier::REVERSED),
            (Some(fg), None) => (Role::ANSI[usize::from(fg & 15)], self.marks),
            (None, None) => (base, self.marks),
        };
        Ink::new(role).with(marks)
    }
}

impl Default for AnsiText {
    fn default() -> Self {
        Self::new()
    }
}

impl AnsiText {
    pub fn new() -> Self {
        Self {
            document: Document::default(),
            state: State::Text,
            pen: Pen::default(),
            line_start: 0,
            cells: None,
            column: 0,
        }
    }

    /// Parses a finished output.
    pub fn of(text: &str) -> Self {
        let mut out = Self::new();
        out.push(text);
        out
    }

    /// Returns the text printed so far. Its last line may still change.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Appends printed text.
    pub fn push(&mut self, text: &str) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            // Fast path: plain text is appended in runs, not by character.
            if matches!(self.state, State::Text) && self.cells.is_none() && matches!(c, ' '..='~') {
                let run = rest.find(|c: char| !matches!(c, ' '..='~')).unwrap_or(rest.len());
                self.document.push(&rest[..run], self.pen.ink(Role::Output));
                self.column += run;
                rest = &rest[run..];
                continue;
            }
            self.step(c);
            rest = &rest[c.len_utf8()..];
        }
        self.show_cells();
    }

    fn step(&mut self, c: char) {
        match std::mem::replace(&mut self.state, State::Text) {
            State::Text => self.text(c),
            State::Return if c == '\n' => self.new_line(),
            State::Return if c == '\r' => self.state = State::Return,
            State::Return => {
                self.go_to_start();
                self.text(c);
            }
            State::Escape => match c {
                '[' => self.state = State::Csi(String::new()),
                ']' | 'P' | 'X' | '^' | '_' => self.state = State::Str(String::new()),
                ' '..='/' => self.state = State::Intermediate,
                // The sequence ends with this character, unless it cannot be part of one.
                '0'..='~' => {}
                c => self.text(c),
            },
            State::Intermediate => match c {
                ' '..='/' => self.state = State::Intermediate,
                '0'..='~' => {}
                c => self.text(c),
            },
            State::Csi(mut sequence) => match c {
                '@'..='~' => self.control(&sequence, c),
                ' '..='?' if sequence.len() < MAX_SEQUENCE => {
                    sequence.push(c);
                    self.state = State::Csi(sequence);
                }
                c => self.text(c),
            },
            State::Str(mut string) => match c {
                '\u{07}' | '\u{9c}' => {}
                '\u{1b}' => self.state = State::StrEscape,
                '\n' => {
                    self.put_string(&string);
                    self.text(c);
                }
                c => {
                    string.push(c);
                    if string.len() > MAX_STRING {
                        self.put_string(&string);
                    } else {
                        self.state = State::Str(string);
                    }
                }
            },
            State::StrEscape if c == '\\' => {}
            // A string ends where another sequence starts.
            State::StrEscape => {
                self.state = State::Escape;
                self.step(c);
            }
        }
    }

    /// Shows a string that did not end: it was not a control string and must not hide text.
    fn put_string(&mut self, string: &str) {
        for c in string.chars().filter(|c| !c.is_control()) {
            self.text(c);
        }
    }

    fn text(&mut self, c: char) {
        match c {
            '\n' => self.new_line(),
            '\r' => self.state = State::Return,
            '\u{1b}' => self.state = State::Escape,
            '\u{9b}' => self.state = State::Csi(String::new()),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => self.state = State::Str(String::new()),
            '\u{8}' => self.back(1),
            '\t' => {
                let at = self.cells.as_ref().map_or(self.column, |(_, at)| *at);
                (0..width::TAB - at % width::TAB).for_each(|_| self.put(' '));
            }
            c if c.is_control() => {}
            c => self.put(c),
        }
    }

    fn put(&mut self, c: char) {
        let mut buffer = [0; 4];
        let shown = width::visible(c.encode_utf8(&mut buffer));
        let ink = self.pen.ink(Role::Output);
        if let Some((cells, at)) = &mut self.cells {
            for c in shown.chars() {
                match cells.get_mut(*at) {
                    Some(cell) => *cell = (c, ink),
                    None => cells.push((c, ink)),
                }
                *at += 1;
            }
            return;
        }
        self.column += width::of(&shown);
        self.document.push(&shown, ink);
    }

    fn new_line(&mut self) {
        self.show_cells();
        self.cells = None;
        self.document.push("\n", Role::Output.into());
        self.line_start = self.document.text().len();
        self.column = 0;
    }

    fn go_to_start(&mut self) {
        if self.document.text().len() == self.line_start && self.cells.is_none() {
            return;
        }
        if self.edit() {
            if let Some((_, at)) = &mut self.cells {
                *at = 0;
            }
        } else {
            self.new_line();
        }
    }

    fn back(&mut self, columns: usize) {
        if self.edit()
            && let Some((_, at)) = &mut self.cells
        {
            *at = at.saturating_sub(columns);
        }
    }

    /// Splits the line into cells that can be overwritten. Returns false if the line is too long.
    fn edit(&mut self) -> bool {
        if self.cells.is_none() {
            if self.document.text().len() - self.line_start > MAX_EDITED {
                return false;
            }
            let cells = self.document.cells_from(self.line_start);
            let end = cells.len();
            self.cells = Some((cells, end));
        }
        true
    }

    /// Writes the edited line into the document.
    fn show_cells(&mut self) {
        let Some((cells, _)) = &self.cells else { return };
        self.document.truncate(self.line_start);
        let mut buffer = [0; 4];
        for (c, ink) in cells {
            self.document.push(c.encode_utf8(&mut buffer), *ink);
        }
    }

    fn control(&mut self, sequence: &str, last: char) {
        let number = || sequence.split(';').next().and_then(|n| n.parse::<usize>().ok());
        match last {
            'm' => self.pen.select(sequence),
            // Erase in line: to the end, to the start, or all of it.
            'K' if self.edit() => {
                let Some((cells, at)) = &mut self.cells else { return };
                match number().unwrap_or(0) {
                    0 => cells.truncate(*at),
                    1 => cells.iter_mut().take(*at + 1).for_each(|cell| cell.0 = ' '),
                    2 => {
                        cells.clear();
                        cells.resize(*at, (' ', Role::Output.into()));
                    }
                    _ => {}
                }
            }
            'G' if self.edit() => self.move_to(number().unwrap_or(1).saturating_sub(1)),
            'C' if self.edit() => {
                let at = self.cells.as_ref().map_or(0, |(_, at)| *at);
                self.move_to(at.saturating_add(number().unwrap_or(1).max(1)));
            }
            'D' => self.back(number().unwrap_or(1).max(1)),
            _ => {}
        }
    }

    fn move_to(&mut self, column: usize) {
        let Some((cells, at)) = &mut self.cells else { return };
        *at = column.min(MAX_EDITED);
        if cells.len() < *at {
            cells.resize(*at, (' ', Role::Output.into()));
        }
    }
}

impl Pen {
    /// Applies an SGR sequence. Unknown codes are skipped.
    fn select(&mut self, sequence: &str) {
        let mut codes = sequence.split([';', ':']).map(|code| code.parse::<u16>().unwrap_or(0));
        while let Some(code) = codes.next() {
            match code {
                0 => *self = Self::default(),
                1 => self.marks |= Modifier::BOLD,
                2 => self.marks |= Modifier::DIM,
                3 => self.marks |= Modifier::ITALIC,
                4 => self.marks |= Modifier::UNDERLINED,
                7 => self.marks |= Modifier::REVERSED,
                9 => self.marks |= Modifier::CROSSED_OUT,
                22 => self.marks -= Modifier::BOLD | Modifier::DIM,
                23 => self.marks -= Modifier::ITALIC,
                24 => self.marks -= Modifier::UNDERLINED,
                27 => self.marks -= Modifier::REVERSED,
                29 => self.marks -= Modifier::CROSSED_OUT,
                30..=37 => self.fg = u8::try_from(code - 30).ok(),
                39 => self.fg = None,
                40..=47 => self.bg = u8::try_from(code - 40).ok(),
                49 => self.bg = None,
                90..=97 => self.fg = u8::try_from(code - 82).ok(),
                100..=107 => self.bg = u8::try_from(code - 92).ok(),
                38 => self.fg = extended(&mut codes).or(self.fg),
                48 => self.bg = extended(&mut codes).or(self.bg),
                _ => {}
            }
        }
    }
}

/// Returns the nearest of the sixteen colours for a 256-colour index or an RGB colour.
fn extended(codes: &mut impl Iterator<Item = u16>) -> Option<u8> {
    let mut byte = || codes.next().and_then(|code| u8::try_from(code).ok());
    match byte()? {
        5 => match byte()? {
            index @ 0..16 => Some(index),
            index => Some(quantize::nearest_16(colour::indexed(index))),
        },
        2 => Some(quantize::nearest_16(colour::Rgb(byte()?, byte()?, byte()?))),
        _ => None,
    }
}

#[cfg(test)]
#[path = "ansi_tests.rs"]
mod tests;

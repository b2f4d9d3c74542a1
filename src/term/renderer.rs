//! Renders the difference between two screens in as few bytes as possible.
//!
//! Skips redundant cursor moves and style changes. Cells under a removed wide character are redrawn, because terminals
//! disagree about what they leave there and about the width of emoji. Colours are written as requested; the theme
//! decides how many there are. Colour codes are written here rather than by crossterm, which writes the sixteen base
//! colours as palette entries and none at all under `NO_COLOR`. Control characters in cells are never written.

use std::fmt::Write;

use crossterm::Command;
use crossterm::cursor::{Hide, MoveRight, MoveTo, Show};
use crossterm::style::{Attribute, SetAttribute};
use crossterm::terminal::{Clear, ClearType};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Position;
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr;

use super::ansi::append;

/// The terminal's cursor and style, and the bytes to write.
#[derive(Debug)]
pub(super) struct Renderer {
    out: String,
    cursor: Cursor,
    /// The write position; `None` after a character that terminals may measure differently.
    position: Option<Position>,
    pen: PenStyle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cursor {
    /// As another program left it.
    Unknown,
    Hidden,
    Shown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PenStyle {
    fg: Color,
    bg: Color,
    underline: Color,
    modifier: Modifier,
}

impl PenStyle {
    const RESET: Self =
        Self { fg: Color::Reset, bg: Color::Reset, underline: Color::Reset, modifier: Modifier::empty() };

    fn of(cell: &Cell) -> Self {
        Self { fg: cell.fg, bg: cell.bg, underline: cell.underline_color, modifier: cell.modifier }
    }
}

impl Renderer {
    pub(super) fn new() -> Self {
        Self { out: String::new(), cursor: Cursor::Unknown, position: None, pen: PenStyle::RESET }
    }

    /// Clears the screen, from an unknown state.
    pub(super) fn clear(&mut self) {
        *self = Self::new();
        self.hide();
        self.push(SetAttribute(Attribute::Reset));
        self.push(Clear(ClearType::All));
    }

    /// Draws the cells of `next` that differ from `shown`. Both have the same size and start at the top left.
    pub(super) fn paint(&mut self, shown: &Buffer, next: &Buffer) {
        let area = next.area;
        let columns = usize::from(area.width).max(1);
        let rows = shown.content.chunks(columns).zip(next.content.chunks(columns));
        for (y, (old, new)) in (area.top()..area.bottom()).zip(rows) {
            // Most rows of most frames are unchanged.
            if old != new {
                self.paint_row(y, old, new);
            }
        }
        self.set_pen(PenStyle::RESET);
    }

    fn paint_row(&mut self, y: u16, old: &[Cell], new: &[Cell]) {
        let edge = u16::try_from(new.len()).unwrap_or(u16::MAX);
        let mut x = 0;
        // Redraw up to this column: a wide character that reached it was overwritten.
        let mut redraw_until = x;
        while x < edge {
            let (was, cell) = (&old[usize::from(x)], &new[usize::from(x)]);
            let end = x.saturating_add(width(cell)).min(edge);
            if x < redraw_until || was != cell {
                // A moving cursor flickers where updates are not synchronized.
                self.hide();
                self.draw_cell(Position::new(x, y), cell, edge);
                let covered = (x..end).map(|at| at.saturating_add(reach(&old[usize::from(at)]))).max();
                redraw_until = redraw_until.max(covered.unwrap_or(end)).max(x.saturating_add(reach(cell)));
            }
            x = end;
        }
    }

    /// Shows the cursor at a position, or hides it.
    pub(super) fn place_cursor(&mut self, at: Option<Position>) {
        let Some(at) = at else { return self.hide() };
        self.move_to(at);
        if self.cursor != Cursor::Shown {
            self.cursor = Cursor::Shown;
            self.push(Show);
        }
    }

    /// Takes the bytes drawn since the last call.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    fn push(&mut self, command: impl Command) {
        append(&mut self.out, command);
    }

    fn hide(&mut self) {
        if self.cursor != Cursor::Hidden {
            self.cursor = Cursor::Hidden;
            self.push(Hide);
        }
    }

    fn move_to(&mut self, to: Position) {
        match self.position {
            Some(at) if at == to => return,
            Some(at) if at.y == to.y && to.x > at.x => self.push(MoveRight(to.x - at.x)),
            _ => self.push(MoveTo(to.x, to.y)),
        }
        self.position = Some(to);
    }

    fn set_pen(&mut self, pen: PenStyle) {
        if self.pen == pen {
            return;
        }
        let out = &mut self.out;
        out.push_str("\x1b[");
        let mut now = self.pen;
        // Terminals disagree about the codes that remove a single attribute, so reset and set the rest.
        if !pen.modifier.contains(now.modifier) {
            now = PenStyle::RESET;
            out.push_str("0;");
        }
        for (modifier, code) in ATTRIBUTES {
            if pen.modifier.contains(modifier) && !now.modifier.contains(modifier) {
                let _ = write!(out, "{code};");
            }
        }
        if pen.fg != now.fg {
            colour(out, pen.fg, Layer::Foreground);
        }
        if pen.bg != now.bg {
            colour(out, pen.bg, Layer::Background);
        }
        if pen.underline != now.underline {
            colour(out, pen.underline, Layer::Underline);
        }
        if out.ends_with(';') {
            out.pop();
        }
        out.push('m');
        self.pen = pen;
    }

    fn draw_cell(&mut self, at: Position, cell: &Cell, edge: u16) {
        self.move_to(at);
        self.set_pen(PenStyle::of(cell));
        let fits = at.x.saturating_add(width(cell)) <= edge;
        let symbol = if fits && is_printable(cell.symbol()) { cell.symbol() } else { " " };
        if width(cell) > 1 && !has_certain_width(symbol) {
            // Blank its columns first: a terminal that draws it narrower would leave old content in the rest.
            self.out.extend(std::iter::repeat_n(' ', usize::from(width(cell).min(edge - at.x))));
            self.position = None;
            self.move_to(at);
        }
        self.out.push_str(symbol);
        let next = at.x.saturating_add(width(cell));
        // At the right edge terminals delay the line wrap, so the position is unreliable.
        self.position = (has_certain_width(symbol) && next < edge).then_some(Position::new(next, at.y));
    }
}

fn width(cell: &Cell) -> u16 {
    match cell.symbol() {
        symbol if symbol.len() == 1 || !is_printable(symbol) => 1,
        symbol => u16::try_from(symbol.width()).unwrap_or(1).max(1),
    }
}

/// Returns how many columns a cell covers at most, on terminals that do not join grapheme clusters.
fn reach(cell: &Cell) -> u16 {
    match cell.symbol() {
        symbol if has_certain_width(symbol) || !is_printable(symbol) => width(cell),
        symbol => u16::try_from(symbol.chars().count() * 2).unwrap_or(u16::MAX).max(width(cell)),
    }
}

const ATTRIBUTES: [(Modifier, u8); 9] = [
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::SLOW_BLINK, 5),
    (Modifier::RAPID_BLINK, 6),
    (Modifier::REVERSED, 7),
    (Modifier::HIDDEN, 8),
    (Modifier::CROSSED_OUT, 9),
];

#[derive(Clone, Copy)]
enum Layer {
    Foreground,
    Background,
    Underline,
}

/// Appends the codes of a colour, each with a semicolon after it.
fn colour(out: &mut String, colour: Color, layer: Layer) {
    let (normal, bright, extended, reset) = match layer {
        Layer::Foreground => (30, 90, 38, 39),
        Layer::Background => (40, 100, 48, 49),
        // An underline has no short codes.
        Layer::Underline => (0, 0, 58, 59),
    };
    let mut named = |index: u8| match layer {
        Layer::Underline => write!(out, "58;5;{index};"),
        Layer::Foreground | Layer::Background if index < 8 => write!(out, "{};", normal + u16::from(index)),
        Layer::Foreground | Layer::Background => write!(out, "{};", bright + u16::from(index) - 8),
    };
    // Writing to a string cannot fail.
    let _ = match colour {
        Color::Reset => write!(out, "{reset};"),
        Color::Black => named(0),
        Color::Red => named(1),
        Color::Green => named(2),
        Color::Yellow => named(3),
        Color::Blue => named(4),
        Color::Magenta => named(5),
        Color::Cyan => named(6),
        Color::Gray => named(7),
        Color::DarkGray => named(8),
        Color::LightRed => named(9),
        Color::LightGreen => named(10),
        Color::LightYellow => named(11),
        Color::LightBlue => named(12),
        Color::LightMagenta => named(13),
        Color::LightCyan => named(14),
        Color::White => named(15),
        Color::Indexed(index) => write!(out, "{extended};5;{index};"),
        Color::Rgb(red, green, blue) => write!(out, "{extended};2;{red};{green};{blue};"),
    };
}

/// Returns true if the text has no control characters.
fn is_printable(symbol: &str) -> bool {
    !symbol.is_empty() && !symbol.contains(|c: char| c.is_control())
}

/// Returns true if all terminals agree on the width. They disagree about emoji and joined characters.
fn has_certain_width(symbol: &str) -> bool {
    let mut chars = symbol.chars();
    matches!((chars.next(), chars.next()), (Some(only), None) if only < '\u{1f000}')
}

//! A screen as a picture: what a terminal shows, as a small SVG that looks the same everywhere.
//!
//! Lines and blocks are drawn, so that they meet; letters are text, held to their columns. A cell is 8 by 17.

use std::collections::BTreeMap;
use std::fmt::Write;

use vt100::{Cell, Color, Screen};

const WIDE: u16 = 8;
const HIGH: u16 = 17;
/// The air around the screen.
const EDGE: u16 = 10;
/// Where letters stand in their cell.
const BASELINE: u16 = 13;
const FONT: &str = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace";

type Rgb = (u8, u8, u8);

/// How a cell looks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::struct_excessive_bools, reason = "each is a property of its own, as in the terminal")]
struct Look {
    ink: Rgb,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
}

/// Returns the picture of a screen.
pub fn picture(screen: &Screen) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns) = (u16::from(rows), u16::from(columns));
    let ground = ground(screen);
    let mut drawing = Drawing::default();
    for row in 0..rows {
        drawing.row(screen, row, columns, ground);
    }
    if !screen.hide_cursor() {
        let (row, column) = screen.cursor_position();
        let (x, y) = place(row, column);
        write!(drawing.over, r#"<path fill="{}" fill-opacity=".6" d="M{x} {y}h{WIDE}v{HIGH}h-{WIDE}z"/>"#, hex(FACE))
            .unwrap();
    }
    drawing.finish(columns * WIDE + 2 * EDGE, rows * HIGH + 2 * EDGE, ground)
}

/// What a terminal shows where a program chooses no colour.
const FACE: Rgb = (0xd0, 0xd4, 0xd2);
const GROUND: Rgb = (0x10, 0x14, 0x13);

/// Returns the colour behind most of the left edge, where nothing lies over the panes.
fn ground(screen: &Screen) -> Rgb {
    let (rows, _) = screen.size();
    let mut counts: BTreeMap<Rgb, usize> = BTreeMap::new();
    for row in 0..u16::from(rows) {
        let colour = screen.cell(row, 0).map_or(GROUND, |cell| rgb(cell.bgcolor(), GROUND));
        *counts.entry(colour).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map_or(GROUND, |(colour, _)| colour)
}

#[derive(Default)]
struct Drawing {
    /// Areas behind the text, by colour.
    areas: BTreeMap<Rgb, String>,
    /// Lines and blocks, by colour.
    lines: BTreeMap<Rgb, String>,
    blocks: BTreeMap<Rgb, String>,
    looks: Vec<Look>,
    text: String,
    over: String,
}

/// Letters that stand together and look the same.
struct Run {
    look: Look,
    start: u16,
    end: u16,
    text: String,
}

impl Drawing {
    fn row(&mut self, screen: &Screen, row: u16, columns: u16, ground: Rgb) {
        let mut run: Option<Run> = None;
        let mut area: Option<(Rgb, u16)> = None;
        for column in 0..=columns {
            let cell = screen.cell(row, column).filter(|_| column < columns);
            let behind = cell.map(|cell| colours(cell).1).filter(|colour| *colour != ground);
            if area.map(|(colour, _)| colour) != behind {
                if let Some((colour, start)) = area.take() {
                    let (x, y) = place(row, start);
                    let wide = (column - start) * WIDE;
                    write!(self.areas.entry(colour).or_default(), "M{x} {y}h{wide}v{HIGH}h-{wide}z").unwrap();
                }
                area = behind.map(|colour| (colour, column));
            }
            let Some(cell) = cell else { continue };
            if cell.is_wide_continuation() {
                continue;
            }
            let sign = if cell.has_contents() { cell.contents() } else { " " };
            let ink = colours(cell).0;
            let look =
                Look { ink, bold: cell.bold(), dim: cell.dim(), italic: cell.italic(), underline: cell.underline() };
            let end = column + 1 + u16::from(cell.is_wide());
            if self.draw(sign, row, column, ink) {
                self.close(&mut run, row);
            } else if sign == " " && !look.underline {
                // One blank between words belongs to them; more of them are only a distance.
                match &mut run {
                    Some(open) if open.end == column => open.text.push(' '),
                    _ => self.close(&mut run, row),
                }
            } else if let Some(open) = run.as_mut().filter(|open| open.look == look && open.end + 1 >= column) {
                open.text.push_str(sign);
                open.end = end;
            } else {
                self.close(&mut run, row);
                run = Some(Run { look, start: column, end, text: sign.to_owned() });
            }
        }
        self.close(&mut run, row);
    }

    fn close(&mut self, run: &mut Option<Run>, row: u16) {
        let Some(Run { look, start, end, text }) = run.take() else { return };
        let class = self.looks.iter().position(|known| *known == look).unwrap_or_else(|| {
            self.looks.push(look);
            self.looks.len() - 1
        });
        let (x, y) = place(row, start);
        let text = text.trim_end().replace('&', "&amp;").replace('<', "&lt;");
        let length = (end - start) * WIDE;
        let held = if end - start > 1 { format!(r#" textLength="{length}""#) } else { String::new() };
        writeln!(self.text, r#"<text class="{}" x="{x}" y="{}"{held}>{text}</text>"#, name(class), y + BASELINE)
            .unwrap();
    }

    /// Draws a sign that is a line or a block. Tells whether it is one.
    fn draw(&mut self, sign: &str, row: u16, column: u16, ink: Rgb) -> bool {
        let (x, y) = place(row, column);
        let (middle, centre) = (x + WIDE / 2, y + HIGH / 2);
        let (right, below) = (x + WIDE, y + HIGH);
        let line = match sign {
            "─" => format!("M{x} {centre}H{right}"),
            "│" => format!("M{middle} {y}V{below}"),
            "├" => format!("M{middle} {y}V{below}M{middle} {centre}H{right}"),
            "┤" => format!("M{middle} {y}V{below}M{x} {centre}H{middle}"),
            "┬" => format!("M{x} {centre}H{right}M{middle} {centre}V{below}"),
            "┴" => format!("M{x} {centre}H{right}M{middle} {y}V{centre}"),
            "┼" => format!("M{x} {centre}H{right}M{middle} {y}V{below}"),
            "└" => format!("M{middle} {y}V{centre}H{right}"),
            "╭" => format!("M{middle} {below}v-4q0-4 4-4"),
            "╮" => format!("M{x} {centre}q4 0 4 4V{below}"),
            "╰" => format!("M{middle} {y}v4q0 4 4 4"),
            "╯" => format!("M{middle} {y}v4q0 4-4 4"),
            _ => String::new(),
        };
        if !line.is_empty() {
            self.lines.entry(ink).or_default().push_str(&line);
            return true;
        }
        let (from, wide) = match sign {
            "█" => (0, 8),
            "▌" => (0, 4),
            "▐" => (4, 4),
            "▏" => (0, 1),
            "▎" => (0, 2),
            "▍" => (0, 3),
            "▋" => (0, 5),
            "▊" => (0, 6),
            "▉" => (0, 7),
            _ => return false,
        };
        write!(self.blocks.entry(ink).or_default(), "M{} {y}h{wide}v{HIGH}h-{wide}z", x + from).unwrap();
        true
    }

    fn finish(self, wide: u16, high: u16, ground: Rgb) -> String {
        let mut out = String::new();
        writeln!(
            out,
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}">"#
        )
        .unwrap();
        writeln!(out, "<style>text{{font:13.3px {FONT};white-space:pre}}").unwrap();
        for (class, look) in self.looks.iter().enumerate() {
            let mut rules = format!("fill:{}", hex(look.ink));
            for (on, rule) in [
                (look.bold, "font-weight:bold"),
                (look.dim, "opacity:.6"),
                (look.italic, "font-style:italic"),
                (look.underline, "text-decoration:underline"),
            ] {
                if on {
                    write!(rules, ";{rule}").unwrap();
                }
            }
            writeln!(out, ".{}{{{rules}}}", name(class)).unwrap();
        }
        writeln!(out, "</style>").unwrap();
        writeln!(out, r#"<rect width="{wide}" height="{high}" rx="8" fill="{}"/>"#, hex(ground)).unwrap();
        for (colour, path) in &self.areas {
            writeln!(out, r#"<path fill="{}" d="{path}"/>"#, hex(*colour)).unwrap();
        }
        for (colour, path) in &self.lines {
            writeln!(out, r#"<path fill="none" stroke="{}" d="{path}"/>"#, hex(*colour)).unwrap();
        }
        for (colour, path) in &self.blocks {
            writeln!(out, r#"<path fill="{}" d="{path}"/>"#, hex(*colour)).unwrap();
        }
        out.push_str(&self.text);
        out.push_str(&self.over);
        out.push_str("</svg>\n");
        out
    }
}

/// Returns where a cell begins.
fn place(row: u16, column: u16) -> (u16, u16) {
    (EDGE + column * WIDE, EDGE + row * HIGH)
}

/// Names a class by letters.
fn name(class: usize) -> String {
    let letter = |number: usize| char::from(b'a' + u8::try_from(number % 26).unwrap());
    if class < 26 { letter(class).to_string() } else { format!("{}{}", letter(class / 26 - 1), letter(class)) }
}

fn hex((red, green, blue): Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Returns the colours of a cell, in front and behind.
fn colours(cell: &Cell) -> (Rgb, Rgb) {
    let front = rgb(cell.fgcolor(), FACE);
    let behind = rgb(cell.bgcolor(), GROUND);
    if cell.inverse() { (behind, front) } else { (front, behind) }
}

fn rgb(colour: Color, usual: Rgb) -> Rgb {
    const BASIC: [Rgb; 16] = [
        (0, 0, 0),
        (205, 49, 49),
        (13, 188, 121),
        (229, 229, 16),
        (36, 114, 200),
        (188, 63, 188),
        (17, 168, 205),
        (229, 229, 229),
        (102, 102, 102),
        (241, 76, 76),
        (35, 209, 139),
        (245, 245, 67),
        (59, 142, 234),
        (214, 112, 214),
        (41, 184, 219),
        (255, 255, 255),
    ];
    match colour {
        Color::Default => usual,
        Color::Rgb(red, green, blue) => (red, green, blue),
        Color::Idx(index @ 0..=15) => BASIC[usize::from(index)],
        Color::Idx(index @ 16..=231) => {
            let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
            let cube = index - 16;
            (level(cube / 36), level(cube / 6 % 6), level(cube % 6))
        }
        Color::Idx(index) => {
            let grey = 8 + 10 * (index - 232);
            (grey, grey, grey)
        }
    }
}

#[cfg(test)]
fn drawn(bytes: &str) -> String {
    let size = |cells| std::num::NonZeroU16::new(cells).unwrap();
    let mut terminal = vt100::Parser::new(size(2), size(12), 0);
    terminal.process(bytes.as_bytes());
    picture(terminal.screen())
}

#[test]
fn words_keep_their_columns_and_their_looks() {
    let svg = drawn("\x1b[?25l\x1b[1;38;2;1;2;3ma <b>\x1b[0m  c\x1b[7md");
    assert!(svg.contains(r#"<text class="a" x="10" y="23" textLength="40">a &lt;b></text>"#), "{svg}");
    assert!(svg.contains(".a{fill:#010203;font-weight:bold}"), "{svg}");
    assert!(svg.contains(r#"<text class="b" x="66" y="23">c</text>"#), "{svg}");
    assert!(
        svg.contains(".c{fill:#101413}") && svg.contains(r##"<path fill="#d0d4d2" d="M74 10h8v17h-8z"/>"##),
        "{svg}"
    );
}

#[test]
fn lines_and_blocks_are_drawn_and_meet() {
    let svg = drawn("\x1b[?25l──▌");
    assert!(svg.contains(r##"stroke="#d0d4d2" d="M10 18H18M18 18H26""##), "{svg}");
    assert!(svg.contains("M26 10h4v17h-4z"), "{svg}");
    assert!(!svg.contains("<text"), "{svg}");
}

#[test]
fn the_cursor_is_seen_unless_it_is_hidden() {
    assert!(drawn("ab").contains(r#"fill-opacity=".6" d="M26 10h8"#));
    assert!(!drawn("ab\x1b[?25l").contains("fill-opacity"));
}

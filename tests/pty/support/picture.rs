//! A screen as text, with its colours: what a snapshot compares.
//!
//! Each row is its text; below a row that is not plain stand its runs of style: `  3-9 bold accent on panel`. Colours
//! are named by the caller, such as by the roles of a theme, and else by their value.

use std::fmt::Write;

use vt100::{Cell, Color, Screen};

/// Returns the text of a screen, without the blanks at the ends of rows and without empty rows at the end.
pub fn text(screen: &Screen) -> String {
    let (_, columns) = screen.size();
    let rows: Vec<String> = screen.rows(0, columns.into()).map(|row| row.trim_end().to_owned()).collect();
    rows.join("\n").trim_end().to_owned()
}

/// Returns a screen with its styles. `name` may give a colour a better name than its value.
pub fn styled(screen: &Screen, name: impl Fn(Color) -> Option<String>) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns) = (u16::from(rows), u16::from(columns));
    let mut out = String::new();
    for (row, line) in (0..rows).zip(screen.rows(0, columns)) {
        out.push_str(line.trim_end());
        out.push('\n');
        let styles: Vec<String> = (0..columns)
            .map(|column| screen.cell(row, column).map(|cell| style(cell, &name)).unwrap_or_default())
            .collect();
        let mut start = 0;
        while start < styles.len() {
            let end = start + styles[start..].iter().take_while(|style| **style == styles[start]).count();
            if !styles[start].is_empty() {
                writeln!(out, "  {start}-{} {}", end - 1, styles[start]).unwrap();
            }
            start = end;
        }
    }
    out.trim_end().to_owned()
}

fn style(cell: &Cell, name: &impl Fn(Color) -> Option<String>) -> String {
    let colour = |colour: Color| {
        name(colour).unwrap_or_else(|| match colour {
            Color::Default => "default".to_owned(),
            Color::Idx(index) => index.to_string(),
            Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
        })
    };
    let mut words: Vec<String> = [
        (cell.bold(), "bold"),
        (cell.dim(), "dim"),
        (cell.italic(), "italic"),
        (cell.underline(), "underline"),
        (cell.inverse(), "reversed"),
    ]
    .into_iter()
    .filter(|(on, _)| *on)
    .map(|(_, word)| word.to_owned())
    .collect();
    if cell.fgcolor() != Color::Default {
        words.push(colour(cell.fgcolor()));
    }
    if cell.bgcolor() != Color::Default {
        words.push(format!("on {}", colour(cell.bgcolor())));
    }
    words.join(" ")
}

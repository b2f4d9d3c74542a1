//! A table for a terminal: a header, aligned columns, and one column that gives way where the terminal is narrow.
//!
//! Pure: the result is lines of spans. Empty columns are left out.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::cli::paint::{Span, Style};

/// The gap between two columns.
const GAP: usize = 2;
/// The narrowest that the flexible column becomes.
const NARROWEST: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// What happens to a column where the terminal is too narrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It keeps its width.
    Fixed,
    /// It is cut.
    Flexible,
    /// It is left out.
    Optional,
}

#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub header: &'static str,
    pub align: Align,
    pub fit: Fit,
}

impl Column {
    pub const fn left(header: &'static str) -> Self {
        Self { header, align: Align::Left, fit: Fit::Fixed }
    }

    pub const fn right(header: &'static str) -> Self {
        Self { header, align: Align::Right, fit: Fit::Fixed }
    }

    pub const fn fit(self, fit: Fit) -> Self {
        Self { fit, ..self }
    }
}

/// One cell: spans of one line.
pub type Cell = Vec<Span>;

/// Returns a cell of one span.
pub fn cell(text: impl Into<String>, style: Style) -> Cell {
    vec![Span::new(text, style)]
}

pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row with a cell for each column.
    pub fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }

    /// Returns the lines of the table for a terminal of `width` columns: the header, then the rows.
    pub fn lines(&self, width: usize) -> Vec<Vec<Span>> {
        let widths = self.widths(width);
        let header = self.columns.iter().map(|column| cell(column.header, Style::Dim));
        let header: Vec<Cell> = header.collect();
        std::iter::once(&header).chain(&self.rows).map(|row| self.line(row, &widths)).collect()
    }

    /// Returns the width of each column, or `None` for one that is left out.
    fn widths(&self, width: usize) -> Vec<Option<usize>> {
        let natural = |(at, column): (usize, &Column)| {
            let widest = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell_width(cell)).max();
            widest.filter(|widest| *widest > 0).map(|widest| widest.max(column.header.width()))
        };
        let mut widths: Vec<Option<usize>> = self.columns.iter().enumerate().map(natural).collect();
        let natural = widths.clone();
        let mut optional: Vec<usize> = self.with_fit(Fit::Optional).collect();
        // The optional columns go, the last first, before the flexible one is cut to less than half.
        loop {
            let half = |at: usize| natural.get(at).copied().flatten().unwrap_or_default() / 2;
            let fitted = self.shrunk(&widths, width, &|at| half(at).max(NARROWEST));
            if total(&fitted) <= width {
                return fitted;
            }
            let Some(last) = optional.pop() else { break };
            if let Some(gone) = widths.get_mut(last) {
                *gone = None;
            }
        }
        self.shrunk(&widths, width, &|_| NARROWEST)
    }

    fn with_fit(&self, fit: Fit) -> impl Iterator<Item = usize> {
        self.columns.iter().enumerate().filter(move |(_, column)| column.fit == fit).map(|(at, _)| at)
    }

    /// Returns the widths with the flexible columns cut until all fit, but not below `narrowest`.
    fn shrunk(&self, widths: &[Option<usize>], width: usize, narrowest: &dyn Fn(usize) -> usize) -> Vec<Option<usize>> {
        let mut widths = widths.to_vec();
        for at in self.with_fit(Fit::Flexible) {
            let over = total(&widths).saturating_sub(width);
            if let Some(own) = widths.get_mut(at).and_then(Option::as_mut) {
                *own = (*own).saturating_sub(over).max((*own).min(narrowest(at)));
            }
        }
        widths
    }

    fn line(&self, row: &[Cell], widths: &[Option<usize>]) -> Vec<Span> {
        let mut line: Vec<Span> = Vec::new();
        let last = widths.iter().rposition(Option::is_some);
        for (at, ((cell, column), width)) in row.iter().zip(&self.columns).zip(widths).enumerate() {
            let Some(width) = *width else { continue };
            let cell = cut(cell, width);
            let room = " ".repeat(width - cell_width(&cell));
            match column.align {
                Align::Right => {
                    line.push(Span::plain(room));
                    line.extend(cell);
                }
                Align::Left => {
                    line.extend(cell);
                    line.push(Span::plain(room));
                }
            }
            if last != Some(at) {
                line.push(Span::plain(" ".repeat(GAP)));
            }
        }
        while line.last().is_some_and(|span| span.text.trim().is_empty()) {
            line.pop();
        }
        line
    }
}

/// Returns the width of a line with these columns.
fn total(widths: &[Option<usize>]) -> usize {
    let shown = widths.iter().flatten().count();
    widths.iter().flatten().sum::<usize>() + GAP * shown.saturating_sub(1)
}

/// Returns the lines of a text wrapped at words to `width` columns.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let width = width.max(NARROWEST);
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() || line.width() + 1 + word.width() <= width => {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn cell_width(cell: &[Span]) -> usize {
    cell.iter().map(|span| span.text.width()).sum()
}

/// Returns the spans cut to `width` columns, with a mark where text is missing.
fn cut(cell: &[Span], width: usize) -> Cell {
    if cell_width(cell) <= width {
        return cell.to_vec();
    }
    let mut left = width.saturating_sub(1);
    let mut shown = Vec::new();
    for span in cell {
        let mut text = String::new();
        let mut is_cut = false;
        for c in span.text.chars() {
            let own = c.width().unwrap_or(0);
            if own > left {
                is_cut = true;
                break;
            }
            left -= own;
            text.push(c);
        }
        if is_cut {
            text.push('…');
        }
        shown.push(Span { text, style: span.style });
        if is_cut {
            break;
        }
    }
    shown
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;

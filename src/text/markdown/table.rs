//! Lays out tables: columns at their natural width, wrapped on a narrow page, and as a list of names and values where
//! there is no room for columns.

use super::block::{Inlines, Table};
use crate::text::page::Page;
use crate::text::row::{Copied, Row, Span};
use crate::text::width::{self, Align};
use crate::text::wrap::{self, Break};
use crate::theme::Role;

/// A narrower column is unreadable.
const MIN_COLUMN: usize = 6;

/// A table with more columns is shown as a list.
const MAX_COLUMNS: usize = 64;

pub fn rows(table: &Table, page: Page) -> Vec<Row> {
    let columns = table.head.len();
    let natural: Vec<usize> = (0..columns).map(|column| natural(table, column)).collect();
    let gaps = 3 * columns.saturating_sub(1);
    let widths = width::left(page.width, gaps).and_then(|room| fit(&natural, room));
    match widths {
        Some(widths) if (1..=MAX_COLUMNS).contains(&columns) => grid(table, &widths, page),
        _ => list(table, page),
    }
}

fn natural(table: &Table, column: usize) -> usize {
    let cells = std::iter::once(&table.head).chain(&table.rows).filter_map(|row| row.get(column));
    cells.map(|cell| text(cell).lines().map(width::of).max().unwrap_or(0)).max().unwrap_or(0).max(1)
}

fn text(cell: &Inlines) -> String {
    cell.iter().map(|span| span.text.as_ref()).collect()
}

/// Returns the width of each column: narrow ones keep their natural width, wide ones share the rest.
fn fit(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    if natural.iter().map(|wide| (*wide).min(MIN_COLUMN)).sum::<usize>() > room {
        return None;
    }
    let mut order: Vec<usize> = (0..natural.len()).collect();
    order.sort_by_key(|column| natural[*column]);
    let mut widths = vec![0; natural.len()];
    let mut left = room;
    for (at, column) in order.iter().enumerate() {
        let share = left / (natural.len() - at);
        widths[*column] = natural[*column].min(share);
        left -= widths[*column];
    }
    Some(widths)
}

fn grid(table: &Table, widths: &[usize], page: Page) -> Vec<Row> {
    let mut rows = grid_row(&table.head, widths, &table.aligns, page);
    let mut rule = Row::default();
    for (column, wide) in widths.iter().enumerate() {
        let line = page.glyphs.rule;
        if column > 0 {
            let cross = format!("{line}{}{line}", page.glyphs.cross);
            rule.push(Span { copied: Copied::As(" | "), ..Span::new(cross, Role::TableBorder) });
        }
        rule.push(Span { copied: Copied::As("---"), ..Span::new(line.repeat(*wide), Role::TableBorder) });
    }
    rows.push(rule);
    for cells in &table.rows {
        rows.extend(grid_row(cells, widths, &table.aligns, page));
    }
    rows
}

fn grid_row(cells: &[Inlines], widths: &[usize], aligns: &[Align], page: Page) -> Vec<Row> {
    let empty = Inlines::new();
    let wrapped: Vec<Vec<Row>> = widths
        .iter()
        .enumerate()
        .map(|(column, wide)| wrap::spans(cells.get(column).unwrap_or(&empty), *wide, &[], &[], Break::Words))
        .collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(1);
    (0..height)
        .map(|line| {
            let mut row = Row::default();
            for (column, wide) in widths.iter().enumerate() {
                if column > 0 {
                    let bar = format!(" {} ", page.glyphs.vertical);
                    row.push(Span { copied: Copied::As(" | "), ..Span::new(bar, Role::TableBorder) });
                }
                let cell = wrapped[column].get(line);
                let gap = wide.saturating_sub(cell.map_or(0, Row::width));
                let before = match aligns.get(column).copied().unwrap_or_default() {
                    Align::Left => 0,
                    Align::Centre => gap / 2,
                    Align::Right => gap,
                };
                row.push(Span::decoration(" ".repeat(before), Role::Text));
                cell.into_iter().flat_map(|cell| cell.spans.iter().cloned()).for_each(|span| row.push(span));
                if column + 1 < widths.len() {
                    row.push(Span::decoration(" ".repeat(gap - before), Role::Text));
                }
            }
            row
        })
        .collect()
}

fn list(table: &Table, page: Page) -> Vec<Row> {
    let mut rows = Vec::new();
    for cells in &table.rows {
        if !rows.is_empty() {
            rows.push(Row::blank());
        }
        for (column, cell) in cells.iter().enumerate() {
            let mut spans = table.head.get(column).cloned().unwrap_or_default();
            if !spans.is_empty() {
                spans.push(Span::new(": ", Role::TableHeader));
            }
            spans.extend(cell.iter().cloned());
            let indent: &[Span] = if page.width >= 8 { &[Span::decoration("  ", Role::Text)] } else { &[] };
            rows.extend(wrap::spans(&spans, page.width, &[], indent, Break::Words));
        }
    }
    if rows.is_empty() {
        for cell in &table.head {
            rows.extend(wrap::spans(cell, page.width, &[], &[], Break::Words));
        }
    }
    rows
}

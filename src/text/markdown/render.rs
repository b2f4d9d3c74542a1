//! Lays out blocks as rows. Nested blocks are laid out narrower and then prefixed with their bar, bullet or indent.

use ratatui::style::Modifier;

use super::block::{Block, Item};
use super::{code, table};
use crate::text::page::Page;
use crate::text::row::{Copied, Ink, Row, RowEnd, Span};
use crate::text::width;
use crate::text::wrap::{self, Break};
use crate::theme::Role;

/// A narrower page has no room for bars and indents.
const NARROW: usize = 10;

/// Appends a top-level block, separated by a blank row from the rows before it.
pub fn append(block: &Block, page: Page, rows: &mut Vec<Row>) {
    if !rows.is_empty() {
        rows.push(Row::blank());
    }
    let page = match block {
        Block::Code { .. } | Block::Table(_) => page,
        Block::Heading { .. }
        | Block::Paragraph(_)
        | Block::Html(_)
        | Block::Rule
        | Block::Quote { .. }
        | Block::List { .. }
        | Block::Footnote { .. } => page.for_reading(),
    };
    rows.extend(block_rows(block, page, 0));
}

fn block_rows(block: &Block, page: Page, depth: usize) -> Vec<Row> {
    let words = |spans: &[Span]| wrap::spans(spans, page.width, &[], &[], Break::Words);
    match block {
        Block::Heading { level: 1, words: spans } => {
            let mut rows = words(spans);
            rows.push(Row::new(vec![Span::decoration(page.glyphs.rule.repeat(page.width), Role::Rule)]));
            rows
        }
        Block::Heading { words: spans, .. } | Block::Paragraph(spans) => words(spans),
        Block::Code { info, text } => code::rows(info, text, page),
        Block::Html(text) => words(&[Span::new(text.clone(), Role::Html)]),
        Block::Table(table) => table::rows(table, page),
        Block::Rule => {
            let line = page.glyphs.rule.repeat(page.width);
            vec![Row::new(vec![Span { copied: Copied::As("---"), ..Span::new(line, Role::Rule) }])]
        }
        Block::Quote { kind, blocks } => {
            let bar =
                Span { copied: Copied::As("> "), ..Span::new(format!("{} ", page.glyphs.quote_bar), Role::QuoteBar) };
            let inner = inside(page, bar.width());
            let mut rows = Vec::new();
            if let Some((title, role)) = kind.map(super::block::Alert::title) {
                let title = Span::new(title, Ink::new(role).with(Modifier::BOLD));
                rows.extend(wrap::spans(&[title], inner.width, &[], &[], Break::Words));
            }
            rows.extend(joined(blocks, inner, depth, Spacing::Blank));
            prefixed(rows, page, inner, &bar, &bar)
        }
        Block::List { start, loose, items } => list(*start, *loose, items, page, depth),
        Block::Footnote { label, blocks } => {
            let first = Span::new(format!("[{label}] "), Role::Footnote);
            let inner = inside(page, first.width());
            let rest = Span::new(" ".repeat(first.width()), Role::Footnote);
            prefixed(joined(blocks, inner, depth, Spacing::Blank), page, inner, &first, &rest)
        }
    }
}

/// The space between the blocks of an item or a quote.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spacing {
    None,
    Blank,
}

fn joined(blocks: &[Block], page: Page, depth: usize, spacing: Spacing) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        if at > 0 && spacing == Spacing::Blank {
            rows.push(Row::blank());
        }
        rows.extend(block_rows(block, page, depth));
    }
    if rows.is_empty() { vec![Row::blank()] } else { rows }
}

fn list(start: Option<u64>, loose: bool, items: &[Item], page: Page, depth: usize) -> Vec<Row> {
    let last = start.map(|first| first.saturating_add(items.len() as u64).saturating_sub(1));
    let digits = last.map_or(0, |last| last.to_string().len());
    let spacing = if loose { Spacing::Blank } else { Spacing::None };
    let mut rows = Vec::new();
    for (item, number) in items.iter().zip(start.unwrap_or_default()..) {
        if loose && !rows.is_empty() {
            rows.push(Row::blank());
        }
        let marker = marker(item, start.map(|_| number), digits, page, depth);
        let inner = inside(page, marker.width());
        let rest = Span::new(" ".repeat(marker.width()), Role::Text);
        rows.extend(prefixed(joined(&item.blocks, inner, depth + 1, spacing), page, inner, &marker, &rest));
    }
    rows
}

fn marker(item: &Item, number: Option<u64>, digits: usize, page: Page, depth: usize) -> Span {
    let glyphs = page.glyphs;
    match (item.done, number) {
        (Some(true), _) => {
            Span { copied: Copied::As("- [x] "), ..Span::new(format!("{} ", glyphs.box_done), Role::Ok) }
        }
        (Some(false), _) => {
            Span { copied: Copied::As("- [ ] "), ..Span::new(format!("{} ", glyphs.box_open), Role::ListMarker) }
        }
        (None, Some(number)) => Span::new(format!("{number:>digits$}. "), Role::ListMarker),
        (None, None) => {
            let bullet = glyphs.bullets[depth % glyphs.bullets.len()];
            Span { copied: Copied::As("- "), ..Span::new(format!("{bullet} "), Role::ListMarker) }
        }
    }
}

/// Returns the page inside something that takes `columns`, or the same page if there is no room.
fn inside(page: Page, columns: usize) -> Page {
    match width::left(page.width, columns) {
        Some(left) if left >= NARROW => page.narrower(columns),
        _ => page,
    }
}

/// Puts `first` before the first row and `rest` before all others. For a row that continues a line, the prefix is
/// decoration and is not copied.
fn prefixed(mut rows: Vec<Row>, page: Page, inner: Page, first: &Span, rest: &Span) -> Vec<Row> {
    if inner.width == page.width {
        return rows;
    }
    let mut continues = false;
    for (at, row) in rows.iter_mut().enumerate() {
        let mut prefix = if at == 0 { first.clone() } else { rest.clone() };
        if continues {
            prefix.copied = Copied::Nothing;
        }
        row.spans.insert(0, prefix);
        continues = row.end != RowEnd::Line;
    }
    rows
}

//! Code blocks: a label, then the highlighted lines, on a surface with a bar on its left. The bar shows the block where
//! the terminal has no background for it.

use crate::text::highlight::{self, Language, Parts};
use crate::text::page::Page;
use crate::text::row::{Row, Span};
use crate::text::width;
use crate::text::wrap::{self, Break};
use crate::theme::Role;

/// Returns the rows of a complete block.
pub fn rows(info: &str, text: &str, page: Page) -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(label(info, page));
    let text = width::visible(text);
    match Language::named(info) {
        Some(language) => {
            let parts = highlight::lines(language, &text);
            text.lines().zip(parts.iter()).for_each(|(line, parts)| push_line(line, parts, page, &mut rows));
        }
        None => text.lines().for_each(|line| push_line(line, &plain(line), page, &mut rows)),
    }
    if rows.is_empty() {
        rows.push(Row::blank().on(Role::CodeBg));
    }
    rows
}

fn plain(line: &str) -> Parts {
    vec![(0..line.len(), Role::Text)]
}

/// Returns the row with the language, if the block has one.
fn label(info: &str, page: Page) -> Option<Row> {
    let name = info.split_whitespace().next()?;
    let name = width::truncate(name, page.width.saturating_sub(2), width::Cut::End, page.glyphs.ellipsis).into_owned();
    let mut spans = edge(page);
    spans.push(Span::decoration(name, Role::CodeLabel));
    Some(Row::new(spans).on(Role::CodeBg))
}

/// Returns what is left of each line, if there is room.
fn edge(page: Page) -> Vec<Span> {
    if page.width < 8 {
        return Vec::new();
    }
    vec![Span::decoration(page.glyphs.quote_bar, Role::QuoteBar), Span::decoration(" ", Role::CodeBg)]
}

fn push_line(line: &str, parts: &Parts, page: Page, rows: &mut Vec<Row>) {
    let spans: Vec<Span> = parts.iter().map(|(range, role)| Span::new(line[range.clone()].to_owned(), *role)).collect();
    let first = edge(page);
    let mut rest = first.clone();
    if let Some(gap) = rest.last_mut() {
        *gap = Span::decoration(page.glyphs.wrapped, Role::Faint);
    }
    let wrapped = wrap::spans(&spans, page.width, &first, &rest, Break::Anywhere);
    rows.extend(wrapped.into_iter().map(|row| row.on(Role::CodeBg)));
}

/// A code block that still grows. Complete lines are laid out once; only the last line is open.
#[derive(Debug)]
pub struct OpenCode {
    info: String,
    /// How much of the text has been laid out, in bytes and in lines.
    done: usize,
    lines: usize,
}

impl OpenCode {
    /// Starts a block and appends its label.
    pub fn start(info: &str, page: Page, rows: &mut Vec<Row>) -> Self {
        rows.extend(label(info, page));
        Self { info: info.to_owned(), done: 0, lines: 0 }
    }

    /// Returns true if `text` extends this block.
    pub fn continues(&self, info: &str, text: &str) -> bool {
        self.info == info && text.len() >= self.done && text.is_char_boundary(self.done)
    }

    /// Lays out the added text. Returns the number of rows of complete lines: rows after them can still change.
    pub fn extend(&mut self, text: &str, page: Page, rows: &mut Vec<Row>) -> usize {
        let whole = text.rfind('\n').map_or(0, |at| at + 1).max(self.done);
        let (closed, open) = (width::visible(&text[self.done..whole]), width::visible(&text[whole..]));
        let mut parts = match Language::named(&self.info) {
            Some(language) => highlight::lines_from(language, &width::visible(text), self.lines),
            None => Vec::new(),
        }
        .into_iter();
        for line in closed.lines() {
            push_line(line, &parts.next().unwrap_or_else(|| plain(line)), page, rows);
            self.lines += 1;
        }
        self.done = whole;
        let reach = rows.len();
        for line in open.lines() {
            push_line(line, &parts.next().unwrap_or_else(|| plain(line)), page, rows);
        }
        if self.done == 0 && text.is_empty() && self.info.split_whitespace().next().is_none() {
            rows.push(Row::blank().on(Role::CodeBg));
        }
        reach
    }
}

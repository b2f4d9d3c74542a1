//! Markdown that is still being written. Blocks that nothing can change any more are laid out once and frozen; only the
//! last one is laid out again, and of an open block of code only the last line.
//!
//! Invariant: the rows are those of [`super::render`] for the same text. Whether a block is over is decided by whole
//! lines alone, since half a line can still become anything. A text that defines references or footnotes is laid out
//! whole each time, because a definition changes what stands before it.

use super::block::Block;
use super::code::OpenCode;
use super::parse::{Parsed, parse};
use super::render;
use crate::text::page::Page;
use crate::text::row::Row;

/// A text that grows, and its rows.
#[derive(Debug)]
pub struct StreamingMarkdown {
    source: String,
    page: Page,
    rows: Vec<Row>,
    /// Up to here the text and its rows are final.
    frozen: Frozen,
    definitions: bool,
    /// The block of code that the open part consists of, and how many rows its whole lines reach to.
    code: Option<(OpenCode, usize)>,
    /// How much text there was at the last layout.
    laid: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Frozen {
    bytes: usize,
    rows: usize,
}

impl StreamingMarkdown {
    pub fn new(page: Page) -> Self {
        Self {
            source: String::new(),
            page,
            rows: Vec::new(),
            frozen: Frozen::default(),
            definitions: false,
            code: None,
            laid: None,
        }
    }

    /// Adds text. Nothing is laid out before rows are asked for.
    pub fn push(&mut self, text: &str) {
        self.source.push_str(text);
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns how many of the rows will never change while the page stays the same.
    pub fn frozen_rows(&self) -> usize {
        self.frozen.rows
    }

    /// Lays out for another page from now on.
    pub fn set_page(&mut self, page: Page) {
        if self.page != page {
            self.page = page;
            self.start_over();
        }
    }

    /// Returns the rows of everything written so far.
    pub fn rows(&mut self) -> &[Row] {
        if self.laid != Some(self.source.len()) {
            self.lay_out();
            self.laid = Some(self.source.len());
        }
        &self.rows
    }

    fn start_over(&mut self) {
        self.rows.clear();
        self.frozen = Frozen::default();
        self.code = None;
        self.laid = None;
    }

    fn lay_out(&mut self) {
        if !self.definitions {
            let mut open = self.parse_open();
            if open.blocks.len() > 1 && !open.definitions {
                self.freeze();
                open = self.parse_open();
            }
            if !open.definitions {
                self.lay_out_open(&open);
                return;
            }
            self.definitions = true;
        }
        self.start_over();
        for (_, block) in &parse(&self.source).blocks {
            render::append(block, self.page, &mut self.rows);
        }
    }

    fn parse_open(&self) -> Parsed {
        parse(&self.source[self.frozen.bytes..])
    }

    /// Freezes every block that is followed by another one within the whole lines.
    fn freeze(&mut self) {
        let open = &self.source[self.frozen.bytes..];
        let whole = &open[..open.rfind('\n').map_or(0, |at| at + 1)];
        let parsed = parse(whole);
        let Some(((last, _), over)) = parsed.blocks.split_last() else { return };
        if over.is_empty() {
            return;
        }
        let last_line = whole[..*last].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        for (at, (_, block)) in over.iter().enumerate() {
            match block {
                Block::Code { info, text } if at == 0 => {
                    self.lay_out_code(info, text);
                    self.code = None;
                }
                block => {
                    if at == 0 {
                        self.thaw();
                    }
                    render::append(block, self.page, &mut self.rows);
                }
            }
        }
        self.frozen = Frozen { bytes: self.frozen.bytes + last_line, rows: self.rows.len() };
    }

    /// Drops the rows of the open part.
    fn thaw(&mut self) {
        self.rows.truncate(self.frozen.rows);
        self.code = None;
    }

    fn lay_out_open(&mut self, open: &Parsed) {
        if let [(_, Block::Code { info, text })] = open.blocks.as_slice() {
            self.lay_out_code(info, text);
            return;
        }
        self.thaw();
        for (_, block) in &open.blocks {
            render::append(block, self.page, &mut self.rows);
        }
    }

    fn lay_out_code(&mut self, info: &str, text: &str) {
        let mut code = match self.code.take() {
            Some((code, reach)) if code.continues(info, text) => {
                self.rows.truncate(reach);
                code
            }
            _ => {
                self.thaw();
                if !self.rows.is_empty() {
                    self.rows.push(Row::blank());
                }
                OpenCode::start(info, self.page, &mut self.rows)
            }
        };
        let reach = code.extend(text, self.page, &mut self.rows);
        self.code = Some((code, reach));
    }
}

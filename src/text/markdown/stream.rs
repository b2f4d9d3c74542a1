//! Lays out growing Markdown. Blocks that can no longer change are laid out once and frozen; only the last block is
//! laid out again, and of an open code block only the last line.
//!
//! Invariant: the rows equal those of [`super::render`] for the same text. Only complete lines decide whether a block
//! has ended, since half a line can still become anything. A text that defines references or footnotes is laid out as
//! a whole each time, because a definition changes the text before it.

use super::block::Block;
use super::code::OpenCode;
use super::parse::{Parsed, parse};
use super::render;
use crate::text::page::Page;
use crate::text::row::Row;

/// A growing text and its rows.
#[derive(Debug)]
pub struct StreamingMarkdown {
    source: String,
    page: Page,
    rows: Vec<Row>,
    /// The end of the final part of the text and of the rows.
    frozen: Frozen,
    definitions: bool,
    /// The code block that the open part consists of, and the number of rows of its complete lines.
    code: Option<(OpenCode, usize)>,
    /// The length of the text at the last layout.
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

    /// Appends text. The layout is deferred until rows are requested.
    pub fn push(&mut self, text: &str) {
        self.source.push_str(text);
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the number of rows that will not change while the page stays the same.
    pub fn frozen_rows(&self) -> usize {
        self.frozen.rows
    }

    /// Sets the page for the next layout.
    pub fn set_page(&mut self, page: Page) {
        if self.page != page {
            self.page = page;
            self.start_over();
        }
    }

    /// Returns the rows of all text so far.
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

    /// Freezes every block that is followed by another one within the complete lines.
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
                        self.drop_open_rows();
                    }
                    render::append(block, self.page, &mut self.rows);
                }
            }
        }
        self.frozen = Frozen { bytes: self.frozen.bytes + last_line, rows: self.rows.len() };
    }

    /// Drops the rows of the open part.
    fn drop_open_rows(&mut self) {
        self.rows.truncate(self.frozen.rows);
        self.code = None;
    }

    fn lay_out_open(&mut self, open: &Parsed) {
        if let [(_, Block::Code { info, text })] = open.blocks.as_slice() {
            self.lay_out_code(info, text);
            return;
        }
        self.drop_open_rows();
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
                self.drop_open_rows();
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

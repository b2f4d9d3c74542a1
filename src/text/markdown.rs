//! Markdown to rows: what models write, laid out for a terminal.
//!
//! [`render`] lays out a whole text; [`StreamingMarkdown`] a text that is still being written, and comes to the same
//! rows for any way of cutting it up. Nothing in the text can reach the terminal raw: HTML is shown as it was written,
//! and the address of a link is always visible where it differs from its words.

mod block;
mod code;
mod parse;
mod render;
mod stream;
mod table;

pub use stream::StreamingMarkdown;

use super::page::Page;
use super::row::Row;

/// Returns `source` as rows.
pub fn render(source: &str, page: Page) -> Vec<Row> {
    let mut rows = Vec::new();
    for (_, block) in &parse::parse(source).blocks {
        render::append(block, page, &mut rows);
    }
    rows
}

/// Returns the words of `source` in one line, without what only emphasises them.
pub fn words(source: &str) -> String {
    let page = Page::new(usize::from(u16::MAX), &crate::theme::Glyphs::UNICODE);
    let rows = render(source, page);
    let said: Vec<_> = rows.iter().map(Row::said).collect();
    said.iter().flat_map(|row| row.split_whitespace()).collect::<Vec<_>>().join(" ")
}

/// Returns the blocks of code in `source`, in their order, as they were written.
pub fn code_blocks(source: &str) -> Vec<String> {
    fn gather(blocks: &[block::Block], found: &mut Vec<String>) {
        for block in blocks {
            match block {
                block::Block::Code { text, .. } => found.push(text.clone()),
                block::Block::Quote { blocks, .. } | block::Block::Footnote { blocks, .. } => gather(blocks, found),
                block::Block::List { items, .. } => items.iter().for_each(|item| gather(&item.blocks, found)),
                block::Block::Heading { .. }
                | block::Block::Paragraph(_)
                | block::Block::Table(_)
                | block::Block::Html(_)
                | block::Block::Rule => {}
            }
        }
    }
    let mut found = Vec::new();
    let blocks: Vec<_> = parse::parse(source).blocks.into_iter().map(|(_, block)| block).collect();
    gather(&blocks, &mut found);
    found
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;

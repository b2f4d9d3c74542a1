//! Lays out Markdown, as models write it, for a terminal.
//!
//! [`render`] lays out a whole text; [`StreamingMarkdown`] lays out a growing text and arrives at the same rows
//! however the text is split. Nothing in the text reaches the terminal raw: HTML is shown as source, and the address
//! of a link is always visible if it differs from its text.

mod block;
mod code;
mod parse;
mod render;
mod stream;
mod table;

pub use stream::StreamingMarkdown;

use super::page::Page;
use super::row::Row;

pub fn render(source: &str, page: Page) -> Vec<Row> {
    let mut rows = Vec::new();
    for (_, block) in &parse::parse(source).blocks {
        render::append(block, page, &mut rows);
    }
    rows
}

/// Returns the text of `source` in one line, without markup.
pub fn words(source: &str) -> String {
    let page = Page::new(usize::from(u16::MAX), &crate::theme::Glyphs::UNICODE);
    let rows = render(source, page);
    let texts: Vec<_> = rows.iter().map(Row::source_text).collect();
    texts.iter().flat_map(|row| row.split_whitespace()).collect::<Vec<_>>().join(" ")
}

/// Returns the code blocks of `source` in order, as written.
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

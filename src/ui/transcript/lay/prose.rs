//! Text as rows: what agents write in Markdown, and text that is just text.

use crate::text::wrap::{self, Break};
use crate::text::{Row, Span, width};
use crate::theme::Role;
use crate::ui::transcript::lay::Page;

/// Returns Markdown as rows.
pub fn prose(text: &str, role: Role, page: &Page<'_>) -> Vec<Row> {
    plain(text.trim(), role, page.room())
}

/// Returns text as it is, wrapped.
pub fn plain(text: &str, role: Role, room: usize) -> Vec<Row> {
    let text = width::visible(text);
    let lines = text.lines().map(|line| [Span::new(line.to_owned(), role)]);
    lines.flat_map(|line| wrap::spans(&line, room, &[], &[], Break::Words)).collect()
}

/// Returns the blocks of code in a text.
pub fn code_blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        match (line.trim_start().starts_with("```"), &mut open) {
            (true, None) => open = Some(String::new()),
            (true, Some(_)) => blocks.extend(open.take()),
            (false, Some(block)) => {
                block.push_str(line);
                block.push('\n');
            }
            (false, None) => {}
        }
    }
    blocks
}

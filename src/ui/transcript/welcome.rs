//! The empty screen of a new project: the wordmark, what to do, and example goals. A digit takes one into the composer.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::text::{Row, Span};
use crate::theme::{Glyphs, Role};
use crate::ui::draw;
use crate::ui::msg::Cx;

const WORDMARK: [&str; 2] = ["█▀▄▀█ ▄▀█ ▀█▀ █▀█ █ ▀▄▀", "█ ▀ █ █▀█  █  █▀▄ █ █ █"];
const WORDMARK_ASCII: [&str; 2] = ["M A T R I X", ""];

/// Example goals, from small to large.
pub const EXAMPLES: [&str; 3] = [
    "Explain how this repository is organised",
    "Fix the failing tests and say what was wrong",
    "Add a --json flag to every command, with tests and docs",
];

/// Draws the welcome, a little above the middle. What does not fit is left out from the end.
pub fn draw(cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let wordmark = if cx.theme.glyphs == &Glyphs::ASCII { WORDMARK_ASCII } else { WORDMARK };
    let mut rows: Vec<Row> = wordmark.iter().map(|line| Row::of((*line).to_owned(), Role::Brand)).collect();
    rows.push(Row::blank());
    rows.push(Row::of("Describe a goal below and press Enter.", Role::Strong));
    rows.push(Row::of("An agent splits it into tasks, each with its own branch and worktree.", Role::Muted));
    rows.push(Row::blank());
    for (example, number) in EXAMPLES.iter().zip(1..) {
        rows.push(Row::new(vec![
            Span::new(format!(" {number} "), Role::Chip),
            Span::new(format!("  {example}"), Role::Text),
        ]));
        rows.push(Row::blank());
    }
    rows.push(Row::of("A digit takes an example into the composer.", Role::Faint));
    let columns = rows.iter().map(Row::width).max().unwrap_or(0);
    let room = usize::from(area.width).saturating_sub(4);
    let left = room.saturating_sub(columns) / 2;
    let x = area.x + 2 + u16::try_from(left).unwrap_or(0);
    let inner = Rect { x, width: area.right().saturating_sub(x + 1), ..area };
    let from = area.height.saturating_sub(u16::try_from(rows.len()).unwrap_or(0)) / 3;
    for (mut row, y) in rows.into_iter().zip(from..area.height) {
        row.truncate(usize::from(inner.width), cx.theme.glyphs.ellipsis);
        draw::line(buffer, inner, y, &row.line(cx.theme));
    }
}

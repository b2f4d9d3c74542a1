//! The empty screen of a new project: the wordmark, what to do, and example goals. A digit takes one into the composer.
//! Without a model it says how to get one.

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

/// Draws the welcome.
pub fn draw(cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let mut rows = vec![
        Row::of("Describe a goal below and press Enter.", Role::Strong),
        Row::of("An agent splits it into tasks, each with its own branch and worktree.", Role::Muted),
        Row::blank(),
    ];
    for (example, number) in EXAMPLES.iter().zip(1..) {
        rows.push(Row::new(vec![
            Span::new(format!(" {number} "), Role::Chip),
            Span::new(format!("  {example}"), Role::Text),
        ]));
        rows.push(Row::blank());
    }
    rows.push(Row::of("A digit takes an example into the composer.", Role::Faint));
    below_wordmark(rows, cx, area, buffer);
}

/// Draws what to do while no model is set up.
pub fn draw_without_model(cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let rows = vec![
        Row::of("No model is set up yet.", Role::Strong),
        Row::blank(),
        Row::new(vec![
            Span::new("/login", Role::Key),
            Span::new("  sets up a provider, a key and a model", Role::Muted),
        ]),
        Row::of("or set ANTHROPIC_API_KEY or OPENAI_API_KEY and restart.", Role::Muted),
        Row::blank(),
        Row::of("`mxd demo` shows a complete run and needs none.", Role::Faint),
    ];
    below_wordmark(rows, cx, area, buffer);
}

/// Draws rows below the wordmark, a little above the middle. What does not fit is left out from the end.
fn below_wordmark(rows: Vec<Row>, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let wordmark = if cx.theme.glyphs == &Glyphs::ASCII { WORDMARK_ASCII } else { WORDMARK };
    let wordmark = wordmark.iter().map(|line| Row::of((*line).to_owned(), Role::Brand));
    let rows: Vec<Row> = wordmark.chain([Row::blank()]).chain(rows).collect();
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

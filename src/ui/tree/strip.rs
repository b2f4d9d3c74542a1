//! All tasks in one line, where the tree itself is not visible.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::text::width;
use crate::theme::Role;
use crate::ui::draw;
use crate::ui::labels;
use crate::ui::model::Model;
use crate::ui::msg::Cx;

/// The columns of a title that is not selected.
const TITLE: usize = 14;

/// Draws the glyph and title of every task in tree order. The selected task is always visible; where room is short the
/// titles of the others go first.
pub fn strip(model: &Model, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let theme = cx.theme;
    draw::clear(buffer, area, theme, Role::Sidebar);
    let room = usize::from(area.width).saturating_sub(2);
    let with_titles = pieces(model, cx, TITLE);
    let pieces = if total(&with_titles) <= room { with_titles } else { pieces(model, cx, 0) };
    let chosen = pieces.iter().position(|piece| piece.is_selected).unwrap_or(0);
    let mut first = 0;
    while first < chosen && total(&pieces[first..=chosen]) > room {
        first += 1;
    }
    let spans: Vec<Span<'_>> = pieces[first..].iter().flat_map(|piece| piece.spans.clone()).collect();
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
    draw::line(buffer, inner, 0, &draw::cut(&Line::from(spans), room, theme.glyphs));
}

struct Piece {
    spans: Vec<Span<'static>>,
    is_selected: bool,
}

fn total(pieces: &[Piece]) -> usize {
    pieces.iter().flat_map(|piece| &piece.spans).map(|span| width::of(&span.content)).sum()
}

fn pieces(model: &Model, cx: &Cx<'_>, title: usize) -> Vec<Piece> {
    let theme = cx.theme;
    let root = model.project.root();
    let tasks = model.project.walk(root).filter_map(|id| model.project.task(id));
    tasks
        .map(|task| {
            let is_selected = task.node.id == model.selected();
            let (sign, role) = labels::state(task, task.node.id == root, theme.glyphs);
            let name = model.project.title(task.node.id);
            let columns = if is_selected { TITLE.max(20) } else { title };
            let name =
                if columns == 0 { String::new() } else { format!(" {}", draw::fit(&name, columns, theme.glyphs)) };
            let style = theme.style(if is_selected { Role::Strong } else { Role::Muted });
            let gap = if name.is_empty() { " " } else { "   " };
            Piece {
                spans: vec![Span::styled(sign, theme.style(role)), Span::styled(name, style), Span::raw(gap)],
                is_selected,
            }
        })
        .collect()
}

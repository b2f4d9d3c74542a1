//! Drawing of the Asks.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::theme::Role;
use crate::ui::asks::{State, brief, rows};
use crate::ui::msg::Cx;
use crate::ui::paint;
use crate::ui::world::World;

/// Draws the visible rows into `area`. Returns where the cursor of an answer is, if one is being written.
pub fn view(
    state: &State,
    world: &World,
    cx: &Cx<'_>,
    focused: bool,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    if area.is_empty() {
        return None;
    }
    let rows = rows(state, world, cx, usize::from(area.width));
    if rows.is_empty() {
        paint::text(buffer, area, (1, 0), "Nothing waits for you.", cx.theme.style(Role::Muted));
        return None;
    }
    let chosen = state.chosen().map(|(_, id)| id);
    let mut cursor = None;
    for (it, y) in rows.iter().skip(state.top).zip(0..area.height) {
        let line = Rect { y: area.y + y, height: 1, ..area };
        paint::line(buffer, line, 0, &it.row.line(cx.theme));
        let first = !rows.iter().take_while(|row| !std::ptr::eq(*row, it)).any(|row| row.ask == it.ask);
        if Some(it.ask) == chosen && (first || !state.is_open()) {
            let role = if focused { Role::Selection } else { Role::SelectionDim };
            paint::tint(buffer, line, cx.theme.style(role));
        }
        if let Some(column) = it.cursor {
            let x = area.x + u16::try_from(column).unwrap_or(0).min(area.width.saturating_sub(1));
            cursor = Some(Position::new(x, area.y + y));
        }
    }
    paint::scrollbar(buffer, area, cx.theme, state.top, usize::from(area.height), rows.len());
    cursor.filter(|_| focused)
}

/// Says in one line who asks what, and which key leads there.
pub fn strip(state: &State, world: &World, cx: &Cx<'_>, key: &str, area: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    let next = state.next().and_then(|(task, id)| Some((task, world.ask(id)?.1)));
    let Some((task, ask)) = next.filter(|_| !area.is_empty()) else { return };
    let more = match state.len() {
        0 | 1 => String::new(),
        count => format!(" +{}", count - 1),
    };
    let note = format!("{more}  {key} answers ");
    let taken = paint::right(buffer, area, 0, &note, theme.style(Role::Muted));
    let title = world.title(task);
    let room = usize::from(area.width.saturating_sub(taken + 4));
    let line = Line::from(vec![
        Span::styled(format!(" {} ", theme.glyphs.ask), theme.style(Role::Ask)),
        Span::styled(title, theme.style(Role::Strong)),
        Span::styled(format!("  {}", brief(ask)), theme.style(Role::Text)),
    ]);
    paint::line(buffer, area, 0, &paint::cut(&line, room + 3, theme.glyphs));
}

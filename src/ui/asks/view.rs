//! Draws the list of questions, the card, and the line that announces the next one.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::model::Ask;
use crate::theme::Role;
use crate::ui::asks::{State, brief, card_rows, rows, with_count};
use crate::ui::draw;
use crate::ui::field::Field;
use crate::ui::msg::Cx;
use crate::ui::project_state::ProjectState;

/// Draws the visible rows of the list into `area`.
pub fn view(state: &State, project: &ProjectState, cx: &Cx<'_>, focused: bool, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let rows = rows(state, project, cx, usize::from(area.width));
    if rows.is_empty() {
        draw::text(buffer, area, (1, 0), "No open questions.", cx.theme.style(Role::Muted));
        return;
    }
    let chosen = state.chosen().map(|(_, id)| id);
    for (it, y) in rows.iter().skip(state.top).zip(0..area.height) {
        let line = Rect { y: area.y + y, height: 1, ..area };
        draw::line(buffer, line, 0, &it.row.line(cx.theme));
        if Some(it.ask) == chosen {
            let role = if focused { Role::Selection } else { Role::SelectionDim };
            draw::tint(buffer, line, cx.theme.style(role));
        }
    }
    draw::scrollbar(buffer, area, cx.theme, state.top, usize::from(area.height), rows.len());
}

/// Draws a question with its choices and the answer being written. `write` is the key that moves the focus to the card,
/// if it is elsewhere: until then digits choose nothing. Returns the cursor position if the card has the focus.
pub fn card(
    state: &State,
    ask: &Ask,
    cx: &Cx<'_>,
    write: Option<&str>,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let mut cursor = None;
    let is_empty = state.draft(ask.id).is_none_or(Field::is_empty);
    for (it, y) in
        card_rows(state, cx, ask, usize::from(area.width), usize::from(area.height)).iter().zip(0..area.height)
    {
        let number = it.choice.filter(|_| write.is_some()).map(|_| Rect {
            width: 5.min(area.width),
            height: 1,
            y: area.y + y,
            ..area
        });
        if let (Some(key), true, Some(_)) = (write, is_empty, it.cursor) {
            let words = format!(" {} {key} to answer", cx.theme.glyphs.prompt);
            draw::text(buffer, area, (0, y), &words, cx.theme.style(Role::Faint));
        } else {
            draw::line(buffer, area, y, &it.row.line(cx.theme));
        }
        if let Some(number) = number {
            draw::tint(buffer, number, cx.theme.style(Role::Faint));
        }
        if let Some(column) = it.cursor {
            let x = area.x + u16::try_from(column).unwrap_or(0).min(area.width.saturating_sub(1));
            cursor = Some(Position::new(x, area.y + y));
        }
    }
    cursor.filter(|_| write.is_none())
}

/// Draws the next open question in one line, with the key to answer it.
pub fn strip(state: &State, project: &ProjectState, cx: &Cx<'_>, key: &str, area: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    let next = state.next().and_then(|(task, id)| Some((task, project.ask(id)?.1)));
    let Some((task, ask)) = next.filter(|_| !area.is_empty()) else { return };
    let more = match state.len() {
        0 | 1 => String::new(),
        count => format!(" +{}", count - 1),
    };
    let note = format!("{more}  {key} answer ");
    let taken = draw::right(buffer, area, 0, &note, theme.style(Role::Muted));
    let title = project.title(task);
    let room = usize::from(area.width.saturating_sub(taken + 4));
    let line = Line::from(vec![
        Span::styled(format!(" {} ", theme.glyphs.ask), theme.style(Role::Ask)),
        Span::styled(title, theme.style(Role::Strong)),
        Span::styled(format!("  {}", with_count(brief(ask), state, ask.id)), theme.style(Role::Text)),
    ]);
    draw::line(buffer, area, 0, &draw::cut(&line, room + 3, theme.glyphs));
}

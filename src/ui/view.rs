//! Draws the screen: panes, then layers. Read-only; draws only visible rows.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::base::sanitize;
use crate::engine::update::Level;
use crate::text::wrap::{self, Break};
use crate::text::{self as words, width};
use crate::theme::Role;
use crate::ui::action::Action;
use crate::ui::draw::{self, Edge};
use crate::ui::layer::Layer;
use crate::ui::layout::{self, Layout, Pane, Shape};
use crate::ui::model::Model;
use crate::ui::msg::Cx;
use crate::ui::toast::Toast;
use crate::ui::{asks, composer, detail, header, hints, labels, layer, tabs, transcript, tree};

pub fn view(model: &Model, cx: &Cx<'_>, frame: &mut Frame<'_>) {
    let area = frame.area();
    let cursor = draw(model, cx, area, frame.buffer_mut());
    if let Some(cursor) = cursor {
        frame.set_cursor_position(cursor);
    }
}

fn draw(model: &Model, cx: &Cx<'_>, screen: Rect, buffer: &mut Buffer) -> Option<Position> {
    draw::clear(buffer, screen, cx.theme, Role::Background);
    let places = model.layout;
    // Between a resize and its message the layout may be for another size.
    if places.screen != screen || places.shape == Shape::Tiny {
        draw_too_small(model, cx, screen, buffer);
        return None;
    }
    header::view(model, cx, places.header, buffer);
    frames(model, cx, &places, buffer);
    let on_top = model.layers.is_empty();
    let has = |pane: Pane| on_top && model.focus == pane;
    let task = model.project.task(model.selected());
    tree::view(&model.tree, &model.project, cx, has(Pane::Tree), places.tree, buffer);
    asks::strip(&model.asks, &model.project, cx, &model.key_of(Action::NextAsk), places.strip, buffer);
    asks::view(&model.asks, &model.project, cx, has(Pane::Asks), places.asks, buffer);
    let end = model.key_of(Action::Bottom);
    let read_only = model.settings.read_only.is_some();
    let has_model = model.project.info.model.is_some() || task.is_some_and(|task| task.model.is_some());
    let responder = match (read_only, has_model) {
        (true, _) => transcript::Responder::Elsewhere,
        (false, true) => transcript::Responder::Model,
        (false, false) => transcript::Responder::Nobody,
    };
    let send = model.key_of(Action::SendReview);
    let with = detail::With {
        transcript: transcript::View { task, focused: has(Pane::Detail), end: &end, responder },
        review: &model.review,
        send: &send,
        project: &model.project,
    };
    let remark = detail::view(&model.detail, with, cx, places.detail, buffer);
    let withdraw = model.key_of(Action::Withdraw);
    let stuck_reason = model.stuck_reason();
    let with = composer::View {
        task,
        focused: has(Pane::Composer),
        withdraw: &withdraw,
        read_only,
        stuck_reason: stuck_reason.as_deref(),
    };
    let written = match model.card().and_then(|(_, id)| model.project.ask(id)) {
        Some((_, ask)) => asks::card(&model.asks, ask, cx, has(Pane::Composer), places.composer, buffer),
        None => composer::view(&model.composer, &with, cx, places.composer, buffer),
    };
    hints::view(model, cx, places.hints, buffer);
    if has(Pane::Composer) {
        completion(model, cx, &places, buffer);
    }
    let mut cursor = written.or(remark);
    for (layer, above) in model.layers.iter().zip((0..model.layers.len()).rev()) {
        // Two boxes on top of each other are hard to read; this one is shown again when the other closes.
        if above == 0 || !layer.is_hidden_below() {
            cursor = layer::view(layer, model, cx, screen, buffer);
        }
    }
    toasts(model, cx, &places, buffer);
    hints::following(model, cx, screen, buffer);
    cursor
}

/// Draws that the screen is too small, plus open questions and running agents.
fn draw_too_small(model: &Model, cx: &Cx<'_>, screen: Rect, buffer: &mut Buffer) {
    let (columns, rows) = layout::MIN_SIZE;
    let total = model.project.total();
    let glyphs = cx.theme.glyphs;
    let mut lines = Vec::new();
    if let Some(Layer::Confirm(confirm)) = model.layers.last() {
        let key = |action| model.key_of(action);
        lines.push((confirm.title.clone(), Role::Ask));
        lines.push((format!("{} yes, {} no", key(Action::Yes), key(Action::No)), Role::Text));
    } else {
        lines.push(("Terminal too small:".to_owned(), Role::Text));
        lines.push((format!("{}x{}. Need {columns}x{rows}.", screen.width, screen.height), Role::Text));
    }
    if total.asks > 0 {
        let word = if total.asks == 1 { "question" } else { "questions" };
        lines.push((format!("{} {} {word}", glyphs.ask, total.asks), Role::Ask));
    }
    if total.working > 0 {
        lines.push((format!("{} {} working", glyphs.working, total.working), Role::Working));
    }
    lines.push((format!("{}: quit", model.key_of(Action::Quit)), Role::Muted));
    let rows = lines.into_iter().flat_map(|(text, role)| {
        wrap::spans(&[words::Span::new(text, role)], usize::from(screen.width).max(1), &[], &[], Break::Words)
    });
    for (row, y) in rows.zip(0..screen.height) {
        draw::line(buffer, screen, y, &row.line(cx.theme));
    }
}

fn edge(focused: bool) -> Edge {
    if focused { Edge::Focused } else { Edge::Quiet }
}

fn frames(model: &Model, cx: &Cx<'_>, places: &Layout, buffer: &mut Buffer) {
    if places.shape == Shape::Tabs {
        tabs::view(model, cx, places.tabs, buffer);
        let line = places.composer_rule;
        let focused = model.focus == Pane::Composer;
        let style = cx.theme.style(if focused { Role::BorderFocus } else { Role::Border });
        for x in line.x..line.right() {
            buffer.set_string(x, line.y, cx.theme.glyphs.rule, style);
        }
        let note =
            model.project.task(model.selected()).map(|task| detail::head_note(task, cx, usize::from(line.width)));
        let note = note.unwrap_or_default();
        draw::heading_line(buffer, line, style, &composer_title(model, cx, line, &note), &note, cx.theme);
        return;
    }
    let on_top = model.layers.is_empty();
    let left_focus = on_top && matches!(model.focus, Pane::Tree | Pane::Asks);
    if places.left.width > 0 {
        let note = tree_note(model, cx);
        draw::frame(buffer, places.left, cx.theme, edge(left_focus), &Line::from("tasks"), &note);
        if on_top && model.focus == Pane::Asks {
            // Tree and asks share the frame; the title shows which has the focus.
            draw_title(cx, places.left, "tasks", buffer);
        }
    }
    if places.asks_rule.height > 0 {
        let title = Line::from("asks");
        let count = Line::from(Span::styled(model.asks.len().to_string(), cx.theme.style(Role::Ask)));
        rule(cx, places.asks_rule, left_focus, on_top && model.focus == Pane::Asks, &title, &count, buffer);
    }
    let right_focus = on_top && matches!(model.focus, Pane::Detail | Pane::Composer);
    let (title, note) = detail_title(model, cx, places.right);
    draw::frame(buffer, places.right, cx.theme, edge(right_focus), &title, &note);
    let task_tab_line = tabs::task_tab_line(model, cx);
    let title = composer_title(model, cx, places.composer_rule, &task_tab_line);
    rule(cx, places.composer_rule, right_focus, false, &title, &task_tab_line, buffer);
}

/// Returns the title of the composer: who asks, or how a message is delivered.
fn composer_title<'a>(model: &Model, cx: &Cx<'_>, line: Rect, note: &Line<'_>) -> Line<'a> {
    let Some((task, id)) = model.card() else { return delivery_line(model, cx, line, note) };
    let place = model.asks.items().iter().position(|(_, item)| *item == id).unwrap_or(0) + 1;
    let count = match model.asks.len() {
        0 | 1 => String::new(),
        count => format!("  {place} of {count}"),
    };
    let room = usize::from(line.width).saturating_sub(note.width() + width::of(&count) + 16);
    let title = width::truncate(&model.project.title(task), room.max(8), width::Cut::End, cx.theme.glyphs.ellipsis)
        .into_owned();
    Line::from(vec![
        Span::styled(format!("{} ", cx.theme.glyphs.ask), cx.theme.style(Role::Ask)),
        Span::styled(title, cx.theme.style(Role::Title)),
        Span::styled(" asks", cx.theme.style(Role::Ask)),
        Span::styled(count, cx.theme.style(Role::Muted)),
    ])
}

/// Returns the delivery mode of the message being written to a running agent, with the key that changes it. Shortened
/// if `note` leaves no room.
fn delivery_line<'a>(model: &Model, cx: &Cx<'_>, line: Rect, note: &Line<'_>) -> Line<'a> {
    let task = model.project.task(model.selected()).filter(|task| task.alive || task.is_working());
    let writes = model.layers.is_empty() && model.focus == Pane::Composer;
    if task.is_none() || !writes || model.settings.read_only.is_some() {
        return Line::default();
    }
    let mode = model.composer.mode;
    let styled = |words: String| {
        Line::from(vec![
            Span::styled(model.key_of(Action::CycleMode), cx.theme.style(Role::Key)),
            Span::styled(words, cx.theme.style(Role::Muted)),
        ])
    };
    let whole = styled(format!(" {}: {}", labels::delivery(mode), labels::delivery_time(mode)));
    if whole.width() + note.width() + 9 <= usize::from(line.width) {
        whole
    } else {
        styled(format!(" {}", labels::delivery(mode)))
    }
}

fn draw_title(cx: &Cx<'_>, area: Rect, title: &str, buffer: &mut Buffer) {
    buffer.set_string(area.x + 2, area.y, title, cx.theme.style(Role::Title));
}

/// Draws a rule with a title across a frame.
fn rule(
    cx: &Cx<'_>,
    area: Rect,
    frame_focused: bool,
    focused: bool,
    title: &Line<'_>,
    note: &Line<'_>,
    buffer: &mut Buffer,
) {
    if area.width < 2 || area.height == 0 {
        return;
    }
    let glyphs = cx.theme.glyphs;
    let style = cx.theme.style(if frame_focused { Role::BorderFocus } else { Role::Border });
    for x in area.x + 1..area.right() - 1 {
        buffer.set_string(x, area.y, glyphs.rule, style);
    }
    buffer.set_string(area.x, area.y, glyphs.tee_right, style);
    buffer.set_string(area.right() - 1, area.y, glyphs.tee_left, style);
    let heading = cx.theme.style(if focused { Role::TitleFocus } else { Role::Title });
    draw::heading_line(buffer, area, heading, title, note, cx.theme);
}

fn tree_note<'a>(model: &Model, cx: &Cx<'_>) -> Line<'a> {
    Line::from(Span::styled(model.tree.note(), cx.theme.style(Role::Warn)))
}

fn detail_title<'a>(model: &Model, cx: &Cx<'_>, area: Rect) -> (Line<'a>, Line<'a>) {
    let Some(task) = model.project.task(model.selected()) else { return (Line::default(), Line::default()) };
    let title = sanitize::line(&task.node.title).into_owned();
    let title = if title.trim().is_empty() { "untitled".to_owned() } else { title };
    let room = usize::from(area.width).saturating_sub(width::of(&title).min(usize::from(area.width) / 2) + 10);
    (Line::from(title), detail::head_note(task, cx, room))
}

/// Draws the completion popup.
fn completion(model: &Model, cx: &Cx<'_>, places: &Layout, buffer: &mut Buffer) {
    let Some(popup) = &model.composer.popup else { return };
    let theme = cx.theme;
    let area = composer::popup_area(popup, places.screen, places.composer);
    if area.height < 3 {
        return;
    }
    draw::clear(buffer, area, theme, Role::Popup);
    let inner = draw::frame(buffer, area, theme, Edge::Focused, &Line::default(), &Line::default());
    let height = usize::from(inner.height);
    let top = (popup.cursor.chosen + 1).saturating_sub(height);
    for ((at, offer), y) in popup.offers.iter().enumerate().skip(top).zip(0..inner.height) {
        let row = Rect { y: inner.y + y, height: 1, ..inner };
        let label = width::truncate(
            &offer.label,
            usize::from(row.width).saturating_sub(2),
            width::Cut::Middle,
            theme.glyphs.ellipsis,
        );
        let end = draw::text(buffer, row, (1, 0), &label, theme.style(Role::Text));
        let room = usize::from(row.right().saturating_sub(end + 3));
        let note = draw::fit(&offer.note, room, theme.glyphs);
        draw::right(buffer, Rect { width: row.width.saturating_sub(1), ..row }, 0, &note, theme.style(Role::Muted));
        if at == popup.cursor.chosen {
            draw::tint(buffer, row, theme.style(Role::Selection));
        }
    }
}

/// Draws toasts in the upper right corner, the newest lowest. With an open layer they are at the bottom, because the
/// input of a layer is at its top.
fn toasts(model: &Model, cx: &Cx<'_>, places: &Layout, buffer: &mut Buffer) {
    let theme = cx.theme;
    let screen = places.screen;
    let most = usize::from(screen.width).saturating_sub(8).min(60);
    let mut boxes: Vec<_> = model.toasts.iter().map(|toast| toast_rows(toast, most)).collect();
    let last = screen.bottom().saturating_sub(1);
    let mut y = screen.y + 2;
    if !model.layers.is_empty() {
        // If not all fit, keep the newest.
        let high = |boxes: &[Vec<words::Row>]| boxes.iter().map(|rows| rows.len() + 2).sum::<usize>();
        while high(&boxes) > usize::from(last.saturating_sub(y)) && !boxes.is_empty() {
            boxes.remove(0);
        }
        y = last.saturating_sub(u16::try_from(high(&boxes)).unwrap_or(u16::MAX));
    }
    for rows in &boxes {
        let wide = rows.iter().map(words::Row::width).max().unwrap_or(0);
        let wide = u16::try_from(wide + 4).unwrap_or(u16::MAX).min(screen.width);
        let high = u16::try_from(rows.len() + 2).unwrap_or(u16::MAX);
        let area = Rect { x: screen.right() - wide - 1, y, width: wide, height: high };
        if area.bottom() > last {
            break;
        }
        draw::clear(buffer, area, theme, Role::Popup);
        let inner = draw::frame(buffer, area, theme, Edge::Quiet, &Line::default(), &Line::default());
        for (row, at) in rows.iter().zip(0..inner.height) {
            let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(1), ..inner };
            draw::line(buffer, inner, at, &row.line(theme));
        }
        y = area.bottom();
    }
}

fn toast_rows(toast: &Toast, most: usize) -> Vec<words::Row> {
    let role = match toast.level {
        Level::Info => Role::Text,
        Level::Warning => Role::Warn,
        Level::Error => Role::Error,
    };
    let text = width::visible(&toast.text);
    let lines = text.lines();
    let rows =
        lines.flat_map(|line| wrap::spans(&[words::Span::new(line.to_owned(), role)], most, &[], &[], Break::Words));
    rows.take(6).collect()
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;

//! Drawing of the screen: panes, then what lies above them. Changes nothing; draws only what is visible.

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
use crate::ui::layer::Layer;
use crate::ui::layout::{self, Layout, Pane, Shape};
use crate::ui::model::Model;
use crate::ui::msg::Cx;
use crate::ui::paint::{self, Edge};
use crate::ui::toast::Toast;
use crate::ui::{asks, composer, detail, header, hints, layer, tabs, transcript, tree, words as say};

/// Draws everything.
pub fn view(model: &Model, cx: &Cx<'_>, frame: &mut Frame<'_>) {
    let area = frame.area();
    let cursor = draw(model, cx, area, frame.buffer_mut());
    if let Some(cursor) = cursor {
        frame.set_cursor_position(cursor);
    }
}

fn draw(model: &Model, cx: &Cx<'_>, screen: Rect, buffer: &mut Buffer) -> Option<Position> {
    paint::clear(buffer, screen, cx.theme, Role::Background);
    let places = model.layout;
    // Between a resize and the message about it the places may be those of another screen.
    if places.screen != screen || places.shape == Shape::Tiny {
        tiny(model, cx, screen, buffer);
        return None;
    }
    header::view(model, cx, places.header, buffer);
    frames(model, cx, &places, buffer);
    let on_top = model.layers.is_empty();
    let has = |pane: Pane| on_top && model.focus == pane;
    let task = model.world.task(model.selected());
    tree::view(&model.tree, &model.world, cx, has(Pane::Tree), places.tree, buffer);
    asks::strip(&model.asks, &model.world, cx, &model.key_of(Action::NextAsk), places.strip, buffer);
    let answer = asks::view(&model.asks, &model.world, cx, has(Pane::Asks), places.asks, buffer);
    let end = model.key_of(Action::Bottom);
    let looks_on = model.settings.read_only.is_some();
    let has_model = model.world.project.model.is_some() || task.is_some_and(|task| task.model.is_some());
    let company = match (looks_on, has_model) {
        (true, _) => transcript::Company::Elsewhere,
        (false, true) => transcript::Company::Model,
        (false, false) => transcript::Company::Nobody,
    };
    let send = model.key_of(Action::SendReview);
    let with = detail::With {
        transcript: transcript::View { task, focused: has(Pane::Detail), end: &end, company },
        review: &model.review,
        send: &send,
        world: &model.world,
    };
    let remark = detail::view(&model.detail, with, cx, places.detail, buffer);
    let withdraw = model.key_of(Action::Withdraw);
    let plight = model.plight();
    let with =
        composer::View { task, focused: has(Pane::Composer), withdraw: &withdraw, looks_on, plight: plight.as_deref() };
    let written = composer::view(&model.composer, &with, cx, places.composer, buffer);
    hints::view(model, cx, places.hints, buffer);
    if has(Pane::Composer) {
        completion(model, cx, &places, buffer);
    }
    let mut cursor = written.or(answer.filter(|_| model.asks.is_writing())).or(remark);
    for (layer, above) in model.layers.iter().zip((0..model.layers.len()).rev()) {
        // Two boxes in the same place are harder to read than one; this one is there again when the other is gone.
        if above == 0 || !layer.gives_way() {
            cursor = layer::view(layer, model, cx, screen, buffer);
        }
    }
    toasts(model, cx, &places, buffer);
    hints::following(model, cx, screen, buffer);
    cursor
}

/// Says politely that nothing fits, and what must be known all the same.
fn tiny(model: &Model, cx: &Cx<'_>, screen: Rect, buffer: &mut Buffer) {
    let (columns, rows) = layout::LEAST;
    let total = model.world.total();
    let glyphs = cx.theme.glyphs;
    let mut lines = Vec::new();
    if let Some(Layer::Confirm(confirm)) = model.layers.last() {
        let key = |action| model.key_of(action);
        lines.push((confirm.title.clone(), Role::Ask));
        lines.push((format!("{} yes, {} no", key(Action::Yes), key(Action::No)), Role::Text));
    } else {
        lines.push((format!("{}x{} is too small:", screen.width, screen.height), Role::Text));
        lines.push((format!("Matrix needs {columns}x{rows}."), Role::Text));
    }
    if total.asks > 0 {
        let word = if total.asks == 1 { "asks you" } else { "ask you" };
        lines.push((format!("{} {} {word}", glyphs.ask, total.asks), Role::Ask));
    }
    if total.working > 0 {
        lines.push((format!("{} {} working", glyphs.working, total.working), Role::Working));
    }
    lines.push((format!("{} quits.", model.key_of(Action::Quit)), Role::Muted));
    let rows = lines.into_iter().flat_map(|(text, role)| {
        wrap::spans(&[words::Span::new(text, role)], usize::from(screen.width).max(1), &[], &[], Break::Words)
    });
    for (row, y) in rows.zip(0..screen.height) {
        paint::line(buffer, screen, y, &row.line(cx.theme));
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
        let note = model.world.task(model.selected()).map(|task| detail::head_note(task, cx, usize::from(line.width)));
        let note = note.unwrap_or_default();
        paint::heading_line(buffer, line, style, &sending(model, cx, line, &note), &note, cx.theme);
        return;
    }
    let on_top = model.layers.is_empty();
    let left_focus = on_top && matches!(model.focus, Pane::Tree | Pane::Asks);
    if places.left.width > 0 {
        let note = tree_note(model, cx);
        paint::frame(buffer, places.left, cx.theme, edge(left_focus), &Line::from("tasks"), &note);
        if on_top && model.focus == Pane::Asks {
            // The frame is shared; the title says which part has the keys.
            retitle(cx, places.left, "tasks", buffer);
        }
    }
    if places.asks_rule.height > 0 {
        let title = Line::from("asks");
        let count = Line::from(Span::styled(model.asks.len().to_string(), cx.theme.style(Role::Ask)));
        rule(cx, places.asks_rule, left_focus, on_top && model.focus == Pane::Asks, &title, &count, buffer);
    }
    let right_focus = on_top && matches!(model.focus, Pane::Detail | Pane::Composer);
    let (title, note) = detail_title(model, cx, places.right);
    paint::frame(buffer, places.right, cx.theme, edge(right_focus), &title, &note);
    let beside = tabs::beside(model, cx);
    let title = sending(model, cx, places.composer_rule, &beside);
    rule(cx, places.composer_rule, right_focus, false, &title, &beside, buffer);
}

/// Says while a message is being written to an agent at work when it will be read, and which key changes that; in a word
/// where `note` leaves no more room on the line.
fn sending<'a>(model: &Model, cx: &Cx<'_>, line: Rect, note: &Line<'_>) -> Line<'a> {
    let task = model.world.task(model.selected()).filter(|task| task.alive || task.is_working());
    let writes = model.layers.is_empty() && model.focus == Pane::Composer;
    if task.is_none() || !writes || model.settings.read_only.is_some() {
        return Line::default();
    }
    let mode = model.composer.mode;
    let said = |words: String| {
        Line::from(vec![
            Span::styled(model.key_of(Action::CycleMode), cx.theme.style(Role::Key)),
            Span::styled(words, cx.theme.style(Role::Muted)),
        ])
    };
    let whole = said(format!(" {}: {}", say::mode(mode), say::mode_means(mode)));
    if whole.width() + note.width() + 9 <= usize::from(line.width) {
        whole
    } else {
        said(format!(" {}", say::mode(mode)))
    }
}

fn retitle(cx: &Cx<'_>, area: Rect, title: &str, buffer: &mut Buffer) {
    buffer.set_string(area.x + 2, area.y, title, cx.theme.style(Role::Title));
}

/// Draws a line across a frame, with its own title.
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
    paint::heading_line(buffer, area, heading, title, note, cx.theme);
}

fn tree_note<'a>(model: &Model, cx: &Cx<'_>) -> Line<'a> {
    Line::from(Span::styled(model.tree.note(), cx.theme.style(Role::Warn)))
}

fn detail_title<'a>(model: &Model, cx: &Cx<'_>, area: Rect) -> (Line<'a>, Line<'a>) {
    let Some(task) = model.world.task(model.selected()) else { return (Line::default(), Line::default()) };
    let title = sanitize::line(&task.node.title).into_owned();
    let title = if title.trim().is_empty() { "untitled".to_owned() } else { title };
    let room = usize::from(area.width).saturating_sub(width::of(&title).min(usize::from(area.width) / 2) + 10);
    (Line::from(title), detail::head_note(task, cx, room))
}

/// Offers how to go on with what is being written.
fn completion(model: &Model, cx: &Cx<'_>, places: &Layout, buffer: &mut Buffer) {
    let Some(popup) = &model.composer.popup else { return };
    let theme = cx.theme;
    let area = composer::popup_area(popup, places.screen, places.composer);
    if area.height < 3 {
        return;
    }
    paint::clear(buffer, area, theme, Role::Popup);
    let inner = paint::frame(buffer, area, theme, Edge::Focused, &Line::default(), &Line::default());
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
        let end = paint::text(buffer, row, (1, 0), &label, theme.style(Role::Text));
        let room = usize::from(row.right().saturating_sub(end + 3));
        let note = paint::fit(&offer.note, room, theme.glyphs);
        paint::right(buffer, Rect { width: row.width.saturating_sub(1), ..row }, 0, &note, theme.style(Role::Muted));
        if at == popup.cursor.chosen {
            paint::tint(buffer, row, theme.style(Role::Selection));
        }
    }
}

/// Draws short words in the upper right corner, the newest lowest; over a layer above the bottom line, because what is
/// typed into one stands at its top.
fn toasts(model: &Model, cx: &Cx<'_>, places: &Layout, buffer: &mut Buffer) {
    let theme = cx.theme;
    let screen = places.screen;
    let most = usize::from(screen.width).saturating_sub(8).min(60);
    let mut boxes: Vec<_> = model.toasts.iter().map(|toast| toast_rows(toast, most)).collect();
    let last = screen.bottom().saturating_sub(1);
    let mut y = screen.y + 2;
    if !model.layers.is_empty() {
        // Where not all fit, the newest do.
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
        paint::clear(buffer, area, theme, Role::Popup);
        let inner = paint::frame(buffer, area, theme, Edge::Quiet, &Line::default(), &Line::default());
        for (row, at) in rows.iter().zip(0..inner.height) {
            let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(1), ..inner };
            paint::line(buffer, inner, at, &row.line(theme));
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

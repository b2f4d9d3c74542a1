//! Draws the screen: panes, then layers. Read-only; draws only visible rows.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::text::wrap::{self, Break};
use crate::text::{self as words, width};
use crate::theme::Role;
use crate::ui::action::Action;
use crate::ui::detail::Tab;
use crate::ui::draw;
use crate::ui::layer::{ConfirmedAction, Layer};
use crate::ui::layout::{self, Layout, Pane, Shape};
use crate::ui::model::Model;
use crate::ui::msg::Cx;
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
    surfaces(model, cx, &places, buffer);
    let on_top = model.layers.is_empty();
    let has = |pane: Pane| on_top && model.focus == pane;
    let task = model.project.task(model.selected());
    let with = tree::With { project: &model.project, live: &model.live_lines, focused: has(Pane::Tree) };
    let end = tree::view(&model.tree, with, cx, places.tree, buffer);
    let left_over = places.news.bottom().max(places.tree.bottom()).saturating_sub(end);
    tree::news(model, cx, Rect { y: end, height: left_over, ..places.tree }, buffer);
    asks::strip(&model.asks, &model.project, cx, &model.key_of(Action::NextAsk), places.strip, buffer);
    asks::view(&model.asks, &model.project, cx, has(Pane::Asks), places.asks, buffer);
    let read_only = model.settings.read_only.is_some();
    let remark = pages(model, cx, &places, has(Pane::Detail), buffer);
    let withdraw = model.key_of(Action::Withdraw);
    let stuck_reason = model.stuck_reason();
    let with = composer::View {
        task,
        focused: has(Pane::Composer),
        withdraw: &withdraw,
        read_only,
        suggestion: model.suggestion(),
        stuck_reason: stuck_reason.as_deref(),
    };
    let written = match model.card().and_then(|(_, id)| model.project.ask(id)) {
        Some((_, ask)) => {
            let write = (!has(Pane::Composer)).then(|| model.key_of(Action::Write));
            asks::card(&model.asks, ask, cx, write.as_deref(), places.composer, buffer)
        }
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
    notices(model, cx, places.notices, buffer);
    hints::following(model, cx, screen, buffer);
    cursor
}

/// Draws the open tab, and the third column if there is one. Returns the cursor position if the user writes there.
fn pages(model: &Model, cx: &Cx<'_>, places: &Layout, focused: bool, buffer: &mut Buffer) -> Option<Position> {
    let task = model.project.task(model.selected());
    let has_model = model.project.info.model.is_some() || task.is_some_and(|task| task.model.is_some());
    let responder = match (model.settings.read_only.is_some(), has_model) {
        (true, _) => transcript::Responder::Elsewhere,
        (false, true) => transcript::Responder::Model,
        (false, false) => transcript::Responder::Nobody,
    };
    let (end, send) = (model.key_of(Action::Bottom), model.key_of(Action::SendReview));
    let is_writing = model.focus == Pane::Composer;
    let keys = detail::summary::Keys {
        diff: model.key_of(Action::ShowDiff),
        merge: model.key_of(Action::Merge),
        rewind: model.key_of(Action::Rewind),
        board: model.key_of(Action::Dashboard),
        leave: is_writing.then(|| model.key_of(Action::Back)),
    };
    let side = model.side_tab();
    let tabs = match side {
        Some(page) => vec![(Tab::Transcript, places.detail), (page, places.page)],
        None => vec![(model.detail.tab, places.detail)],
    };
    let mut cursor = None;
    for (tab, area) in tabs {
        let with = detail::With {
            transcript: transcript::View { task, focused: focused && tab == model.detail.tab, end: &end, responder },
            review: &model.review,
            send: &send,
            keys: &keys,
            project: &model.project,
        };
        cursor = cursor.or(detail::view(&model.detail, tab, with, cx, area, buffer));
    }
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
        let keys = match confirm.action {
            ConfirmedAction::KeepOrStop(_) => {
                let (keep, stop, no) = (key(Action::KeepWorking), key(Action::StopAgents), key(Action::No));
                format!("{keep} keep working, {stop} stop, {no} cancel")
            }
            ConfirmedAction::Interrupt => format!("{} interrupts", key(Action::InterruptRest)),
            ConfirmedAction::Command(_) | ConfirmedAction::Quit | ConfirmedAction::Leave(_) => {
                format!("{} yes, {} no", key(Action::Yes), key(Action::No))
            }
        };
        lines.push((keys, Role::Text));
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

/// Draws what the panes lie on: surfaces, headings and the lines between them.
fn surfaces(model: &Model, cx: &Cx<'_>, places: &Layout, buffer: &mut Buffer) {
    let on_top = model.layers.is_empty();
    let writes = on_top && model.focus == Pane::Composer;
    match places.shape {
        Shape::Tabs => {
            tabs::view(model, cx, places.tabs, buffer);
            tree::strip(model, cx, places.tasks, buffer);
        }
        Shape::Wide => {
            sidebar(model, cx, places, buffer);
            for y in places.side_divider.y..places.side_divider.bottom() {
                buffer.set_string(places.side_divider.x, y, cx.theme.glyphs.vertical, cx.theme.style(Role::Border));
            }
            tabs::heading(model, cx, buffer);
        }
        Shape::Tiny => return,
    }
    let field = Rect { height: places.composer.height + 1, ..places.composer_rule };
    draw::clear(buffer, field, cx.theme, Role::Field);
    let note = match places.shape {
        Shape::Wide => Line::default(),
        Shape::Tabs | Shape::Tiny => model
            .project
            .task(model.selected())
            .map(|task| detail::head_note(task, cx, usize::from(field.width)))
            .unwrap_or_default(),
    };
    let title = composer_title(model, cx, places.composer_rule, &note);
    let role = if writes { Role::BorderFocus } else { Role::Border };
    rule(cx, places.composer_rule, role, &title, &note, buffer);
}

fn sidebar(model: &Model, cx: &Cx<'_>, places: &Layout, buffer: &mut Buffer) {
    if places.left.width == 0 {
        return;
    }
    draw::clear(buffer, places.left, cx.theme, Role::Sidebar);
    let focused = |pane: Pane| model.layers.is_empty() && model.focus == pane;
    let role = |pane: Pane| if focused(pane) { Role::TitleFocus } else { Role::Title };
    let heading = Layout::heading_of(places.left);
    draw::text(buffer, heading, (1, 0), "Tasks", cx.theme.style(role(Pane::Tree)));
    let inner = Rect { width: heading.width.saturating_sub(1), ..heading };
    draw::right(buffer, inner, 0, &model.tree.note(), cx.theme.style(Role::Warn));
    if places.asks_rule.height > 0 {
        let border = cx.theme.style(Role::Border);
        let inner =
            Rect { x: places.asks_rule.x + 1, width: places.asks_rule.width.saturating_sub(2), ..places.asks_rule };
        for x in inner.x..inner.right() {
            buffer.set_string(x, inner.y, cx.theme.glyphs.rule, border);
        }
        draw::text(buffer, inner, (0, 0), "Questions ", cx.theme.style(role(Pane::Asks)));
        let count = model.asks.len().to_string();
        let taken = draw::right(buffer, inner, 0, &count, cx.theme.style(Role::Ask));
        let before = Rect { width: inner.width.saturating_sub(taken), ..inner };
        draw::right(buffer, before, 0, " ", border);
    }
    for y in places.divider.y..places.divider.bottom() {
        buffer.set_string(places.divider.x, y, cx.theme.glyphs.vertical, cx.theme.style(Role::Border));
    }
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

/// Draws the line above the composer, with a title on the left and a note on the right.
fn rule(cx: &Cx<'_>, area: Rect, role: Role, title: &Line<'_>, note: &Line<'_>, buffer: &mut Buffer) {
    let style = cx.theme.style(role);
    for x in area.x..area.right() {
        buffer.set_string(x, area.y, cx.theme.glyphs.rule, style);
    }
    draw::heading_line(buffer, area, cx.theme.style(Role::Title), title, note, cx.theme);
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
    let inner = draw::frame(buffer, area, theme, &Line::default(), &Line::default());
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

/// Draws the notices into the rows that the layout keeps for them.
fn notices(model: &Model, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    draw::clear(buffer, area, cx.theme, Role::Popup);
    let rows = model.toasts.rows(area.width);
    let skipped = rows.len().saturating_sub(usize::from(area.height));
    let inner = Rect { x: area.x + 2, width: area.width.saturating_sub(2), ..area };
    for (row, y) in rows.iter().skip(skipped).zip(0..area.height) {
        draw::line(buffer, inner, y, &row.line(cx.theme));
    }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;

//! Draws layers.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::text::wrap::{self, Break};
use crate::text::{self as words, width};
use crate::theme::Role;
use crate::ui::action::Action;
use crate::ui::draw;
use crate::ui::field::Field;
use crate::ui::layer::{
    Board, BoardKind, Chooser, ChooserAction, Confirm, ConfirmedAction, Layer, Prompt, board_view, brief_view,
    find_view, merge_view, rewind_view,
};
use crate::ui::model::Model;
use crate::ui::msg::Cx;

/// Draws a layer over `screen`. Returns the cursor position if the layer has a text input.
pub fn view(layer: &Layer, model: &Model, cx: &Cx<'_>, screen: Rect, buffer: &mut Buffer) -> Option<Position> {
    match layer {
        Layer::Choose(chooser) => Some(choose(chooser, cx, screen, buffer)),
        Layer::Search(find) => Some(find_view::view(find, cx, screen, buffer)),
        Layer::Prompt(prompt) => Some(self::prompt(prompt, cx, screen, buffer)),
        Layer::Brief(brief) => brief_view::view(brief, model, cx, screen, buffer),
        Layer::Confirm(confirm) => {
            self::confirm(confirm, model, cx, screen, buffer);
            None
        }
        Layer::Board(board) => {
            self::board(board, model, cx, screen, buffer);
            None
        }
        Layer::Merge(merge) => {
            merge_view::view(merge, model, cx, screen, buffer);
            None
        }
        Layer::Rewind(picker) => {
            rewind_view::view(picker, model, cx, screen, buffer);
            None
        }
    }
}

/// Returns a centred area in the upper part of the screen.
pub(super) fn centred(screen: Rect, columns: u16, rows: u16) -> Rect {
    let wide = columns.min(screen.width.saturating_sub(2));
    let high = rows.min(screen.height.saturating_sub(2));
    let x = screen.x + (screen.width - wide) / 2;
    let y = screen.y + (screen.height.saturating_sub(high)) / 3;
    Rect { x, y, width: wide, height: high }
}

pub(super) fn open(area: Rect, title: &str, cx: &Cx<'_>, buffer: &mut Buffer) -> Rect {
    draw::clear(buffer, area, cx.theme, Role::Popup);
    draw::frame(buffer, area, cx.theme, &Line::from(title.to_owned()), &Line::default())
}

pub(super) fn input(field: &Field, placeholder: &str, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) -> Position {
    let theme = cx.theme;
    draw::text(buffer, area, (1, 0), theme.glyphs.prompt, theme.style(Role::Accent));
    let inner = Rect { x: area.x + 3, width: area.width.saturating_sub(4), height: 1, ..area };
    if field.is_empty() {
        let placeholder = draw::fit(placeholder, usize::from(inner.width), theme.glyphs);
        draw::text(buffer, inner, (0, 0), &placeholder, theme.style(Role::Placeholder));
        return Position::new(inner.x, inner.y);
    }
    let room = usize::from(inner.width).saturating_sub(1);
    let before = width::visible(&field.shown()[..field.cursor()]).into_owned();
    let shown = width::suffix(&before, room).0.to_owned();
    let column = width::of(&shown);
    let after = width::visible(&field.shown()[field.cursor()..]).into_owned();
    draw::text(buffer, inner, (0, 0), &format!("{shown}{after}"), theme.style(Role::Text));
    Position::new(inner.x + u16::try_from(column).unwrap_or(0), inner.y)
}

/// The area of a list and its first visible line.
struct Place {
    frame: Rect,
    list: Rect,
    lines: Vec<Shown>,
    top: usize,
}

fn chooser_layout(chooser: &Chooser, screen: Rect) -> Place {
    let lines = lines(chooser);
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX).clamp(3, 24);
    let frame = centred(screen, 84, rows + 4);
    let list = Rect {
        x: frame.x + 1,
        y: frame.y + 3,
        width: frame.width.saturating_sub(2),
        height: frame.height.saturating_sub(4),
    };
    let height = usize::from(list.height);
    let is_chosen = |line: &Shown| matches!(line, Shown::Item(at) if *at == chooser.cursor.chosen);
    let chosen = lines.iter().position(is_chosen).unwrap_or(0);
    let top = (chosen + 1 + height / 6).saturating_sub(height).min(lines.len().saturating_sub(height));
    Place { frame, list, lines, top }
}

/// The target of a click on a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerHit {
    Line(usize),
    /// A button of a confirmation.
    Button(Action),
    /// On the layer, but on nothing that can be clicked.
    Nothing,
    Outside,
}

/// Returns the target of a click while `layer` is on top.
pub fn hit(layer: &Layer, model: &Model, cx: &Cx<'_>, screen: Rect, at: Position) -> LayerHit {
    let within = |area: Rect, line: Option<usize>| match line {
        Some(line) => LayerHit::Line(line),
        None if area.contains(at) => LayerHit::Nothing,
        None => LayerHit::Outside,
    };
    match layer {
        Layer::Choose(chooser) => within(chooser_layout(chooser, screen).frame, item_at(chooser, screen, at)),
        Layer::Search(find) => within(find_view::frame(screen), find_view::hit_at(find, screen, at)),
        Layer::Prompt(_) => within(centred(screen, 72, 4), None),
        Layer::Brief(_) => within(brief_view::frame(screen), None),
        Layer::Board(board) if board.kind == BoardKind::Agents => {
            within(board_view::area(screen), board_view::card_at(board, screen, at))
        }
        Layer::Board(board) => {
            let (area, list, top) = settings_place(board, screen);
            let line = list.contains(at).then(|| top + usize::from(at.y - list.y)).filter(|line| *line < board.len);
            within(area, line)
        }
        // The merge and rewind dialogs are driven by keys only.
        Layer::Merge(_) | Layer::Rewind(_) => LayerHit::Nothing,
        Layer::Confirm(confirm) => {
            let (area, text, lines) = confirm_place(confirm, screen);
            let y = text.y + u16::try_from(lines.len() + 1).unwrap_or(0).min(text.height.saturating_sub(1));
            if at.y != y || at.x < text.x {
                return within(area, None);
            }
            let (column, mut end) = (usize::from(at.x - text.x), 0);
            for (action, button) in confirm_buttons(confirm, model, cx) {
                end += button.width();
                if column < end {
                    return LayerHit::Button(action);
                }
                end += BUTTON_GAP.len();
            }
            within(area, None)
        }
    }
}

/// Returns the item of a list at a position on the screen.
fn item_at(chooser: &Chooser, screen: Rect, at: Position) -> Option<usize> {
    let place = chooser_layout(chooser, screen);
    if !place.list.contains(at) {
        return None;
    }
    match place.lines.get(place.top + usize::from(at.y - place.list.y)) {
        Some(Shown::Item(item)) => Some(*item),
        Some(Shown::Heading(_)) | None => None,
    }
}

fn choose(chooser: &Chooser, cx: &Cx<'_>, screen: Rect, buffer: &mut Buffer) -> Position {
    let theme = cx.theme;
    let Place { frame, list, lines, top } = chooser_layout(chooser, screen);
    let inner = open(frame, chooser.title, cx, buffer);
    let cursor = input(&chooser.query, chooser.placeholder, cx, inner, buffer);
    if chooser.is_empty() {
        draw::text(buffer, list, (3, 0), "no match", theme.style(Role::Muted));
        return cursor;
    }
    let height = usize::from(list.height);
    let items: Vec<_> = chooser.found().collect();
    for (line, y) in lines.iter().skip(top).zip(0..list.height) {
        let row = Rect { y: list.y + y, height: 1, ..list };
        match line {
            Shown::Heading(title) => {
                draw::text(buffer, row, (1, 0), title, theme.style(Role::Title));
            }
            Shown::Item(at) => {
                let (item, ranges) = items[*at];
                let note = draw::fit(&item.note, usize::from(list.width) / 2, theme.glyphs).into_owned();
                let room = usize::from(list.width).saturating_sub(width::of(&note) + 6);
                // A colour is shown in itself.
                let role = match item.pick {
                    ChooserAction::Colour(_, Some(colour)) => words::mark_role(colour),
                    _ => Role::Text,
                };
                let mut label = words::Row::of(width::visible(&item.label).into_owned(), role);
                if let ChooserAction::Sign(role) = item.pick {
                    label.mark(0..item.label.find(' ').unwrap_or(0), role);
                }
                ranges.iter().for_each(|range| label.mark(range.clone(), Role::Match));
                label.truncate(room, theme.glyphs.ellipsis);
                let inner = Rect { x: row.x + 3, width: row.width.saturating_sub(3), ..row };
                draw::line(buffer, inner, 0, &label.line(theme));
                let end = Rect { width: row.width.saturating_sub(2), ..row };
                draw::right(buffer, end, 0, &note, theme.style(Role::Muted));
                if *at == chooser.cursor.chosen {
                    draw::tint(buffer, row, theme.style(Role::Selection));
                }
            }
        }
    }
    draw::scrollbar(buffer, list, theme, top, height, lines.len());
    cursor
}

enum Shown {
    Heading(&'static str),
    Item(usize),
}

fn lines(chooser: &Chooser) -> Vec<Shown> {
    let mut lines = Vec::new();
    let mut group = None;
    for (at, (item, _)) in chooser.found().enumerate() {
        if chooser.grouped() && item.group.is_some() && item.group != group {
            group = item.group;
            lines.extend(item.group.map(Shown::Heading));
        }
        lines.push(Shown::Item(at));
    }
    lines
}

fn prompt(prompt: &Prompt, cx: &Cx<'_>, screen: Rect, buffer: &mut Buffer) -> Position {
    let area = centred(screen, 72, 4);
    let inner = open(area, &prompt.title, cx, buffer);
    let cursor = input(&prompt.field, prompt.placeholder, cx, inner, buffer);
    if let Some(problem) = &prompt.problem {
        let problem = draw::fit(problem, usize::from(inner.width.saturating_sub(4)), cx.theme.glyphs);
        draw::text(buffer, inner, (3, 1), &problem, cx.theme.style(Role::Error));
    }
    cursor
}

/// Returns the area of a confirmation, the area of its text, and the text.
fn confirm_place(confirm: &Confirm, screen: Rect) -> (Rect, Rect, Vec<words::Row>) {
    let room = usize::from(screen.width.saturating_sub(8)).min(66);
    let lines: Vec<_> = confirm
        .lines
        .iter()
        .flat_map(|line| {
            let line = [words::Span::new(width::visible(line).into_owned(), Role::Text)];
            wrap::spans(&line, room, &[], &[], Break::Words)
        })
        .collect();
    let area = centred(
        screen,
        u16::try_from(room + 6).unwrap_or(u16::MAX),
        u16::try_from(lines.len() + 4).unwrap_or(u16::MAX),
    );
    let text = Rect {
        x: area.x + 3,
        y: area.y + 1,
        width: area.width.saturating_sub(5),
        height: area.height.saturating_sub(2),
    };
    (area, text, lines)
}

const BUTTON_GAP: &str = "    ";

/// Returns the choices with their keys. The default has the sign of the Enter key.
fn confirm_buttons<'a>(confirm: &Confirm, model: &Model, cx: &Cx<'_>) -> Vec<(Action, Line<'a>)> {
    let contexts = model.contexts();
    let button = |action: Action, word: &str, is_default: bool| {
        let key = model.keymap.shown(&contexts, action).map(ToString::to_string).unwrap_or_default();
        let sign = if is_default { format!(" {}", cx.theme.glyphs.enter) } else { String::new() };
        let role = if is_default { Role::Strong } else { Role::Text };
        let line = Line::from(vec![
            Span::styled(key, cx.theme.style(Role::Key)),
            Span::styled(format!(" {word}{sign}"), cx.theme.style(role)),
        ]);
        (action, line)
    };
    match confirm.action {
        ConfirmedAction::KeepOrStop(_) => vec![
            button(Action::KeepWorking, "keep working", true),
            button(Action::StopAgents, "stop", false),
            button(Action::No, "cancel", false),
        ],
        ConfirmedAction::Interrupt => vec![button(Action::InterruptRest, "interrupt them", false)],
        ConfirmedAction::Command(_) | ConfirmedAction::Quit | ConfirmedAction::Leave(_) => {
            let is_yes = confirm.is_yes_default();
            vec![button(Action::Yes, "yes", is_yes), button(Action::No, "no", !is_yes)]
        }
    }
}

fn confirm(confirm: &Confirm, model: &Model, cx: &Cx<'_>, screen: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    let (area, text, lines) = confirm_place(confirm, screen);
    open(area, &confirm.title, cx, buffer);
    for (row, y) in lines.iter().zip(0..text.height) {
        draw::line(buffer, text, y, &row.line(theme));
    }
    let mut keys = Line::default();
    for (_, button) in confirm_buttons(confirm, model, cx) {
        if !keys.spans.is_empty() {
            keys.push_span(Span::raw(BUTTON_GAP));
        }
        keys.extend(button.spans);
    }
    let y = u16::try_from(lines.len() + 1).unwrap_or(0);
    draw::line(buffer, text, y.min(text.height.saturating_sub(1)), &keys);
}

/// Returns the area of the settings, the area of their lines, and the first visible line.
fn settings_place(board: &Board, screen: Rect) -> (Rect, Rect, usize) {
    let area = Rect { y: screen.y + 1, height: screen.height.saturating_sub(2), ..screen };
    let area = centred(area, 72, u16::try_from(board.len + 4).unwrap_or(12));
    let list = Rect {
        x: area.x + 1,
        y: area.y + 2,
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(3),
    };
    (area, list, (board.cursor.chosen + 1).saturating_sub(usize::from(list.height)))
}

fn board(board: &Board, model: &Model, cx: &Cx<'_>, screen: Rect, buffer: &mut Buffer) {
    match board.kind {
        BoardKind::Agents => board_view::view(board, model, cx, screen, buffer),
        BoardKind::Settings => settings(board, model, cx, screen, buffer),
    }
}

/// Returns the current model, or the one from the next start.
fn model_words(model: &Model) -> String {
    let now = model.project.info.model.as_deref();
    let next = model.settings.next_model.as_deref().filter(|next| Some(*next) != now);
    match (now, next) {
        (now, None) => now.unwrap_or("not set").to_owned(),
        (_, Some(next)) => format!("{next} (from the next start)"),
    }
}

fn settings(board: &Board, model: &Model, cx: &Cx<'_>, screen: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    let settings = &model.settings;
    let on = |on: bool| if on { "on" } else { "off" }.to_owned();
    let budget = settings.project_budget.or(model.project.info.budget);
    let values = [
        settings.theme.clone(),
        model_words(model),
        budget.map_or_else(|| "no limit".to_owned(), |budget| budget.to_string()),
        on(settings.notify_desktop),
        on(settings.notify_bell),
        on(settings.mouse),
    ];
    let (area, list, top) = settings_place(board, screen);
    open(area, "settings", cx, buffer);
    let lines = crate::ui::update::SETTINGS.iter().zip(values).enumerate().skip(top);
    for ((at, (label, value)), y) in lines.zip(0..list.height) {
        let row = Rect { y: list.y + y, height: 1, ..list };
        draw::text(buffer, row, (3, 0), label, theme.style(Role::Text));
        let value = crate::base::sanitize::line(&value);
        let value = draw::fit(&value, usize::from(row.width.saturating_sub(34)), theme.glyphs);
        draw::text(buffer, row, (32, 0), &value, theme.style(Role::Accent));
        if at == board.cursor.chosen {
            draw::tint(buffer, row, theme.style(Role::Selection));
        }
    }
}

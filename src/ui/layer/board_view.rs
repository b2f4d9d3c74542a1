//! Draws the board of all agents: who needs the user, who works, who has finished; side by side where there is room.
//!
//! Everything comes from the project state, so that the board can stay open. It covers the panes, not the header.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::base::{TaskId, text};
use crate::engine::snapshot::TaskView;
use crate::model::Status;
use crate::text::width;
use crate::text::wrap::{self, Break};
use crate::text::{self as words, Row};
use crate::theme::Role;
use crate::ui::draw;
use crate::ui::labels;
use crate::ui::layer::board::{Board, Column};
use crate::ui::layout;
use crate::ui::model::Model;
use crate::ui::msg::Cx;
use crate::ui::tree;

/// The rows of a card with the blank one below it.
const CARD: u16 = 4;
/// The rows of the whole text of the selected card, with the line above it.
const NOTE: u16 = 4;
/// The columns of the chart of a task.
const CHART: usize = 12;
/// The columns of the chart of the project.
const TOTAL_CHART: usize = 40;

/// A column of the board on the screen.
struct PlacedColumn {
    column: Column,
    heading: Rect,
    cards: Vec<PlacedCard>,
    /// Cards above and below the visible ones.
    hidden: usize,
}

struct PlacedCard {
    place: usize,
    task: TaskId,
    area: Rect,
}

/// Returns the area that the board covers.
pub fn area(screen: Rect) -> Rect {
    Rect { y: screen.y + 1, height: screen.height.saturating_sub(2), ..screen }
}

/// Returns the line of the board at a position of the screen.
pub fn card_at(board: &Board, screen: Rect, at: Position) -> Option<usize> {
    let cards = place(board, screen).into_iter().flat_map(|column| column.cards);
    cards.into_iter().find(|card| card.area.contains(at)).map(|card| card.place)
}

fn place(board: &Board, screen: Rect) -> Vec<PlacedColumn> {
    let area = area(screen);
    let body = Rect { y: area.y + 2, height: area.height.saturating_sub(2 + note_rows(area)), ..area };
    let count = |column: Column| board.tasks.iter().filter(|(of, _)| *of == column).count();
    let areas: Vec<(Column, Rect)> = if screen.width >= layout::WIDE {
        let third = body.width / 3;
        Column::ALL
            .iter()
            .zip(0u16..)
            .map(|(column, at)| (*column, Rect { x: body.x + at * third, width: third, ..body }))
            .collect()
    } else {
        stacked(body, Column::ALL.map(|column| (column, count(column))))
    };
    areas.into_iter().map(|(column, area)| place_column(board, column, area)).collect()
}

/// Returns the rows below the cards, for the whole text of the selected one.
fn note_rows(area: Rect) -> u16 {
    if area.height >= 16 { NOTE } else { 0 }
}

/// Divides the height among the columns: what needs the user gets what it needs first.
fn stacked(body: Rect, counts: [(Column, usize); 3]) -> Vec<(Column, Rect)> {
    let mut placed = Vec::new();
    let mut y = body.y;
    let used = counts.iter().filter(|(_, count)| *count > 0).count();
    let mut later = u16::try_from(used).unwrap_or(0);
    for (column, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        later -= 1;
        // The columns after this one keep room for a card each.
        let most = body.bottom().saturating_sub(y + later * (CARD + 1));
        let wanted = u16::try_from(count).unwrap_or(u16::MAX).saturating_mul(CARD).saturating_add(1);
        let height = wanted.min(most);
        placed.push((column, Rect { y, height, ..body }));
        y += height;
    }
    placed
}

fn place_column(board: &Board, column: Column, area: Rect) -> PlacedColumn {
    let tasks: Vec<_> = board.tasks.iter().enumerate().filter(|(_, (of, _))| *of == column).collect();
    let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    // The last card needs no blank row below it.
    let room = usize::from((list.height + 1) / CARD);
    let chosen = tasks.iter().position(|(place, _)| *place == board.cursor.chosen).unwrap_or(0);
    let first = (chosen + 1).saturating_sub(room);
    let cards: Vec<_> = tasks
        .iter()
        .skip(first)
        .take(room)
        .zip(0u16..)
        .map(|((place, (_, task)), at)| PlacedCard {
            place: *place,
            task: *task,
            area: Rect { y: list.y + at * CARD, height: CARD - 1, width: list.width.saturating_sub(1), ..list },
        })
        .collect();
    let hidden = tasks.len() - cards.len();
    PlacedColumn { column, heading: Rect { height: area.height.min(1), ..area }, cards, hidden }
}

/// Draws the board.
pub fn view(board: &Board, model: &Model, cx: &Cx<'_>, screen: Rect, buffer: &mut Buffer) {
    let area = area(screen);
    draw::clear(buffer, area, cx.theme, Role::Background);
    totals(model, cx, Rect { height: area.height.min(1), ..area }, buffer);
    if board.tasks.is_empty() {
        let below = Rect { y: area.y + 2, height: area.height.saturating_sub(2), ..area };
        draw::text(
            buffer,
            below,
            (2, 0),
            "No agent is at work, and nothing waits for you.",
            cx.theme.style(Role::Muted),
        );
    }
    note(board, model, cx, area, buffer);
    for column in place(board, screen) {
        heading(board, &column, model, cx, buffer);
        for placed in &column.cards {
            if let Some(task) = model.project.task(placed.task) {
                card(task, column.column, model, cx, placed.area, placed.place == board.cursor.chosen, buffer);
            }
        }
    }
}

/// Draws the whole text of the selected card below the cards.
fn note(board: &Board, model: &Model, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let rows = note_rows(area);
    let Some(task) = board.chosen().and_then(|id| model.project.task(id)).filter(|_| rows > 0) else { return };
    let theme = cx.theme;
    let line = Rect { x: area.x + 1, y: area.bottom() - rows, width: area.width.saturating_sub(2), height: 1 };
    for x in line.x..line.right() {
        buffer.set_string(x, line.y, theme.glyphs.rule, theme.style(Role::Border));
    }
    let title = model.project.title(task.node.id);
    let title = format!("{} ", draw::fit(&title, usize::from(line.width) / 2, theme.glyphs));
    draw::text(buffer, line, (0, 0), &title, theme.style(Role::Strong));
    let below = Rect { y: line.y + 1, height: rows - 1, ..line };
    let columns = usize::from(draw::readable(below).width).max(1);
    for (row, y) in description(task, model, columns).iter().zip(0..below.height) {
        draw::line(buffer, below, y, &row.line(theme));
    }
}

/// Draws the line with the numbers of the project.
fn totals(model: &Model, cx: &Cx<'_>, line: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    let total = model.project.total();
    let mut left = vec![Span::styled(" Agents", theme.style(Role::TitleFocus))];
    // The root is not one of the tasks: it divides the work.
    let is_over = |status: Status| matches!(status, Status::Passed | Status::Closed);
    let root = model.project.node(model.project.root()).map(|root| root.status);
    let all = total.tasks.saturating_sub(1);
    let ended = total.count(Status::Passed) + total.count(Status::Closed) - usize::from(root.is_some_and(is_over));
    if all > 0 {
        let words = format!("   {ended} of {} done", text::count(all, "task", "tasks"));
        left.push(Span::styled(words, theme.style(Role::Muted)));
    }
    draw::line(buffer, line, 0, &Line::from(left));
    let columns = TOTAL_CHART.min(usize::from(line.width) / 4);
    let chart = model.token_rate.total_chart(columns, cx.now);
    let per_minute = chart.iter().rev().take(4).sum::<u64>();
    let mut right = Vec::new();
    if chart.iter().any(|used| *used > 0) {
        right.push(Span::styled(draw::sparkline(&chart, theme.glyphs), theme.style(Role::Sparkline)));
        right.push(Span::styled(format!(" {} tok/min", labels::tokens(per_minute)), theme.style(Role::Muted)));
    }
    let right = Line::from(right);
    let wide = u16::try_from(right.width()).unwrap_or(u16::MAX).min(line.width);
    buffer.set_line(line.right().saturating_sub(wide + 1), line.y, &right, wide);
}

fn heading(board: &Board, column: &PlacedColumn, model: &Model, cx: &Cx<'_>, buffer: &mut Buffer) {
    let theme = cx.theme;
    let tasks =
        || board.tasks.iter().filter(|(of, _)| *of == column.column).filter_map(|(_, id)| model.project.task(*id));
    let count = tasks().count();
    let working = tasks().filter(|task| task.is_working()).count();
    let role = match column.column {
        _ if count == 0 => Role::Faint,
        Column::NeedsYou => Role::Ask,
        Column::Working => Role::Working,
        Column::Finished => Role::Ok,
    };
    let line = Rect { x: column.heading.x + 1, width: column.heading.width.saturating_sub(2), ..column.heading };
    for x in line.x..line.right() {
        buffer.set_string(x, line.y, theme.glyphs.rule, theme.style(Role::Border));
    }
    // The count of the header does not include those that wait.
    let words = match column.column {
        Column::Working if working < count => format!("Working {working}, waiting {} ", count - working),
        _ => format!("{} {count} ", column.column.title()),
    };
    draw::text(buffer, line, (0, 0), &words, theme.style(role));
    if column.hidden > 0 {
        draw::right(buffer, line, 0, &format!(" {} more", column.hidden), theme.style(Role::Muted));
    }
}

fn card(task: &TaskView, column: Column, model: &Model, cx: &Cx<'_>, area: Rect, is_chosen: bool, buffer: &mut Buffer) {
    let theme = cx.theme;
    let id = task.node.id;
    let surface = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
    draw::clear(buffer, surface, theme, Role::Card);
    let inner = Rect { x: surface.x + 1, width: surface.width.saturating_sub(2), ..surface };
    let (sign, role) = tree::live_sign(task, id == model.project.root(), cx);
    draw::text(buffer, inner, (0, 0), sign, theme.style(role));
    let number = number(task, column, cx);
    let wide = u16::try_from(number.width()).unwrap_or(u16::MAX).min(inner.width);
    buffer.set_line(inner.right() - wide, inner.y, &number, wide);
    let room = usize::from(inner.width.saturating_sub(wide + 3));
    let title = model.project.title(id);
    draw::text(buffer, inner, (2, 0), &draw::fit(&title, room, theme.glyphs), theme.style(Role::Strong));
    let below = Rect { x: inner.x + 2, width: inner.width.saturating_sub(2), ..inner };
    let has_chart = column == Column::Working;
    let rows = description(task, model, usize::from(below.width).max(1));
    let most = if has_chart { 1 } else { 2 };
    let cut = rows.len() > most;
    for (row, y) in rows.into_iter().take(most).zip(1u16..) {
        let mut row = row;
        if cut && usize::from(y) == most {
            row.push(words::Span::decoration(theme.glyphs.ellipsis, Role::Faint));
            row.truncate(usize::from(below.width), theme.glyphs.ellipsis);
        }
        draw::line(buffer, below, y, &row.line(theme));
    }
    if has_chart {
        usage(task, model, cx, below, buffer);
    }
    if is_chosen {
        for y in surface.y..surface.bottom() {
            buffer.set_string(area.x, y, theme.glyphs.selected, theme.style(Role::Accent));
        }
        draw::tint(buffer, surface, theme.style(Role::Selection));
    }
}

/// Returns the number that matters: the time of one that works, the changes and the cost of one that has finished.
fn number(task: &TaskView, column: Column, cx: &Cx<'_>) -> Line<'static> {
    let theme = cx.theme;
    let mut spans = Vec::new();
    if column == Column::Finished {
        if let Some(diff) = task.diff.filter(|diff| diff.added + diff.removed > 0) {
            spans.push(Span::styled(format!("+{}", diff.added), theme.style(Role::DiffPlus)));
            spans.push(Span::styled(format!(" -{}  ", diff.removed), theme.style(Role::DiffMinus)));
        }
        spans.push(Span::styled(task.usage.cost().to_string(), theme.style(Role::Muted)));
        return Line::from(spans);
    }
    let doing = labels::doing(task);
    if column == Column::NeedsYou && !doing.is_empty() {
        spans.push(Span::styled(doing, theme.style(Role::Ask)));
    } else if let Some(since) = task.since {
        spans.push(Span::styled(labels::elapsed(since, cx.now), theme.style(Role::Muted)));
    }
    Line::from(spans)
}

/// Returns what the task is about now: the question, the activity, the result, or why it is stuck.
fn description(task: &TaskView, model: &Model, columns: usize) -> Vec<Row> {
    let stuck = model.stuck_reason_of(task.node.id).map(|reason| (reason, Role::Warn));
    let line = stuck.or_else(|| tree::second_line(task, &model.project, &model.live_lines));
    let (text, role) = line.unwrap_or_else(|| (labels::doing(task), Role::Muted));
    let text = [words::Span::new(width::visible(&text).into_owned(), role)];
    wrap::spans(&text, columns, &[], &[], Break::Words)
}

/// Draws the chart of the tokens, their rate, and the cost.
fn usage(task: &TaskView, model: &Model, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    let chart = model.token_rate.chart(task.node.id, CHART.min(usize::from(area.width) / 2), cx.now);
    let mut x = 0;
    if chart.iter().any(|used| *used > 0) {
        let chart = draw::sparkline(&chart, theme.glyphs);
        let end = draw::text(buffer, area, (0, 2), &chart, theme.style(Role::Sparkline));
        x = end - area.x + 1;
    }
    if let Some(rate) = model.token_rate.per_minute(task.node.id, cx.now) {
        draw::text(buffer, area, (x, 2), &format!("{}/min", labels::tokens(rate)), theme.style(Role::Muted));
    }
    draw::right(buffer, area, 2, &task.usage.cost().to_string(), theme.style(Role::Muted));
}

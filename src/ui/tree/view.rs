//! Draws the task tree. A row shows state glyph, title, activity and one number.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::base::sanitize;
use crate::engine::snapshot::TaskView;
use crate::model::Status;
use crate::model::tree::Attention;
use crate::text::{mark_role, width};
use crate::theme::{Role, Theme};
use crate::ui::draw;
use crate::ui::labels;
use crate::ui::live_lines::LiveLines;
use crate::ui::model::SPINNER_MILLIS;
use crate::ui::msg::Cx;
use crate::ui::project_state::ProjectState;
use crate::ui::tree::second_line::second_line;
use crate::ui::tree::{Sort, State, TaskLine};

/// Everything drawing needs besides the tree.
#[derive(Clone, Copy)]
pub struct With<'a> {
    pub project: &'a ProjectState,
    pub live: &'a LiveLines,
    pub focused: bool,
}

/// Draws the visible rows into `area`. Returns the first row of the screen below them.
pub fn view(state: &State, with: With<'_>, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) -> u16 {
    if area.is_empty() {
        return area.bottom();
    }
    let (list, filter) = split_filter(state, area);
    let rows = state.rows();
    if rows.is_empty() {
        draw_empty(state, cx, list, buffer);
    }
    let mut end = list.y + if rows.is_empty() { 2 } else { 0 };
    // The numbers at the right end do not touch the scroll bar.
    let scrolls = rows.len() > usize::from(list.height);
    for mut placed in placed_rows(state, with.project, with.live, list) {
        end = placed.area.bottom();
        placed.area.width -= u16::from(scrolls);
        let Some(task) = with.project.task(placed.row.id) else { continue };
        draw_row(state, with.project, cx, task, placed.row, Rect { height: 1, ..placed.area }, buffer);
        if let Some((words, role)) = &placed.second_line {
            draw_second_line(cx, placed.row, words, *role, placed.area, buffer);
        }
        if state.place(state.selected()) == Some(placed.place) {
            let role = if with.focused { Role::Selection } else { Role::SelectionDim };
            for y in placed.area.y..placed.area.bottom() {
                buffer.set_string(placed.area.x, y, cx.theme.glyphs.selected, cx.theme.style(Role::Accent));
            }
            draw::tint(buffer, placed.area, cx.theme.style(role));
        }
    }
    draw::scrollbar(buffer, list, cx.theme, state.top(), usize::from(list.height), rows.len());
    match filter {
        Some(line) => {
            draw_filter(state, cx, line, buffer);
            area.bottom()
        }
        None => end,
    }
}

/// A row with its place on the screen.
struct PlacedRow<'a> {
    place: usize,
    row: &'a TaskLine,
    area: Rect,
    second_line: Option<(String, Role)>,
}

/// Returns the visible rows. They have a second line while all of them fit with it, so that scrolling stays by rows.
fn placed_rows<'a>(state: &'a State, project: &ProjectState, live: &LiveLines, list: Rect) -> Vec<PlacedRow<'a>> {
    let rows = state.rows();
    let height = usize::from(list.height);
    let second_lines: Vec<_> = if rows.len() <= height {
        let line = |row: &TaskLine| project.task(row.id).and_then(|task| second_line(task, project, live));
        rows.iter().map(line).collect()
    } else {
        Vec::new()
    };
    let extra = second_lines.iter().flatten().count();
    let has_room = rows.len() + extra <= height;
    let mut y = list.y;
    let mut placed = Vec::new();
    for (place, row) in rows.iter().enumerate().skip(state.top()) {
        let second_line = second_lines.get(place).cloned().flatten().filter(|_| has_room);
        let area = Rect { y, height: 1 + u16::from(second_line.is_some()), ..list };
        if area.bottom() > list.bottom() {
            break;
        }
        y = area.bottom();
        placed.push(PlacedRow { place, row, area, second_line });
    }
    placed
}

/// Returns true if all rows fit into `height` rows together with their second lines.
pub fn fits_with_second_lines(state: &State, project: &ProjectState, live: &LiveLines, height: usize) -> bool {
    let rows = state.rows();
    let has_line =
        |row: &&TaskLine| project.task(row.id).is_some_and(|task| second_line(task, project, live).is_some());
    rows.len() <= height && rows.len() + rows.iter().filter(has_line).count() <= height
}

/// Returns the row at a position of the screen.
pub fn row_at(state: &State, project: &ProjectState, live: &LiveLines, area: Rect, at: Position) -> Option<usize> {
    let (list, _) = split_filter(state, area);
    placed_rows(state, project, live, list).iter().find(|placed| placed.area.contains(at)).map(|placed| placed.place)
}

fn draw_second_line(cx: &Cx<'_>, row: &TaskLine, words: &str, role: Role, area: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    let guide: String = row
        .lines
        .iter()
        .map(|continues| if *continues { format!("{} ", theme.glyphs.tree_down) } else { "  ".into() })
        .collect();
    let line = Rect { y: area.y + 1, height: 1, ..area };
    let end = draw::text(buffer, line, (1, 0), &guide, theme.style(Role::Border));
    let x = end - line.x + 2;
    let room = usize::from(line.width.saturating_sub(x + 1));
    draw::text(buffer, line, (x, 0), &draw::fit(words, room, theme.glyphs), theme.style(role));
}

/// Returns the rows available for the list, without the filter line.
pub fn list_height(state: &State, area: Rect) -> usize {
    usize::from(split_filter(state, area).0.height)
}

fn split_filter(state: &State, area: Rect) -> (Rect, Option<Rect>) {
    let wanted = state.filtering || !state.filter.is_empty();
    if !wanted || area.height < 3 {
        return (area, None);
    }
    let list = Rect { height: area.height - 1, ..area };
    (list, Some(Rect { y: list.bottom(), height: 1, ..area }))
}

fn draw_filter(state: &State, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    let end = draw::text(buffer, area, (1, 0), "/", theme.style(Role::Key));
    let room = usize::from(area.right().saturating_sub(end + 2));
    let shown = width::suffix(state.filter.shown(), room).0;
    let end = buffer.set_stringn(end, area.y, shown, room, theme.style(Role::Text)).0;
    if state.filtering && end < area.right() {
        buffer.set_style(Rect { x: end, width: 1, ..area }, theme.style(Role::Cursor));
    }
}

fn draw_empty(state: &State, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let words = if state.filter.is_empty() {
        format!("No tasks match the filter ({}).", state.mode().word())
    } else {
        "No tasks match the filter.".to_owned()
    };
    draw::text(buffer, area, (1, 0), &words, cx.theme.style(Role::Muted));
    draw::text(buffer, area, (1, 1), "Esc: show all", cx.theme.style(Role::Faint));
}

fn draw_row(
    state: &State,
    project: &ProjectState,
    cx: &Cx<'_>,
    task: &TaskView,
    row: &TaskLine,
    area: Rect,
    buffer: &mut Buffer,
) {
    let theme = cx.theme;
    let glyphs = theme.glyphs;
    let mut left = vec![Span::raw(" ")];
    if let Some((own, above)) = row.lines.split_last() {
        let guide: String = above
            .iter()
            .map(|continues| if *continues { format!("{} ", glyphs.tree_down) } else { "  ".into() })
            .collect();
        let elbow = if *own { glyphs.tree_branch } else { glyphs.tree_last };
        left.push(Span::styled(format!("{guide}{elbow} "), theme.style(Role::Border)));
    }
    let (sign, role) = live_sign(task, task.node.id == project.root(), cx);
    left.push(Span::styled(sign, theme.style(role)));
    left.push(Span::raw(" "));
    if let Some((mark, role)) = task.mode.and_then(|mode| labels::mode_mark(mode, glyphs)) {
        left.push(Span::styled(format!("{mark} "), theme.style(role)));
    }
    if row.folded {
        left.push(Span::styled(format!("{} ", glyphs.folded), theme.style(Role::Muted)));
    }
    let mut right = right_side(state, project, cx, task, row);
    let used: usize = left.iter().map(|span| width::of(&span.content)).sum();
    let below = below(project, theme, row);
    let title = sanitize::line(&task.node.title);
    let title = if title.trim().is_empty() { "untitled".into() } else { title };
    let room = |right: &[Span<'_>]| {
        let taken = used + Line::from(right.to_vec()).width() + Line::from(below.clone()).width() + 2;
        usize::from(area.width).saturating_sub(taken)
    };
    // Of merged work the title matters more than its size.
    if task.is_merged() && !state.cost && room(&right) < width::of(&title) {
        right.truncate(1);
    }
    let room = room(&right);
    left.push(Span::styled(draw::fit(&title, room.max(3), glyphs).into_owned(), title_style(theme, task, row)));
    left.extend(below);
    if let Some(profile) = task.node.non_default_profile() {
        let words = format!(" {}", sanitize::line(profile));
        let used: usize = left.iter().map(|span| width::of(&span.content)).sum();
        if used + width::of(&words) + Line::from(right.clone()).width() + 2 <= usize::from(area.width) {
            left.push(Span::styled(words, theme.style(Role::Faint)));
        }
    }
    if state.sort() == Sort::Attention {
        // Sorted by attention, a task shows its parent.
        let above = task.node.parent.filter(|parent| *parent != project.root());
        let above = above.map(|parent| project.title(parent)).unwrap_or_default();
        let used: usize = left.iter().map(|span| width::of(&span.content)).sum();
        let room = usize::from(area.width).saturating_sub(used + Line::from(right.clone()).width() + 7);
        if room > 8 && !above.is_empty() {
            let words = format!("  {} {}", glyphs.arrow_left, draw::fit(&above, room, glyphs));
            left.push(Span::styled(words, theme.style(Role::Faint)));
        }
    }
    let end = draw::line(buffer, area, 0, &Line::from(left));
    let wide = u16::try_from(Line::from(right.clone()).width()).unwrap_or(u16::MAX);
    if wide > 0 && end + wide < area.right() {
        buffer.set_line(area.right() - wide - 1, area.y, &Line::from(right), wide);
    }
}

/// Returns the glyph and the role of a task's state. The glyph of one at work moves.
pub fn live_sign(task: &TaskView, is_root: bool, cx: &Cx<'_>) -> (&'static str, Role) {
    let (sign, role) = labels::state(task, is_root, cx.theme.glyphs);
    (if role == Role::Working { spinner_frame(cx) } else { sign }, role)
}

/// Returns the frame of the spinner at this moment.
fn spinner_frame(cx: &Cx<'_>) -> &'static str {
    let frames = cx.theme.glyphs.spinner;
    let frame = usize::try_from(cx.now.as_millis() / SPINNER_MILLIS).unwrap_or(0) % frames.len().max(1);
    frames.get(frame).copied().unwrap_or(cx.theme.glyphs.working)
}

fn title_style(theme: &Theme, task: &TaskView, row: &TaskLine) -> Style {
    let role = match (task.node.status, task.node.colour) {
        _ if row.passive => Role::Faint,
        (Status::Closed, _) => Role::Faint,
        (_, Some(colour)) => mark_role(colour),
        (Status::Draft, None) => Role::Muted,
        (Status::Pending | Status::InProgress | Status::Passed | Status::Failed, None) => Role::Text,
    };
    let style = theme.style(role);
    if task.node.status == Status::Draft { style.add_modifier(Modifier::ITALIC) } else { style }
}

/// Returns marks for the subtree: open Asks always, the rest only if it is folded.
fn below(project: &ProjectState, theme: &Theme, row: &TaskLine) -> Vec<Span<'static>> {
    let task = project.task(row.id);
    let own_asks = task.map_or(0, |task| task.asks.len());
    let own_works = task.is_some_and(TaskView::is_working);
    let sum = project.sum(row.id);
    let mut marks = task.map(|task| work_marks(task, theme)).unwrap_or_default();
    let asks = sum.asks - own_asks.min(sum.asks);
    if asks > 0 {
        marks.push((format!("{}{asks}", theme.glyphs.ask), Role::Ask));
    }
    if row.folded {
        let working = sum.working - usize::from(own_works).min(sum.working);
        let failed =
            sum.count(Status::Failed) - usize::from(task.is_some_and(|task| task.node.status == Status::Failed));
        if failed > 0 {
            marks.push((format!("{}{failed}", theme.glyphs.failed), Role::Error));
        }
        if working > 0 {
            marks.push((format!("{}{working}", theme.glyphs.working), Role::Working));
        }
        if failed + working + asks == 0 {
            marks.push((format!("+{}", sum.tasks - 1), Role::Faint));
        }
    } else if asks == 0 && project.attention_below(row.id) == Attention::Failed {
        marks.push((theme.glyphs.failed.to_owned(), Role::Error));
    }
    let spaced = marks.into_iter().flat_map(|(text, role)| [Span::raw(" "), Span::styled(text, theme.style(role))]);
    spaced.collect()
}

/// Returns marks for the branch: conflicts with other tasks and, once the task has passed, commits behind the target.
fn work_marks(task: &TaskView, theme: &Theme) -> Vec<(String, Role)> {
    let mut marks = Vec::new();
    if task.node.status == Status::Closed {
        return marks;
    }
    if !task.clashes.is_empty() {
        marks.push((format!("{}{}", theme.glyphs.clash, task.clashes.len()), Role::Warn));
    }
    // A merged branch has nothing to update.
    let behind = task.drift.filter(|drift| drift.ahead > 0).map_or(0, |drift| drift.behind);
    if behind > 0 && task.node.status == Status::Passed {
        marks.push((format!("{}{behind}", theme.glyphs.arrow_down), Role::Muted));
    }
    marks
}

fn right_side(
    state: &State,
    project: &ProjectState,
    cx: &Cx<'_>,
    task: &TaskView,
    row: &TaskLine,
) -> Vec<Span<'static>> {
    let theme = cx.theme;
    if state.cost {
        let cost = project.sum(row.id).cost;
        let bound = if task.usage.is_lower_bound() { "≥" } else { "" };
        return vec![Span::styled(format!("{bound}{cost}"), theme.style(Role::Muted))];
    }
    let doing = labels::doing(task);
    let role = labels::state(task, false, theme.glyphs).1;
    let mut spans = Vec::new();
    if let Some(retry) = &task.retry {
        spans.push(Span::styled(format!("retry {}", labels::remaining(retry.until, cx.now)), theme.style(Role::Warn)));
        return spans;
    }
    // A working agent has a spinner and its second line; the time is the number that matters.
    if role != Role::Working && !doing.is_empty() {
        spans.push(Span::styled(doing, theme.style(role)));
    }
    if task.is_working() {
        if let Some(since) = task.since {
            if !spans.is_empty() {
                spans.push(Span::raw(" "));
            }
            spans.push(Span::styled(labels::elapsed(since, cx.now), theme.style(Role::Faint)));
        }
    } else if let Some(diff) = task.diff.filter(|diff| task.asks.is_empty() && diff.added + diff.removed > 0) {
        if !spans.is_empty() {
            spans.push(Span::raw(" "));
        }
        spans.push(Span::styled(format!("+{}", diff.added), theme.style(Role::DiffPlus)));
        spans.push(Span::styled(format!(" -{}", diff.removed), theme.style(Role::DiffMinus)));
    }
    if task.is_merged() {
        if !spans.is_empty() {
            spans.insert(0, Span::raw(" "));
        }
        spans.insert(0, Span::styled("merged", theme.style(Role::Ok)));
    }
    spans
}

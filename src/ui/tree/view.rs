//! Draws the task tree. A row shows state glyph, title, activity and one number.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
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
use crate::ui::msg::Cx;
use crate::ui::project_state::ProjectState;
use crate::ui::tree::{Sort, State, TaskLine};

/// Draws the visible rows into `area`.
pub fn view(state: &State, project: &ProjectState, cx: &Cx<'_>, focused: bool, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let (list, filter) = split_filter(state, area);
    let rows = state.rows();
    if rows.is_empty() {
        draw_empty(state, cx, list, buffer);
    }
    let visible = rows.iter().enumerate().skip(state.top()).take(usize::from(list.height));
    for ((place, row), y) in visible.zip(0u16..) {
        let Some(task) = project.task(row.id) else { continue };
        let line = Rect { y: list.y + y, height: 1, ..list };
        let chosen = state.place(state.selected()) == Some(place);
        draw_row(state, project, cx, task, row, line, buffer);
        if chosen {
            let role = if focused { Role::Selection } else { Role::SelectionDim };
            draw::tint(buffer, line, cx.theme.style(role));
        }
    }
    draw::scrollbar(buffer, list, cx.theme, state.top(), usize::from(list.height), rows.len());
    if let Some(line) = filter {
        draw_filter(state, cx, line, buffer);
    }
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
    let (sign, role) = labels::state(task, task.node.id == project.root(), glyphs);
    left.push(Span::styled(sign, theme.style(role)));
    left.push(Span::raw(" "));
    if row.folded {
        left.push(Span::styled(format!("{} ", glyphs.folded), theme.style(Role::Muted)));
    }
    let right = right_side(state, project, cx, task, row);
    let used: usize = left.iter().map(|span| width::of(&span.content)).sum();
    let below = below(project, theme, row);
    let taken = used + Line::from(right.clone()).width() + Line::from(below.clone()).width() + 2;
    let room = usize::from(area.width).saturating_sub(taken);
    let title = sanitize::line(&task.node.title);
    let title = if title.trim().is_empty() { "untitled".into() } else { title };
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
    if !doing.is_empty() {
        spans.push(Span::styled(doing, theme.style(if role == Role::Working { Role::Muted } else { role })));
    }
    if task.is_working() {
        if let Some(since) = task.since {
            spans.push(Span::styled(format!(" {}", labels::elapsed(since, cx.now)), theme.style(Role::Faint)));
        }
    } else if let Some(diff) = task.diff.filter(|diff| task.asks.is_empty() && diff.added + diff.removed > 0) {
        if !spans.is_empty() {
            spans.push(Span::raw(" "));
        }
        spans.push(Span::styled(format!("+{}", diff.added), theme.style(Role::DiffPlus)));
        spans.push(Span::styled(format!(" -{}", diff.removed), theme.style(Role::DiffMinus)));
    }
    spans
}

//! The summary of a finished tree, below the root's transcript: what changed, whether it was verified, what it cost, and
//! the next keys.
//!
//! It is computed from the tasks whenever it is drawn and is stored nowhere. It disappears when work starts again.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::base::{MicroUsd, TaskId, Timestamp, text};
use crate::engine::snapshot::{DiffStat, TaskView};
use crate::model::Status;
use crate::theme::Role;
use crate::ui::draw;
use crate::ui::labels;
use crate::ui::msg::Cx;
use crate::ui::project_state::ProjectState;
use crate::ui::transcript::Transcript;

/// The most tasks that are listed.
const MOST_TASKS: usize = 6;

/// The keys that the summary names.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    pub diff: String,
    pub merge: String,
    pub rewind: String,
    pub board: String,
    /// The key that leaves the composer, if the user is there: until then the other keys are text.
    pub leave: Option<String>,
}

/// A finished tree in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub passed: usize,
    pub failed: usize,
    /// The subtasks of the root that have ended, in display order.
    pub tasks: Vec<TaskId>,
    /// The changes of those subtasks. Each includes what its own subtasks did.
    pub diff: DiffStat,
    pub checks: Checks,
    pub cost: MicroUsd,
    pub millis: u64,
}

/// The results of the verify commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    pub passed: usize,
    pub failed: usize,
}

/// Returns the summary of the tree below the root, or `None` while there is work to do, or if there was none.
pub fn summary(project: &ProjectState) -> Option<Summary> {
    let total = project.total();
    if total.working > 0 || total.asks > 0 || total.count(Status::Passed) == 0 {
        return None;
    }
    let below = || project.walk(project.root()).skip(1).filter_map(|id| project.task(id));
    let is_open = |task: &TaskView| match task.node.status {
        Status::Pending | Status::InProgress => true,
        Status::Draft | Status::Passed | Status::Failed | Status::Closed => false,
    };
    let ended = |task: &&TaskView| matches!(task.node.status, Status::Passed | Status::Failed);
    if below().any(is_open) || !below().any(|task| task.node.status == Status::Passed) {
        return None;
    }
    let mut checks = Checks::default();
    for receipt in below().filter_map(|task| task.receipt.as_ref()) {
        if receipt.passed() { checks.passed += 1 } else { checks.failed += 1 }
    }
    let top: Vec<_> = below().filter(|task| task.node.parent == Some(project.root())).filter(ended).collect();
    let mut diff = DiffStat::default();
    for own in top.iter().filter_map(|task| task.diff) {
        diff.files += own.files;
        diff.added += own.added;
        diff.removed += own.removed;
        diff.dirty |= own.dirty;
    }
    let start = below().filter(ended).map(|task| task.node.created_at).min()?;
    let end = below().filter_map(|task| task.node.results.last()).map(|result| result.at).max();
    Some(Summary {
        passed: below().filter(|task| task.node.status == Status::Passed).count(),
        failed: below().filter(|task| task.node.status == Status::Failed).count(),
        tasks: top.iter().map(|task| task.node.id).collect(),
        diff,
        checks,
        cost: total.cost,
        millis: end.map_or(0, |end| millis(start, end)),
    })
}

fn millis(start: Timestamp, end: Timestamp) -> u64 {
    u64::try_from(end.as_millis() - start.as_millis()).unwrap_or(0)
}

/// Splits the rows of the summary off the lower end of a transcript. They are not shown while older text is read.
pub fn split(task: &TaskView, project: &ProjectState, transcript: &Transcript, area: Rect) -> (Rect, Rect) {
    let none = Rect { y: area.bottom(), height: 0, ..area };
    if task.node.parent.is_some() || !transcript.is_following() || task.is_working() {
        return (area, none);
    }
    let Some(summary) = summary(project) else { return (area, none) };
    let rows = u16::try_from(summary.tasks.len().min(MOST_TASKS + 1) + 4).unwrap_or(u16::MAX);
    if area.height < 8 {
        return (area, none);
    }
    let height = rows.min(area.height / 2);
    let upper = Rect { height: area.height - height, ..area };
    (upper, Rect { y: upper.bottom(), height, ..area })
}

/// Draws the summary. Where there is no room for all tasks, the last ones are counted.
pub fn view(project: &ProjectState, keys: &Keys, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let Some(summary) = summary(project).filter(|_| area.height >= 3) else { return };
    let theme = cx.theme;
    let surface = Rect { y: area.y + 1, height: area.height - 1, ..area };
    draw::clear(buffer, surface, theme, Role::Card);
    for y in surface.y..surface.bottom() {
        buffer.set_string(surface.x, y, theme.glyphs.selected, theme.style(Role::Ok));
    }
    let inner = draw::readable(Rect { x: surface.x + 2, width: surface.width.saturating_sub(4), ..surface });
    headline(&summary, project, cx, inner, buffer);
    let room = usize::from(inner.height.saturating_sub(3));
    let listed = if summary.tasks.len() > room { room.saturating_sub(1) } else { summary.tasks.len() }.min(MOST_TASKS);
    let mut y = 1;
    for id in summary.tasks.iter().take(listed) {
        let row = Rect { y: inner.y + y, height: 1, ..inner };
        y += 1;
        task_line(*id, project, cx, row, buffer);
    }
    let hidden = summary.tasks.len() - listed;
    if hidden > 0 && room > 0 {
        let words = format!("{} {} more", theme.glyphs.ellipsis, hidden);
        draw::text(buffer, inner, (2, y), &words, theme.style(Role::Faint));
    }
    if inner.height >= 2 {
        let line = next_keys(keys, cx);
        let last = Rect { y: inner.bottom() - 1, height: 1, ..inner };
        draw::line(buffer, last, 0, &draw::cut(&line, usize::from(last.width), theme.glyphs));
    }
}

fn headline(summary: &Summary, project: &ProjectState, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    let (sign, role) = match summary.failed {
        0 => (theme.glyphs.passed, Role::Ok),
        _ => (theme.glyphs.failed, Role::Error),
    };
    let words = match (summary.passed, summary.failed) {
        (1, 0) => "The task is done".to_owned(),
        (passed, 0) => format!("All {passed} tasks are done"),
        (passed, failed) => format!("{passed} done, {failed} failed"),
    };
    let mut spans = vec![Span::styled(format!("{sign} {words}"), theme.style(role))];
    let mut add = |text: String, role: Role| spans.push(Span::styled(text, theme.style(role)));
    if summary.diff.files > 0 {
        add(format!("   {}", text::count(summary.diff.files, "file", "files")), Role::Text);
        add(format!(" +{}", summary.diff.added), Role::DiffPlus);
        add(format!(" -{}", summary.diff.removed), Role::DiffMinus);
    }
    match summary.checks {
        Checks { passed: 0, failed: 0 } => {}
        Checks { passed, failed: 0 } => add(format!("   {passed} verified"), Role::Ok),
        Checks { passed, failed } => add(format!("   verify: {passed} passed, {failed} failed"), Role::Error),
    }
    let mut right = Vec::new();
    if summary.millis > 0 {
        right.push(labels::duration(summary.millis));
    }
    if project.total_tokens() > 0 {
        right.push(format!("{} tok", labels::tokens(project.total_tokens())));
    }
    if summary.cost.0 > 0 {
        right.push(summary.cost.to_string());
    }
    let right = right.join("   ");
    let taken = u16::try_from(right.len()).unwrap_or(u16::MAX);
    let room = usize::from(area.width.saturating_sub(taken + 2));
    draw::line(buffer, area, 0, &draw::cut(&Line::from(spans), room, theme.glyphs));
    draw::right(buffer, area, 0, &right, theme.style(Role::Muted));
}

/// Draws a task of the list: its state, its title, its changes, and what came of its branch.
fn task_line(id: TaskId, project: &ProjectState, cx: &Cx<'_>, row: Rect, buffer: &mut Buffer) {
    let theme = cx.theme;
    let Some(task) = project.task(id) else { return };
    let (sign, role) = labels::state(task, false, theme.glyphs);
    draw::text(buffer, row, (2, 0), sign, theme.style(role));
    let mut spans = Vec::new();
    if let Some(diff) = task.diff.filter(|diff| diff.files > 0) {
        spans.push(Span::styled(format!("+{}", diff.added), theme.style(Role::DiffPlus)));
        spans.push(Span::styled(format!(" -{}", diff.removed), theme.style(Role::DiffMinus)));
    }
    let (word, role) = outcome(task);
    spans.push(Span::styled(format!("  {word:>10}"), theme.style(role)));
    let right = Line::from(spans);
    let columns = u16::try_from(right.width()).unwrap_or(u16::MAX).min(row.width);
    buffer.set_line(row.right() - columns, row.y, &right, columns);
    let room = usize::from(row.width.saturating_sub(columns + 6));
    draw::text(buffer, row, (4, 0), &draw::fit(&project.title(id), room, theme.glyphs), theme.style(Role::Text));
}

fn outcome(task: &TaskView) -> (&'static str, Role) {
    match (task.node.status, &task.receipt) {
        (Status::Failed, _) => ("failed", Role::Error),
        _ if task.is_merged() => ("merged", Role::Ok),
        (_, Some(receipt)) if receipt.passed() => ("verified", Role::Ok),
        (_, Some(_)) => ("not verified", Role::Warn),
        (_, None) => ("done", Role::Muted),
    }
}

fn next_keys(keys: &Keys, cx: &Cx<'_>) -> Line<'static> {
    let all = [
        (&keys.diff, "see the changes"),
        (&keys.merge, "merge"),
        (&keys.rewind, "rewind"),
        (&keys.board, "all agents"),
    ];
    let pairs = all.into_iter().flat_map(|(key, label)| {
        [
            Span::styled(key.clone(), cx.theme.style(Role::Key)),
            Span::styled(format!(" {label}   "), cx.theme.style(Role::Muted)),
        ]
    });
    let leave = keys.leave.iter().flat_map(|key| {
        [Span::styled(key.clone(), cx.theme.style(Role::Key)), Span::styled(", then   ", cx.theme.style(Role::Muted))]
    });
    Line::from(leave.chain(pairs).collect::<Vec<_>>())
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;

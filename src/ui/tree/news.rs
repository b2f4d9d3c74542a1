//! The list below the tree: branches that conflict, merges that wait, and what the agents did last.
//!
//! It takes the rows that the tree leaves empty. While the tree has no room for second lines, a few rows are kept for it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::base::{TaskId, sanitize};
use crate::engine::snapshot::TaskView;
use crate::text::wrap::{self, Break};
use crate::text::{Row, Span, width};
use crate::theme::{Glyphs, Role};
use crate::ui::action::Action;
use crate::ui::draw;
use crate::ui::live_lines::{News, What};
use crate::ui::model::Model;
use crate::ui::msg::Cx;
use crate::ui::tree::view::fits_with_second_lines;

/// The rows of conflicts and waiting merges.
const MOST_WARNINGS: usize = 8;
/// The rows that are kept for what the agents do while the tree has no room for it.
const KEPT: usize = 5;
/// The columns of a title before what happened.
const TITLE: usize = 14;

/// Returns the rows to keep for the list below the tree.
pub fn news_rows(model: &Model, columns: u16) -> u16 {
    let warnings = warnings(model, &Glyphs::UNICODE, columns).len().min(MOST_WARNINGS);
    let height = usize::from(model.layout.tree.height + model.layout.news.height);
    let has_room = fits_with_second_lines(&model.tree, &model.project, &model.live_lines, height);
    let news = model.live_lines.news().count().min(KEPT);
    let live = if has_room || news == 0 { 0 } else { news + 1 };
    let rows = warnings + live;
    u16::try_from(if rows > 0 { rows + 1 } else { 0 }).unwrap_or(u16::MAX)
}

/// Draws the list into the rows below the tree, after a blank one.
pub fn news(model: &Model, cx: &Cx<'_>, area: Rect, buffer: &mut Buffer) {
    if area.height < 2 || area.width == 0 {
        return;
    }
    let inner = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let mut rows = warnings(model, cx.theme.glyphs, area.width);
    rows.truncate(MOST_WARNINGS);
    let left = usize::from(inner.height).saturating_sub(rows.len() + usize::from(!rows.is_empty()) + 1);
    let lines: Vec<_> =
        model.live_lines.news().filter_map(|news| line(model, cx.theme.glyphs, news, area.width)).take(left).collect();
    if !lines.is_empty() {
        if !rows.is_empty() {
            rows.push(Row::blank());
        }
        let heading = if model.project.total().working > 0 { " Live" } else { " Latest" };
        rows.push(Row::new(vec![Span::new(heading, Role::Title)]));
        rows.extend(lines);
    }
    for (row, y) in rows.iter().zip(0..inner.height) {
        draw::line(buffer, inner, y, &row.line(cx.theme));
    }
}

/// Returns a row for something that an agent did.
fn line(model: &Model, glyphs: &'static Glyphs, news: &News, columns: u16) -> Option<Row> {
    let task = model.project.task(news.task)?;
    let (sign, role, words) = match &news.what {
        What::Call(words) if task.is_working() => (glyphs.folded, Role::Working, words.as_str()),
        What::Call(words) => (glyphs.folded, Role::Faint, words.as_str()),
        What::Asked => (glyphs.ask, Role::Ask, "asks"),
        What::Passed => (glyphs.passed, Role::Ok, "done"),
        What::Failed => (glyphs.failed, Role::Error, "failed"),
    };
    let room = usize::from(columns).saturating_sub(4);
    let title = width::pad(&model.project.title(news.task), TITLE.min(room / 2), width::Align::Left, glyphs.ellipsis);
    let mut row = Row::new(vec![
        Span::decoration(" ", Role::Text),
        Span::decoration(sign, role),
        Span::new(format!(" {title}"), Role::Muted),
        Span::new(format!(" {}", sanitize::line(words)), Role::Faint),
    ]);
    row.truncate(usize::from(columns).saturating_sub(1), glyphs.ellipsis);
    Some(row)
}

/// Returns the rows of conflicts and waiting merges, with the keys that lead to them.
fn warnings(model: &Model, glyphs: &'static Glyphs, columns: u16) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |sign: &'static str, role: Role, words: String, action: Action, label: &str| {
        let key = format!("{} {label}", model.key_of(action));
        let gap = || Span::decoration(" ", Role::Text);
        let first = [gap(), Span::decoration(sign, role), gap()];
        let rest = [Span::decoration("   ", Role::Text)];
        let words = [Span::new(words, Role::Muted), Span::new(format!("  {key}"), Role::Key)];
        rows.extend(wrap::spans(&words, usize::from(columns).saturating_sub(1).max(8), &first, &rest, Break::Words));
    };
    for (one, other, file) in conflicts(model) {
        let words = format!("{} and {} both change {file}", model.project.title(one), model.project.title(other));
        add(glyphs.clash, Role::Warn, words, Action::ShowConflict, "compare");
    }
    for task in model.project.tasks() {
        let Some(queued) = &task.queued_merge else { continue };
        let (title, host) = (model.project.title(task.node.id), model.project.title(queued.host));
        let words = format!("{title} merges into {} when {host} pauses", sanitize::line(&queued.target));
        add(glyphs.sleeping, Role::Waiting, words, Action::CancelMerge, "cancel");
    }
    rows
}

/// Returns each pair of tasks whose branches conflict, with the first file in conflict.
pub fn conflicts(model: &Model) -> Vec<(TaskId, TaskId, String)> {
    let of_task = |task: &TaskView| {
        let id = task.node.id;
        let pairs = task.clashes.iter().filter(move |clash| id < clash.with || !has_clash(model, clash.with, id));
        pairs
            .map(move |clash| {
                let file = clash.files.first().map(|file| sanitize::line(file).into_owned()).unwrap_or_default();
                let more = if clash.files.len() > 1 { format!(" +{}", clash.files.len() - 1) } else { String::new() };
                (id, clash.with, format!("{file}{more}"))
            })
            .collect::<Vec<_>>()
    };
    model.project.tasks().flat_map(of_task).collect()
}

fn has_clash(model: &Model, task: TaskId, with: TaskId) -> bool {
    model.project.task(task).is_some_and(|task| task.clashes.iter().any(|clash| clash.with == with))
}

#[cfg(test)]
#[path = "news_tests.rs"]
mod tests;

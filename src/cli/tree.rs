//! `mxd tree`: prints the task tree with status, cost, questions and unread messages.

mod watch;

use std::collections::BTreeMap;

use crate::base::{MicroUsd, TaskId, text};
use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::locate::ProjectLocator;
use crate::cli::open_read_only::Viewer;
use crate::cli::paint::{Span, Style};
use crate::cli::table::{Cell, Column, Fit, Table, cell};
use crate::engine::query::TaskRow;
use crate::model::task::Recurring;
use crate::model::{Status, TaskNode};

#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON task per line.
    #[arg(long)]
    json: bool,
    /// Print the tree again when it changes, until Ctrl-C.
    ///
    /// With --json, prints the tasks that changed.
    #[arg(short, long)]
    watch: bool,
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    let viewer = Viewer::open(console, here)?;
    if args.watch {
        watch::run(console, &viewer, args.json)?;
        return Ok(0);
    }
    let rows = viewer.list(console, async |handle| handle.tasks().await)?;
    print(console, &rows, args.json)?;
    console.finish()?;
    Ok(0)
}

fn print(console: &mut Console, rows: &[TaskRow], json: bool) -> Result<(), Failure> {
    if rows.is_empty() && !json {
        console.line("no tasks yet")?;
    }
    let nodes: Nodes<'_> = rows.iter().map(|row| (row.node.id, &row.node)).collect();
    if json {
        rows.iter().try_for_each(|row| console.json(row))
    } else if console.is_terminal() && !rows.is_empty() {
        console.table(&table(&nodes, rows))
    } else {
        rows.iter().try_for_each(|row| console.line(&line(&nodes, row)))
    }
}

type Nodes<'a> = BTreeMap<TaskId, &'a TaskNode>;

/// Returns the tree as a table for a terminal.
fn table(nodes: &Nodes<'_>, rows: &[TaskRow]) -> Table {
    let mut table = Table::new(&[
        Column::right("#"),
        Column::left("Task").fit(Fit::Flexible),
        Column::left("State"),
        Column::right("Cost"),
        Column::left("Waiting"),
        Column::left("Profile").fit(Fit::Optional),
        Column::left("Id").fit(Fit::Optional),
    ]);
    for row in rows {
        let node = &row.node;
        let style = style(row);
        let task: Cell = vec![
            Span::dim(branches(nodes, node)),
            Span::new(format!("{} ", glyph(row)), style),
            Span::new(
                text::headline(&node.title, 200),
                if node.parent.is_none() { Style::Strong } else { Style::Plain },
            ),
        ];
        let waiting = if row.asks > 0 { Style::Warning } else { Style::Plain };
        table.push(vec![
            cell(node.handle(), Style::Dim),
            task,
            cell(state(row), style),
            cell(cost(row).unwrap_or_default(), Style::Plain),
            cell(waits(nodes, row).join(", "), waiting),
            cell(node.non_default_profile().unwrap_or_default(), Style::Plain),
            cell(node.id.short(), Style::Dim),
        ]);
    }
    table
}

/// Returns the state in one word, as the screen shows it.
fn state(row: &TaskRow) -> String {
    row.state.word().to_owned()
}

fn style(row: &TaskRow) -> Style {
    match row.node.status {
        _ if row.asks > 0 || row.state.needs_user() && row.node.status != Status::Failed => Style::Warning,
        Status::InProgress => Style::Accent,
        Status::Passed => Style::Good,
        Status::Failed => Style::Bad,
        Status::Draft | Status::Closed => Style::Dim,
        Status::Pending => Style::Plain,
    }
}

fn cost(row: &TaskRow) -> Option<String> {
    let bound = if row.unpriced { "at least " } else { "" };
    (row.cost > MicroUsd::ZERO).then(|| format!("{bound}{}", row.cost))
}

/// Returns the line of a task for another program. The id stays the last word.
fn line(nodes: &Nodes<'_>, row: &TaskRow) -> String {
    let node = &row.node;
    let title = text::headline(&node.title, 60);
    let mut parts = vec![format!("{}{} {title}", branches(nodes, node), glyph(row)), state(row)];
    parts.extend(node.non_default_profile().map(str::to_owned));
    parts.extend(cost(row));
    parts.extend(waits(nodes, row));
    parts.extend(node.number.map(|number| number.to_string()));
    parts.push(node.id.short());
    parts.join("  ")
}

/// Describes what a task waits for.
fn waits(nodes: &Nodes<'_>, row: &TaskRow) -> Vec<String> {
    let mut parts = Vec::new();
    if row.asks > 0 {
        parts.push(text::count(row.asks, "question", "questions"));
    }
    if row.pending_messages > 0 {
        parts.push(text::count(row.pending_messages, "unread message", "unread messages"));
    }
    if let Some(queued) = &row.queued_merge {
        let host = nodes.get(&queued.host).map_or(queued.target.as_str(), |host| host.title.as_str());
        parts.push(format!("merge waits for {}", text::headline(host, 40)));
    }
    parts.extend(recurrence(row));
    parts
}

/// Describes how a task recurs, or `None` if it does not.
fn recurrence(row: &TaskRow) -> Option<String> {
    let mode = match row.node.recurring {
        Recurring::None => return None,
        Recurring::Reset => "reset",
        Recurring::Continue => "continue",
    };
    let schedule = row.schedule.as_ref().map_or_else(String::new, |schedule| format!(" {schedule}"));
    Some(format!("recurring{schedule}, {mode}"))
}

fn glyph(row: &TaskRow) -> char {
    match row.node.status {
        _ if row.asks > 0 => '?',
        _ if row.node.parent.is_none() => '◆',
        Status::Draft => '·',
        Status::Pending => '○',
        Status::InProgress if row.state.is_resting() => '◐',
        Status::InProgress => '●',
        Status::Passed => '✓',
        Status::Failed => '✗',
        Status::Closed => '−',
    }
}

/// Returns the tree lines in front of a task, such as `│ ├ `.
fn branches(nodes: &Nodes<'_>, node: &TaskNode) -> String {
    let parent = |node: &TaskNode| node.parent.and_then(|parent| nodes.get(&parent).copied());
    let is_last = |node: &TaskNode| parent(node).is_none_or(|parent| parent.children.last() == Some(&node.id));
    if node.parent.is_none() {
        return String::new();
    }
    let mut above: Vec<_> =
        std::iter::successors(parent(node), |node| parent(node)).filter(|above| above.parent.is_some()).collect();
    above.reverse();
    let mut out: String = above.iter().map(|above| if is_last(above) { "  " } else { "│ " }).collect();
    out.push_str(if is_last(node) { "└ " } else { "├ " });
    out
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;

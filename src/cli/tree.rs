//! `mxd tree`: prints the task tree with status, cost, questions and unread messages.

use std::collections::BTreeMap;

use crate::base::{MicroUsd, TaskId, text};
use crate::cli::console::{Console, Outcome};
use crate::cli::locate::ProjectLocator;
use crate::cli::open_read_only::Viewer;
use crate::engine::query::TaskRow;
use crate::model::task::Recurring;
use crate::model::{Status, TaskNode};

#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON task per line.
    #[arg(long)]
    json: bool,
}

pub fn run(console: &mut Console, here: &ProjectLocator, args: &Args) -> Outcome {
    let viewer = Viewer::open(console, here)?;
    let rows = viewer.list(console, async |handle| handle.tasks().await)?;
    if rows.is_empty() && !args.json {
        console.line("no tasks yet")?;
    }
    let nodes: Nodes<'_> = rows.iter().map(|row| (row.node.id, &row.node)).collect();
    for row in &rows {
        if args.json {
            console.json(row)?;
        } else {
            console.line(&line(&nodes, row))?;
        }
    }
    console.finish()?;
    Ok(0)
}

type Nodes<'a> = BTreeMap<TaskId, &'a TaskNode>;

fn line(nodes: &Nodes<'_>, row: &TaskRow) -> String {
    let node = &row.node;
    let title = text::headline(&node.title, 60);
    let mut parts = vec![format!("{}{} {title}", branches(nodes, node), glyph(row)), node.status.to_string()];
    if let Some(profile) = node.non_default_profile() {
        parts.push(profile.to_owned());
    }
    if row.cost > MicroUsd::ZERO {
        let bound = if row.unpriced { "at least " } else { "" };
        parts.push(format!("{bound}{}", row.cost));
    }
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
    parts.push(node.id.short());
    parts.join("  ")
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

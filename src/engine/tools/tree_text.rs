//! Formats the tree for models. The output is bounded and counts what it hides.

use std::fmt::Write as _;

use crate::base::{TaskId, text};
use crate::engine::query::{TaskCard, TaskHits, TreeRow};
use crate::model::event::Verdict;
use crate::model::task::{Recurring, Status};

/// The maximum size of a listing.
const LISTING_BYTES: usize = 12_000;
/// The maximum size of a task's details.
const CARD_BYTES: usize = 24_000;

/// Formats rows of the tree for the agent of `own`.
pub(super) fn listing(rows: &[TreeRow], own: TaskId, include_closed: bool) -> String {
    let mut out = String::new();
    let (mut hidden, mut closed) = (0_usize, 0_usize);
    for row in rows {
        if row.status == Status::Closed && !include_closed {
            closed += 1;
            continue;
        }
        if out.len() > LISTING_BYTES {
            hidden += 1;
            continue;
        }
        let indent = "  ".repeat(row.depth);
        let you = if row.id == own { " (you)" } else { "" };
        let working = if row.working { ", at work" } else { "" };
        let asks = if row.asks > 0 { ", waits for the user" } else { "" };
        let rounds = if row.recurring == Recurring::None { "" } else { ", recurring" };
        let title = text::headline(&row.title, 120);
        let number = row.number.map_or_else(String::new, |number| format!(" {number}"));
        // Writing to a string cannot fail.
        let _ =
            writeln!(out, "{indent}- {}{number} [{}{working}{asks}{rounds}] {title}{you}", row.id, row.status.word());
    }
    if hidden > 0 {
        let _ = writeln!(out, "[{hidden} more tasks not shown: ask for a part of the tree with `below`]");
    }
    if closed > 0 {
        let _ = writeln!(out, "[{closed} closed tasks not shown: set include_closed to see them]");
    }
    out
}

/// Formats the details of a task.
pub(super) fn card(card: &TaskCard) -> String {
    let node = &card.node;
    let mut out = String::new();
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(out, "{key}: {value}");
    };
    line("id", &node.id.to_string());
    if let Some(number) = node.number {
        line("number", &number.to_string());
    }
    line("title", &node.title);
    line("status", node.status.word());
    if let Some(above) = &card.parent {
        line("task above", &format!("{} {}", above.id, text::headline(&above.title, 120)));
    }
    if let Some(branch) = &node.branch {
        line("branch", branch);
    }
    if let Some(worktree) = &node.worktree {
        line("worktree", &worktree.display().to_string());
    }
    line("profile", node.profile.as_deref().unwrap_or("none yet: the user chooses"));
    match node.recurring {
        Recurring::None => {}
        Recurring::Reset => line("recurring", "reset: each run starts with an empty conversation"),
        Recurring::Continue => line("recurring", "continue: each run continues the previous conversation"),
    }
    if let Some(round) = node.last_recurring_run {
        line("last run", &round.to_seconds_string());
    }
    if let Some(budget) = node.budget {
        line("budget", &budget.to_string());
    }
    line("cost so far", &card.cost.to_string());
    line("sub tasks", &node.children.len().to_string());
    if !node.description.is_empty() {
        let _ = write!(out, "\n# Description\n\n{}\n", node.description);
    }
    for round in &node.results {
        let verdict = match round.verdict {
            Verdict::Passed => "passed",
            Verdict::Failed => "failed",
        };
        let _ = write!(out, "\n# Result ({verdict}, {})\n\n{}\n", round.at.to_seconds_string(), round.result);
    }
    if out.len() > CARD_BYTES {
        let shown = text::prefix(&out, CARD_BYTES).to_owned();
        return format!("{shown}\n[cut: {} more]", text::size((out.len() - shown.len()) as u64));
    }
    out
}

/// Formats the results of a search.
pub(super) fn hits(words: &str, found: &TaskHits) -> String {
    if words.trim().is_empty() {
        return "The query is empty: give some words.".to_owned();
    }
    if found.total == 0 {
        return format!("No task mentions \"{}\".", text::headline(words, 100));
    }
    let mut out = String::new();
    for hit in &found.hits {
        let _ = writeln!(out, "- {} [{}] {}", hit.id, hit.status, text::headline(&hit.title, 120));
        if let Some(excerpt) = &hit.excerpt {
            let _ = writeln!(out, "    {excerpt}");
        }
    }
    let more = found.total - found.hits.len();
    if more > 0 {
        let _ = writeln!(out, "[{more} more match]");
    }
    out
}

#[cfg(test)]
#[path = "tree_text_tests.rs"]
mod tests;

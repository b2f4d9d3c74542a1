//! The tree as a model reads it: bounded, with what is hidden counted.

use std::fmt::Write as _;

use crate::base::{TaskId, text};
use crate::model::task::{Recurring, Status, TaskNode};
use crate::model::tree::{Facts, Tree};

/// What a listing may take of a conversation.
const LISTING_BYTES: usize = 12_000;
/// What a task's own card may.
const CARD_BYTES: usize = 24_000;
/// What one line of a search says of a result.
const EXCERPT_CHARS: usize = 160;

/// Returns the part of the tree below `top`, as seen by the agent of `own`.
pub fn render(tree: &Tree, top: TaskId, own: TaskId, include_closed: bool, facts: impl Fn(TaskId) -> Facts) -> String {
    let base = tree.depth(top);
    let mut out = String::new();
    let (mut hidden, mut closed) = (0_usize, 0_usize);
    for node in tree.walk(top) {
        if node.status == Status::Closed && !include_closed {
            closed += 1;
            continue;
        }
        if out.len() > LISTING_BYTES {
            hidden += 1;
            continue;
        }
        let indent = "  ".repeat(tree.depth(node.id) - base);
        let facts = facts(node.id);
        let you = if node.id == own { " (you)" } else { "" };
        let working = if facts.working { ", at work" } else { "" };
        let asks = if facts.asks > 0 { ", waits for the person" } else { "" };
        let rounds = if node.recurring == Recurring::None { "" } else { ", recurring" };
        // Writing to a string cannot fail.
        let title = text::headline(&node.title, 120);
        let _ = writeln!(out, "{indent}- {} [{}{working}{asks}{rounds}] {title}{you}", node.id, node.status.word());
    }
    if hidden > 0 {
        let _ = writeln!(out, "[{hidden} more tasks not shown: ask for a part of the tree with `below`]");
    }
    if closed > 0 {
        let _ = writeln!(out, "[{closed} closed tasks not shown: set include_closed to see them]");
    }
    out
}

/// Returns everything about one task.
pub fn card(tree: &Tree, node: &TaskNode, facts: Facts) -> String {
    let mut out = String::new();
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(out, "{key}: {value}");
    };
    line("id", &node.id.to_string());
    line("title", &node.title);
    line("status", node.status.word());
    if let Some(above) = node.parent.and_then(|above| tree.get(above)) {
        line("task above", &format!("{} {}", above.id, text::headline(&above.title, 120)));
    }
    if let Some(branch) = &node.branch {
        line("branch", branch);
    }
    if let Some(worktree) = &node.worktree {
        line("worktree", &worktree.display().to_string());
    }
    line("profile", &node.profile);
    match node.recurring {
        Recurring::None => {}
        Recurring::Reset => line("recurring", "reset: each round begins with an empty conversation"),
        Recurring::Continue => line("recurring", "continue: each round goes on with the one before"),
    }
    if let Some(round) = node.round {
        line("last round", &round.to_seconds_string());
    }
    if let Some(budget) = node.budget {
        line("budget", &budget.to_string());
    }
    line("cost so far", &facts.cost.to_string());
    line("sub tasks", &node.children.len().to_string());
    if !node.description.is_empty() {
        let _ = write!(out, "\n# Description\n\n{}\n", node.description);
    }
    for round in &node.results {
        let verdict = match round.verdict {
            crate::model::event::Verdict::Passed => "passed",
            crate::model::event::Verdict::Failed => "failed",
        };
        let _ = write!(out, "\n# Result ({verdict}, {})\n\n{}\n", round.at.to_seconds_string(), round.result);
    }
    if out.len() > CARD_BYTES {
        let shown = text::prefix(&out, CARD_BYTES).to_owned();
        return format!("{shown}\n[cut: {} more]", text::size((out.len() - shown.len()) as u64));
    }
    out
}

/// Returns the tasks that match a query best, with where they match.
pub fn search(tree: &Tree, query: &str, limit: usize) -> String {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    if words.is_empty() {
        return "The query is empty: give some words.".to_owned();
    }
    let mut found: Vec<(usize, &TaskNode)> =
        tree.all().map(|node| (score(node, &words), node)).filter(|(score, _)| *score > 0).collect();
    // The best first; of equals the newest.
    found.sort_by(|(a, left), (b, right)| b.cmp(a).then(right.id.cmp(&left.id)));
    if found.is_empty() {
        return format!("No task mentions \"{}\".", text::headline(query, 100));
    }
    let total = found.len();
    let mut out = String::new();
    for (_, node) in found.iter().take(limit.clamp(1, 50)) {
        let _ = writeln!(out, "- {} [{}] {}", node.id, node.status, text::headline(&node.title, 120));
        if let Some(excerpt) = excerpt(node, &words) {
            let _ = writeln!(out, "    {excerpt}");
        }
    }
    if total > limit {
        let _ = writeln!(out, "[{} more match]", total - limit);
    }
    out
}

/// Titles count most, results more than descriptions: they say what became of it.
fn score(node: &TaskNode, words: &[String]) -> usize {
    let title = node.title.to_lowercase();
    let description = node.description.to_lowercase();
    let results: Vec<String> = node.results.iter().map(|round| round.result.to_lowercase()).collect();
    let mut sum = 0;
    for word in words {
        let hit = usize::from(title.contains(word)) * 8
            + usize::from(description.contains(word)) * 2
            + usize::from(results.iter().any(|result| result.contains(word))) * 3;
        if hit == 0 {
            continue;
        }
        // A task that has all the words is worth more than one that has a word often.
        sum += hit + 10;
    }
    sum
}

fn excerpt(node: &TaskNode, words: &[String]) -> Option<String> {
    let texts = node.results.iter().rev().map(|round| round.result.as_str()).chain([node.description.as_str()]);
    let lines = texts.flat_map(str::lines).map(str::trim);
    let hit = lines.filter(|line| !line.is_empty()).find(|line| {
        let line = line.to_lowercase();
        words.iter().any(|word| line.contains(word))
    })?;
    Some(text::headline(hit, EXCERPT_CHARS))
}

#[cfg(test)]
#[path = "tree_text_tests.rs"]
mod tests;

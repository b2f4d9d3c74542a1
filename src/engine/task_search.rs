//! Finds tasks by their titles, descriptions and results.

use crate::base::text;
use crate::engine::query::{TaskHit, TaskHits};
use crate::model::task::TaskNode;
use crate::model::tree::Tree;

/// How much of a matching line is shown.
const EXCERPT_CHARS: usize = 160;

/// Returns the tasks that match `words` best. Empty if there are no words.
pub(in crate::engine) fn search(tree: &Tree, words: &str, limit: usize) -> TaskHits {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let mut found: Vec<(usize, &TaskNode)> =
        tree.all().map(|node| (score(node, &words), node)).filter(|(score, _)| *score > 0).collect();
    // Best first; among equals, newest first.
    found.sort_by(|(a, left), (b, right)| b.cmp(a).then(right.id.cmp(&left.id)));
    let total = found.len();
    let hit = |(_, node): (usize, &TaskNode)| TaskHit {
        id: node.id,
        status: node.status,
        title: node.title.clone(),
        excerpt: excerpt(node, &words),
    };
    TaskHits { hits: found.into_iter().take(limit).map(hit).collect(), total }
}

/// Returns how well a task matches. Titles count most, results more than descriptions.
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
        // A task with all words ranks above one that has a single word in many places.
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
#[path = "task_search_tests.rs"]
mod tests;

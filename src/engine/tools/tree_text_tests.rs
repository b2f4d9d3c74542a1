use std::sync::Arc;

use super::*;
use crate::base::{IdSource, SystemClock};
use crate::engine::query::TaskHit;

fn rows(titles: &[&str]) -> Vec<TreeRow> {
    let ids = IdSource::new(Arc::new(SystemClock));
    let row = |title: &&str| TreeRow {
        id: TaskId::fresh(&ids),
        number: None,
        depth: 1,
        status: Status::Pending,
        title: (*title).to_owned(),
        working: false,
        asks: 0,
        recurring: Recurring::None,
    };
    titles.iter().map(row).collect()
}

#[test]
fn a_listing_is_bounded_and_counts_what_it_hides() {
    let titles: Vec<String> = (0..1_000).map(|n| format!("task number {n}")).collect();
    let rows = rows(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    let text = listing(&rows, rows[0].id, true);
    assert!(text.len() < LISTING_BYTES + 400, "{}", text.len());
    let shown = text.lines().filter(|line| line.contains("task number")).count();
    assert!(text.contains(&format!("[{} more tasks not shown", 1_000 - shown)), "{text}");
}

#[test]
fn closed_tasks_are_counted_unless_asked_for() {
    let mut rows = rows(&["open", "shut"]);
    rows[1].status = Status::Closed;
    let text = listing(&rows, rows[0].id, false);
    assert!(text.contains("  - ") && text.contains("open (you)") && !text.contains("shut"), "{text}");
    assert!(text.contains("[1 closed tasks not shown"), "{text}");
    assert!(listing(&rows, rows[0].id, true).contains("shut"));
}

#[test]
fn a_search_shows_where_it_matched_and_counts_the_rest() {
    let id = rows(&["Docs"])[0].id;
    let hit = |excerpt: Option<&str>| TaskHit {
        id,
        status: Status::Pending,
        title: "Docs".to_owned(),
        excerpt: excerpt.map(str::to_owned),
    };
    let found = TaskHits { hits: vec![hit(Some("Explain the login")), hit(None)], total: 5 };
    let text = hits("login", &found);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("Docs") && lines[1] == "    Explain the login", "{text}");
    assert_eq!((lines.len(), lines[3]), (4, "[3 more match]"));
    assert_eq!(hits("nowhere", &TaskHits::default()), "No task mentions \"nowhere\".");
    assert!(hits(" ", &TaskHits::default()).contains("empty"));
}

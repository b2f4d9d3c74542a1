use super::*;
use crate::base::{IdSource, SystemClock, Timestamp};
use std::sync::Arc;

fn tree_of(titles: &[&str]) -> (Tree, Vec<TaskId>) {
    let ids = IdSource::new(Arc::new(SystemClock));
    let node = |title: &str| TaskNode::new(TaskId::fresh(&ids), title, "engineer", Timestamp::EPOCH);
    let root = node("root");
    let mut all = vec![root.id];
    let mut tree = Tree::new(root);
    for title in titles {
        let child = node(title);
        all.push(child.id);
        tree.insert(child, all[0]).unwrap();
    }
    (tree, all)
}

#[test]
fn a_listing_is_bounded_and_counts_what_it_hides() {
    let titles: Vec<String> = (0..1_000).map(|n| format!("task number {n}")).collect();
    let (tree, ids) = tree_of(&titles.iter().map(String::as_str).collect::<Vec<_>>());
    let text = render(&tree, ids[0], ids[0], true, |_| Facts::default());
    assert!(text.len() < LISTING_BYTES + 400, "{}", text.len());
    let shown = text.lines().filter(|line| line.contains("task number")).count();
    assert!(text.contains(&format!("[{} more tasks not shown", 1_000 - shown)), "{text}");
}

#[test]
fn closed_tasks_are_counted_unless_asked_for() {
    let (mut tree, ids) = tree_of(&["open", "shut"]);
    tree.edit(ids[2], |node| node.status = Status::Closed).unwrap();
    let text = render(&tree, ids[0], ids[1], false, |_| Facts::default());
    assert!(text.contains("open (you)") && !text.contains("shut"), "{text}");
    assert!(text.contains("[1 closed tasks not shown"), "{text}");
    assert!(render(&tree, ids[0], ids[1], true, |_| Facts::default()).contains("shut"));
}

#[test]
fn a_search_ranks_titles_first_and_shows_where_it_matched() {
    let (mut tree, ids) = tree_of(&["Login page", "Session store", "Docs"]);
    tree.edit(ids[3], |node| node.description = "Explain the login\nand the rest".to_owned()).unwrap();
    let text = search(&tree, "login", 10);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("Login page"), "{text}");
    assert!(lines[1].contains("Docs") && lines[2].contains("Explain the login"), "{text}");
    assert!(!text.contains("Session store"), "{text}");
    assert_eq!(search(&tree, "nowhere", 10), "No task mentions \"nowhere\".");
}

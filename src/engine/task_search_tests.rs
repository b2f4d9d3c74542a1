use std::sync::Arc;

use super::*;
use crate::base::{IdSource, SystemClock, TaskId, Timestamp};

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
fn a_search_ranks_titles_first_and_shows_where_it_matched() {
    let (mut tree, ids) = tree_of(&["Login page", "Session store", "Docs"]);
    tree.edit(ids[3], |node| node.description = "Explain the login\nand the rest".to_owned()).unwrap();
    let found = search(&tree, "login", 10);
    let hits: Vec<(TaskId, Option<&str>)> = found.hits.iter().map(|hit| (hit.id, hit.excerpt.as_deref())).collect();
    assert_eq!(hits, [(ids[1], None), (ids[3], Some("Explain the login"))]);
    assert_eq!(search(&tree, "login", 1).total, 2, "what is not shown is counted");
    assert_eq!((search(&tree, "nowhere", 10), search(&tree, " ", 10)), Default::default());
}

use super::*;
use crate::base::{IdSource, SystemClock, Timestamp};
use crate::model::Tree;

#[test]
fn a_terminal_gets_a_table_with_numbers_and_states() {
    let ids = IdSource::new(std::sync::Arc::new(SystemClock));
    let node = |title: &str, status| TaskNode {
        status,
        ..TaskNode::new(TaskId::fresh(&ids), title, "engineer", Timestamp::EPOCH)
    };
    let mut tree = Tree::new(node("Build a calculator", Status::InProgress));
    let root = tree.root_id();
    tree.insert(node("Parser", Status::Passed), root).unwrap();
    tree.insert(node("Printer", Status::Pending), root).unwrap();
    let row = |node: &TaskNode| TaskRow {
        depth: tree.depth(node.id),
        cost: MicroUsd(if node.status == Status::Passed { 1_230_000 } else { 0 }),
        asks: usize::from(node.status == Status::Pending),
        ..TaskRow::of(node.clone())
    };
    let rows: Vec<TaskRow> = tree.all().map(row).collect();
    let nodes: Nodes<'_> = rows.iter().map(|row| (row.node.id, &row.node)).collect();
    let lines: Vec<String> = table(&nodes, &rows)
        .lines(80)
        .into_iter()
        .map(|line| line.into_iter().map(|span| span.text).collect())
        .map(|line: String| rows.iter().fold(line, |line, row| line.replace(&row.node.id.short(), "ID")))
        .collect();
    assert_eq!(
        lines,
        [
            "#  Task                  State     Cost  Waiting     Id",
            "1  ◆ Build a calculator  idle                        ID",
            "2  ├ ✓ Parser            passed   $1.23              ID",
            "3  └ ? Printer           pending         1 question  ID",
        ]
    );
}

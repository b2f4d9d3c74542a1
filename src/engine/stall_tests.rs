use super::*;
use crate::base::{IdSource, SystemClock, Timestamp};
use crate::model::task::TaskNode;
use std::sync::Arc;

struct Family {
    tree: Tree,
    root: TaskId,
    child: TaskId,
    grandchild: TaskId,
}

fn family() -> Family {
    let ids = IdSource::new(Arc::new(SystemClock));
    let node = |title: &str| TaskNode {
        status: Status::InProgress,
        ..TaskNode::new(TaskId::fresh(&ids), title, "engineer", Timestamp::EPOCH)
    };
    let (root, child, grandchild) = (node("root"), node("child"), node("grandchild"));
    let (root_id, child_id, grandchild_id) = (root.id, child.id, grandchild.id);
    let mut tree = Tree::new(root);
    tree.insert(child, root_id).unwrap();
    tree.insert(grandchild, child_id).unwrap();
    Family { tree, root: root_id, child: child_id, grandchild: grandchild_id }
}

#[test]
fn a_task_waits_for_the_sub_task_that_works() {
    let Family { tree, root, child, grandchild } = family();
    let rest = |task| if task == grandchild { Rest::Busy } else { Rest::Asleep };
    assert_eq!(wait(&tree, root, &rest), Some(Wait::Task { task: child }));
    assert_eq!(wait(&tree, child, &rest), Some(Wait::Task { task: grandchild }));
    assert_eq!(wait(&tree, grandchild, &rest), None);
}

#[test]
fn a_question_to_the_person_is_hope() {
    let Family { tree, root, child, grandchild } = family();
    let rest = |task| if task == grandchild { Rest::AsksPerson } else { Rest::Asleep };
    assert_eq!(wait(&tree, root, &rest), Some(Wait::Task { task: child }));
}

#[test]
fn a_chain_that_ends_in_a_sleeper_is_stalled_and_named() {
    let Family { tree, root, child, grandchild } = family();
    let Some(Wait::Stalled { chain, .. }) = wait(&tree, root, &|_| Rest::Asleep) else { panic!("not stalled") };
    assert_eq!(chain, [root, child, grandchild]);
    let Some(Wait::Stalled { chain, .. }) = wait(&tree, grandchild, &|_| Rest::Asleep) else { panic!("not stalled") };
    assert_eq!(chain, [grandchild]);
}

#[test]
fn a_root_that_is_alone_waits_for_nobody() {
    let Family { mut tree, root, child, grandchild } = family();
    for task in [child, grandchild] {
        tree.edit(task, |node| node.status = Status::Passed).unwrap();
    }
    assert_eq!(wait(&tree, root, &|_| Rest::Asleep), None);
}

#[test]
fn what_the_person_stopped_is_not_stalled_but_who_waits_for_it_is() {
    let Family { tree, root, child, grandchild } = family();
    let rest = |task| if task == grandchild { Rest::Stopped } else { Rest::Asleep };
    assert_eq!(wait(&tree, grandchild, &rest), None);
    let Some(Wait::Stalled { chain, reason }) = wait(&tree, root, &rest) else { panic!("not stalled") };
    assert_eq!(chain, [root, child, grandchild]);
    assert!(reason.contains("was stopped"), "{reason}");
    // What works below it wakes it when it is done.
    let rest = |task| if task == grandchild { Rest::Busy } else { Rest::Stopped };
    assert_eq!(wait(&tree, child, &rest), Some(Wait::Task { task: grandchild }));
}

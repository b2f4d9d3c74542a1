use super::*;
use crate::base::{IdSource, SystemClock, Timestamp};
use crate::model::task::TaskNode;
use std::sync::Arc;

struct Fixture {
    tree: Tree,
    root: TaskId,
    child: TaskId,
    grandchild: TaskId,
}

fn fixture() -> Fixture {
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
    Fixture { tree, root: root_id, child: child_id, grandchild: grandchild_id }
}

#[test]
fn a_task_waits_for_a_running_sub_task() {
    let Fixture { tree, root, child, grandchild } = fixture();
    let progress = |task| if task == grandchild { TaskProgress::Running } else { TaskProgress::Idle };
    assert_eq!(wait(&tree, root, &progress), Some(Wait::Task { task: child }));
    assert_eq!(wait(&tree, child, &progress), Some(Wait::Task { task: grandchild }));
    assert_eq!(wait(&tree, grandchild, &progress), None);
}

#[test]
fn a_task_waits_for_a_sub_task_that_asked_the_user() {
    let Fixture { tree, root, child, grandchild } = fixture();
    let progress = |task| if task == grandchild { TaskProgress::WaitsForUser } else { TaskProgress::Idle };
    assert_eq!(wait(&tree, root, &progress), Some(Wait::Task { task: child }));
}

#[test]
fn a_chain_that_ends_in_an_idle_task_is_stalled() {
    let Fixture { tree, root, child, grandchild } = fixture();
    let Some(Wait::Stalled { chain, .. }) = wait(&tree, root, &|_| TaskProgress::Idle) else { panic!("not stalled") };
    assert_eq!(chain, [root, child, grandchild]);
    let Some(Wait::Stalled { chain, .. }) = wait(&tree, grandchild, &|_| TaskProgress::Idle) else {
        panic!("not stalled")
    };
    assert_eq!(chain, [grandchild]);
}

#[test]
fn an_idle_root_without_sub_tasks_is_not_stalled() {
    let Fixture { mut tree, root, child, grandchild } = fixture();
    for task in [child, grandchild] {
        tree.edit(task, |node| node.status = Status::Passed).unwrap();
    }
    assert_eq!(wait(&tree, root, &|_| TaskProgress::Idle), None);
}

#[test]
fn a_stopped_task_is_not_stalled_but_tasks_that_wait_for_it_are() {
    let Fixture { tree, root, child, grandchild } = fixture();
    let progress = |task| if task == grandchild { TaskProgress::Stopped } else { TaskProgress::Idle };
    assert_eq!(wait(&tree, grandchild, &progress), None);
    let Some(Wait::Stalled { chain, reason }) = wait(&tree, root, &progress) else { panic!("not stalled") };
    assert_eq!(chain, [root, child, grandchild]);
    assert!(reason.contains("was stopped"), "{reason}");
    // A sub task that runs wakes it when it is done.
    let progress = |task| if task == grandchild { TaskProgress::Running } else { TaskProgress::Stopped };
    assert_eq!(wait(&tree, child, &progress), Some(Wait::Task { task: grandchild }));
}

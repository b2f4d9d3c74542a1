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

fn chain(wait: Option<Wait>) -> Vec<TaskId> {
    match wait {
        Some(Wait::Stalled { chain, .. }) => chain,
        other => panic!("not stalled: {other:?}"),
    }
}

#[test]
fn only_the_last_of_a_chain_is_stalled_and_the_others_wait_for_it() {
    let Fixture { tree, root, child, grandchild } = fixture();
    let idle = |_| TaskProgress::Idle;
    assert_eq!(wait(&tree, root, &idle), Some(Wait::Task { task: child }));
    assert_eq!(wait(&tree, child, &idle), Some(Wait::Task { task: grandchild }));
    assert_eq!(chain(wait(&tree, grandchild, &idle)), [grandchild]);
}

#[test]
fn a_task_that_nobody_waits_for_is_idle() {
    let Fixture { mut tree, root, child, grandchild } = fixture();
    // The parent is at work: it can go on without this one.
    for busy in [TaskProgress::Running, TaskProgress::WaitsForUser, TaskProgress::Stopped] {
        let progress = |task| if task == child { busy } else { TaskProgress::Idle };
        assert_eq!(wait(&tree, grandchild, &progress), Some(Wait::Idle), "{busy:?}");
    }
    // Another sub task of the parent is at work.
    let other = TaskNode {
        status: Status::InProgress,
        ..TaskNode::new(TaskId::fresh(&IdSource::new(Arc::new(SystemClock))), "other", "engineer", Timestamp::EPOCH)
    };
    let id = other.id;
    tree.insert(other, child).unwrap();
    let progress = |task| if task == id { TaskProgress::Running } else { TaskProgress::Idle };
    assert_eq!(wait(&tree, grandchild, &progress), Some(Wait::Idle));
    // The parent has finished.
    tree.edit(child, |node| node.status = Status::Passed).unwrap();
    assert_eq!(wait(&tree, grandchild, &|_| TaskProgress::Idle), Some(Wait::Idle));
    assert_eq!(wait(&tree, root, &|_| TaskProgress::Idle), None);
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
    assert_eq!(wait(&tree, root, &progress), Some(Wait::Task { task: child }));
    let Some(Wait::Stalled { chain, reason }) = wait(&tree, child, &progress) else { panic!("not stalled") };
    assert_eq!(chain, [child, grandchild]);
    assert!(reason.contains("was stopped"), "{reason}");
    // A sub task that runs wakes it when it is done.
    let progress = |task| if task == grandchild { TaskProgress::Running } else { TaskProgress::Stopped };
    assert_eq!(wait(&tree, child, &progress), Some(Wait::Task { task: grandchild }));
}

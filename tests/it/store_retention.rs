//! Sessions of deleted tasks are forgotten when the person wants only so many, and no others ever are.

use std::collections::BTreeSet;

use mxd::base::{TaskId, Timestamp};
use mxd::model::TaskNode;
use mxd::model::event::{Body, TaskChanged};
use mxd::store::retention::forget_deleted;

use crate::support::sim_disk::SimDisk;
use crate::support::store::Bench;

/// A session that remembers its task, and one whose task was deleted.
async fn session(bench: &Bench, deleted: bool) -> TaskId {
    let (store, task) = (bench.store(), bench.task());
    let node = Box::new(TaskNode::new(task, "a task", "engineer", Timestamp::EPOCH));
    store.append(task, None, Body::from(TaskChanged::Set { node })).await.unwrap();
    if deleted {
        store.append(task, None, Body::from(TaskChanged::Removed)).await.unwrap();
    }
    task
}

#[tokio::test]
async fn only_the_newest_sessions_of_deleted_tasks_stay_and_nobody_elses_goes() {
    let disk = SimDisk::new();
    let bench = Bench::new(disk.clone(), "/project");
    let in_tree = session(&bench, false).await;
    // The tree file has lost it: the session does not say that it was deleted.
    let lost = session(&bench, false).await;
    let mut deleted = Vec::new();
    for _ in 0..4 {
        deleted.push(session(&bench, true).await);
    }
    // What is in the tree stays whatever its session says: the tree is what counts.
    let revived = session(&bench, true).await;
    // The oldest was spoken of last, so it is the newest.
    bench.store().append(deleted[0], None, Body::from(TaskChanged::Removed)).await.unwrap();
    let beside = |task: TaskId, end: &str| bench.sessions_folder().join(format!("{task}.jsonl{end}"));
    let (torn, stranger) = (beside(deleted[1], ".torn-1"), beside(deleted[1], ".mine"));
    disk.put(&torn, b"{\"v\":1");
    disk.put(&stranger, b"a copy");

    let known = BTreeSet::from([in_tree, revived]);
    let forget = |keep| forget_deleted(bench.disk.as_ref(), &bench.sessions(), |task| known.contains(&task), keep);
    assert_eq!(forget(100).unwrap(), []);
    assert_eq!(forget(5).unwrap(), [], "five are not in the tree");
    assert_eq!(forget(2).unwrap(), [deleted[1], deleted[2]]);
    let mut left = vec![in_tree, lost, deleted[0], deleted[3], revived];
    left.sort_unstable();
    assert_eq!(bench.sessions().list().unwrap(), left);
    assert_eq!((disk.content(&torn), disk.content(&stranger).is_some()), (None, true));
    assert_eq!(forget(2).unwrap(), [], "there is nothing left to do");
}

#[tokio::test]
async fn a_session_that_cannot_be_understood_is_not_forgotten() {
    let disk = SimDisk::new();
    let bench = Bench::new(disk.clone(), "/project");
    let (broken, deleted) = (session(&bench, false).await, session(&bench, true).await);
    disk.put(&bench.log(broken), b"\0\0\0\0 not a session\n");
    let forgotten = forget_deleted(bench.disk.as_ref(), &bench.sessions(), |_| false, 0).unwrap();
    assert_eq!(forgotten, [deleted]);
    assert!(disk.content(&bench.log(broken)).is_some());
}

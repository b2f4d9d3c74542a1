use super::*;
use crate::base::{IdSource, SystemClock, Timestamp};

#[test]
fn the_most_recently_closed_tasks_are_kept() {
    let ids = IdSource::new(Arc::new(SystemClock));
    let node = |title: &str, status, at| TaskNode {
        status,
        updated_at: Timestamp::from_millis(at),
        ..TaskNode::new(TaskId::fresh(&ids), title, "engineer", Timestamp::from_millis(0))
    };
    let root = node("root", Status::Pending, 0);
    let tasks = [node("oldest", Status::Closed, 1), node("latest", Status::Closed, 9), node("done", Status::Passed, 0)];
    let mut tree = Tree::new(root.clone());
    for task in &tasks {
        tree.insert(task.clone(), root.id).unwrap();
    }
    assert_eq!(closed_beyond(&tree, 1), [tasks[0].id]);
    assert_eq!(closed_beyond(&tree, 2), []);
}

#[test]
fn only_old_logs_are_leftovers() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, days: u64| {
        let path = folder.path().join(name);
        let file = std::fs::File::create(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_hours(24 * days)).unwrap();
        path
    };
    let old = file("old.log", 30);
    file("fresh.log", 1);
    file("not-a-log.txt", 30);
    assert_eq!(old_logs(folder.path()), [old]);
    assert_eq!(old_logs(&folder.path().join("missing")), Vec::<PathBuf>::new());
}

#[test]
fn only_a_ready_mark_named_like_a_worktree_identifies_its_task() {
    let folder = tempfile::tempdir().unwrap();
    let task = TaskId::fresh(&IdSource::new(Arc::new(SystemClock)));
    let mark = ready_mark(&folder.path().join(branch::folder(task, "Paint it")));
    assert_eq!(task_of_mark(&mark), None);
    std::fs::write(&mark, "").unwrap();
    assert_eq!(task_of_mark(&mark), Some(task));
    std::fs::write(&mark, "x").unwrap();
    assert_eq!(task_of_mark(&mark), None);
    let other = folder.path().join("notes.ready");
    std::fs::write(&other, "").unwrap();
    assert_eq!(task_of_mark(&other), None);
}

#[test]
fn a_path_is_quoted_for_a_shell() {
    assert_eq!(quoted(Path::new("/a b/c'd")), r"'/a b/c'\''d'");
}

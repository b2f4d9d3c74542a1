use std::sync::Arc;

use super::*;
use crate::base::{IdSource, SystemClock, TaskId};
use crate::engine::command::{ArchivedWork, RestoredWorktree, RevivedTask};
use crate::engine::review::{MergeStrategy, RewindScope};

fn task() -> TaskId {
    TaskId::fresh(&IdSource::new(Arc::new(SystemClock)))
}

#[test]
fn an_undoable_outcome_names_the_command() {
    let task = task();
    let merged = Outcome::Merged { task, how: MergeStrategy::Squash, target: "main".to_owned(), checkout: None };
    let undo = format!("undo with `mxd merge {} --undo`", task.short());
    let words = sentence(&merged).unwrap();
    assert!(words.starts_with("squashed into main (only the branch moved") && words.ends_with(&undo), "{words}");
    let (target, host_title) = ("main".to_owned(), "Root".to_owned());
    let words = sentence(&Outcome::MergeQueued { task, target, host: task, host_title }).unwrap();
    assert!(
        words.contains("\"Root\"") && words.ends_with(&format!("cancel with `mxd merge {} --cancel`", task.short()))
    );
    let words = sentence(&Outcome::Rewound { task, extent: RewindScope::Files }).unwrap();
    assert_eq!(words, format!("rewound the files; redo with `mxd rewind {} --redo`", task.short()));
}

#[test]
fn a_closed_task_lists_what_was_archived() {
    let task = task();
    let closed = |set_aside| sentence(&Outcome::Closed { task, recurs: false, set_aside });
    assert_eq!(closed(ArchivedWork::default()), None);
    let words = closed(ArchivedWork { archived: true, files: Some("/aside".into()), drafts: None }).unwrap();
    assert!(words.contains(&format!("restore it with `mxd restore {task}`.")) && words.ends_with("/aside."), "{words}");
}

#[test]
fn a_restored_task_is_listed_with_its_worktrees() {
    let revived = RevivedTask {
        title: "Login".to_owned(),
        parent: "Root".to_owned(),
        sub_tasks: 1,
        worktrees: vec![
            ("Login".to_owned(), Ok(RestoredWorktree::Uncommitted(2))),
            ("Page".to_owned(), Err("nothing of it was kept".to_owned())),
        ],
    };
    let words = sentence(&Outcome::Revived(revived)).unwrap();
    let lines: Vec<&str> = words.lines().collect();
    assert_eq!(lines[0], "restored \"Login\" under \"Root\" with 1 sub task");
    assert_eq!(lines[1], "  \"Login\": worktree restored, with uncommitted changes in 2 files");
    assert_eq!(lines[2], "  \"Page\": nothing of it was kept");
}

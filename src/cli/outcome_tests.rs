use std::sync::Arc;

use super::*;
use crate::base::{IdSource, SystemClock, TaskId};
use crate::engine::command::{RestoredWorktree, Revived, SetAside};
use crate::engine::review::{Extent, How};

fn task() -> TaskId {
    TaskId::fresh(&IdSource::new(Arc::new(SystemClock)))
}

#[test]
fn what_can_be_undone_is_said_with_the_command_that_does() {
    let task = task();
    let merged = Outcome::Merged { task, how: How::Squash, target: "main".to_owned(), checkout: None };
    let undo = format!("`mxd merge {} --undo` takes it back", task.short());
    let words = sentence(&merged).unwrap();
    assert!(words.starts_with("squashed into main, which is checked out nowhere") && words.ends_with(&undo), "{words}");
    let (target, host_title) = ("main".to_owned(), "Root".to_owned());
    let words = sentence(&Outcome::MergeQueued { task, target, host: task, host_title }).unwrap();
    assert!(
        words.contains("\"Root\"") && words.ends_with(&format!("`mxd merge {} --cancel` cancels it", task.short()))
    );
    let words = sentence(&Outcome::Rewound { task, extent: Extent::Files }).unwrap();
    assert_eq!(words, format!("the files are back; `mxd rewind {} --redo` takes them forth again", task.short()));
}

#[test]
fn a_closed_task_says_what_was_kept_of_it_if_something_was() {
    let task = task();
    let closed = |set_aside| sentence(&Outcome::Closed { task, recurs: false, set_aside });
    assert_eq!(closed(SetAside::default()), None);
    let words = closed(SetAside { archived: true, files: Some("/aside".into()), drafts: None }).unwrap();
    assert!(words.contains(&format!("`mxd restore {task}` brings it back.")) && words.ends_with("/aside."), "{words}");
}

#[test]
fn a_task_that_is_back_is_named_with_its_worktrees() {
    let revived = Revived {
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
    assert_eq!(lines[0], "\"Login\" is back below \"Root\" with 1 sub task");
    assert_eq!(lines[1], "  \"Login\": the worktree is back, with 2 files that are not committed");
    assert_eq!(lines[2], "  \"Page\": nothing of it was kept");
}

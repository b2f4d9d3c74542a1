use super::*;
use crate::engine::command::{RestoredWorktree, RevivedTask};
use crate::engine::deleted_tasks::DeletedTask;
use crate::model::event::{Body, TaskChanged};

/// Deletes a task and answers the removal of its worktrees.
fn delete(rig: &mut Rig, task: TaskId, worktrees: usize) {
    rig.command(Command::Delete { task });
    for _ in 0..worktrees {
        rig.worktree_done(Ok(()));
    }
    assert_eq!(rig.reply(rig.last_command()), Some(Ok(Outcome::Done)));
    assert!(rig.machine.view(task).is_none());
    rig.effects.clear();
}

/// Returns deleted tasks as the driver reads them from their sessions.
fn deleted_tasks(rig: &Rig, tasks: &[TaskId]) -> Vec<DeletedTask> {
    let node = |task: &TaskId| {
        let nodes = rig.log(*task).iter().rev().find_map(|event| match &event.body {
            Body::TaskChanged(TaskChanged::Set { node }) => Some((**node).clone()),
            _ => None,
        });
        DeletedTask { node: nodes.unwrap(), state: SessionState::replay(rig.log(*task)) }
    };
    tasks.iter().map(node).collect()
}

/// Restores a deleted task and answers with what the sessions have of `tasks`.
fn restore(rig: &mut Rig, task: TaskId, tasks: &[TaskId]) {
    assert_eq!(rig.command(Command::Restore { task }), None, "its session is read first");
    let Some(Effect::ReadDeletedTask { then, task: of, known }) = rig.effects.pop() else {
        panic!("its session is not read")
    };
    assert!(of == task && !known.contains(&task) && known.contains(&rig.root()));
    let found = deleted_tasks(rig, tasks);
    rig.feed(Input::DeletedTaskRead { then, result: Ok(found) });
}

#[test]
fn a_restored_task_has_its_parent_worktree_and_conversation() {
    let mut rig = Rig::new();
    let above = rig.make_asleep(rig.root(), "Above");
    let task = rig.make_busy(above, "Task");
    rig.exit(task, &Exit::DonePassed);
    let place = rig.view(task).node.worktree;
    delete(&mut rig, task, 1);
    restore(&mut rig, task, &[task]);
    assert_eq!(rig.worktree_done(Ok(())), task);
    let revived = RevivedTask {
        title: "Task".to_owned(),
        parent: "Above".to_owned(),
        sub_tasks: 0,
        worktrees: vec![("Task".to_owned(), Ok(RestoredWorktree::Clean))],
    };
    assert_eq!(rig.reply(rig.last_command()), Some(Ok(Outcome::Revived(revived))));
    let view = rig.view(task);
    assert_eq!((view.node.status, view.node.parent, view.node.worktree), (Status::Passed, Some(above), place));
    assert_eq!((view.turns, view.node.results.len()), (1, 1), "what it was is what it is");
    rig.crash();
    assert!(!rig.launched().contains(&task), "it is not started by coming back");
    rig.send(task, "go on");
    assert!(rig.launched().contains(&task));
}

#[test]
fn a_deleted_subtree_is_restored_as_one_under_the_root_if_its_parent_is_gone() {
    let Family { mut rig, root, child, grandchild, deepest, .. } = family();
    delete(&mut rig, grandchild, 0);
    delete(&mut rig, child, 0);
    restore(&mut rig, grandchild, &[grandchild, deepest]);
    let Some(Ok(Outcome::Revived(revived))) = rig.reply(rig.last_command()) else { panic!("not answered") };
    assert_eq!((revived.sub_tasks, revived.worktrees.len()), (1, 0));
    assert_eq!(rig.view(grandchild).node.parent, Some(root));
    assert_eq!(rig.view(deepest).node.parent, Some(grandchild));
    assert_eq!(rig.tree.get(grandchild).unwrap().children, [deepest], "and the disk has it");
}

#[test]
fn a_task_deleted_while_it_ran_does_not_start_when_restored() {
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "Task");
    rig.command(Command::Stop { scope: crate::engine::command::StopScope::Task(task) });
    rig.exit_stopped(task);
    delete(&mut rig, task, 1);
    restore(&mut rig, task, &[task]);
    rig.worktree_done(Err(Fault::environment("nothing of it was kept")));
    let Some(Ok(Outcome::Revived(revived))) = rig.reply(rig.last_command()) else { panic!("not answered") };
    let missing = ("Task".to_owned(), Err("nothing of it was kept".to_owned()));
    assert_eq!(revived.worktrees, [missing], "the task is back all the same");
    assert_eq!((rig.status(task), rig.view(task).node.worktree), (Status::Pending, None));
    rig.crash();
    assert!(rig.launched().is_empty());
}

#[test]
fn restoring_an_unknown_task_is_refused() {
    let mut rig = Rig::new();
    let task = TaskId::fresh(&rig.ids);
    rig.command(Command::Restore { task });
    let Some(Effect::ReadDeletedTask { then, .. }) = rig.effects.pop() else { panic!("its session is not read") };
    rig.feed(Input::DeletedTaskRead { then, result: Ok(Vec::new()) });
    assert!(message_of(rig.reply(rig.last_command())).contains("no deleted one"));
}

#[test]
fn a_failed_tree_save_leaves_a_deleted_task_deleted() {
    let mut rig = Rig::new();
    let task = rig.make(rig.root(), "Task");
    delete(&mut rig, task, 0);
    rig.saves = DiskMode::Fails;
    restore(&mut rig, task, &[task]);
    assert!(message_of(rig.reply(rig.last_command())).contains("nothing was changed"));
    assert!(rig.machine.view(task).is_none());
}

use super::*;
use crate::engine::command::{RestoredWorktree, Revived};
use crate::engine::recall::Recalled;
use crate::model::event::{Body, TaskChanged};

/// Deletes a task whose worktrees are put away as they come.
fn delete(rig: &mut Rig, task: TaskId, worktrees: usize) {
    rig.command(Command::Delete { task });
    for _ in 0..worktrees {
        rig.worktree_done(Ok(()));
    }
    assert_eq!(rig.reply(rig.last_command()), Some(Ok(Outcome::Done)));
    assert!(rig.machine.view(task).is_none());
    rig.effects.clear();
}

/// What the sessions remember of tasks, as the driver reads them.
fn remembered(rig: &Rig, tasks: &[TaskId]) -> Vec<Recalled> {
    let node = |task: &TaskId| {
        let nodes = rig.log(*task).iter().rev().find_map(|event| match &event.body {
            Body::TaskChanged(TaskChanged::Set { node }) => Some((**node).clone()),
            _ => None,
        });
        Recalled { node: nodes.unwrap(), state: SessionState::replay(rig.log(*task)) }
    };
    tasks.iter().map(node).collect()
}

/// Wants a deleted task back, and gives the machine what is remembered of `tasks`.
fn bring_back(rig: &mut Rig, task: TaskId, tasks: &[TaskId]) {
    assert_eq!(rig.command(Command::Restore { task }), None, "its session is read first");
    let Some(Effect::Recall { then, task: of, known }) = rig.effects.pop() else { panic!("nobody reads it") };
    assert!(of == task && !known.contains(&task) && known.contains(&rig.root()));
    let found = remembered(rig, tasks);
    rig.feed(Input::Recalled { then, result: Ok(found) });
}

#[test]
fn a_deleted_task_comes_back_below_the_one_it_was_below_with_its_worktree_and_its_conversation() {
    let mut rig = Rig::new();
    let above = rig.make_asleep(rig.root(), "Above");
    let task = rig.make_busy(above, "Task");
    rig.exit(task, &Exit::DonePassed);
    let place = rig.view(task).node.worktree;
    delete(&mut rig, task, 1);
    bring_back(&mut rig, task, &[task]);
    assert_eq!(rig.worktree_done(Ok(())), task);
    let revived = Revived {
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
fn what_was_deleted_together_comes_back_together_and_below_the_root_if_the_task_above_is_gone() {
    let Family { mut rig, root, child, grandchild, deepest, .. } = family();
    delete(&mut rig, grandchild, 0);
    delete(&mut rig, child, 0);
    bring_back(&mut rig, grandchild, &[grandchild, deepest]);
    let Some(Ok(Outcome::Revived(revived))) = rig.reply(rig.last_command()) else { panic!("not answered") };
    assert_eq!((revived.sub_tasks, revived.worktrees.len()), (1, 0));
    assert_eq!(rig.view(grandchild).node.parent, Some(root));
    assert_eq!(rig.view(deepest).node.parent, Some(grandchild));
    assert_eq!(rig.tree.get(grandchild).unwrap().children, [deepest], "and the disk has it");
}

#[test]
fn a_task_at_work_when_it_was_stopped_and_deleted_does_not_begin_when_it_is_back() {
    let mut rig = Rig::new();
    let task = rig.make_busy(rig.root(), "Task");
    rig.command(Command::Stop { scope: crate::engine::command::StopScope::Task(task) });
    rig.stopped(task);
    delete(&mut rig, task, 1);
    bring_back(&mut rig, task, &[task]);
    rig.worktree_done(Err(Fault::environment("nothing of it was kept")));
    let Some(Ok(Outcome::Revived(revived))) = rig.reply(rig.last_command()) else { panic!("not answered") };
    let missing = ("Task".to_owned(), Err("nothing of it was kept".to_owned()));
    assert_eq!(revived.worktrees, [missing], "the task is back all the same");
    assert_eq!((rig.status(task), rig.view(task).node.worktree), (Status::Pending, None));
    rig.crash();
    assert!(rig.launched().is_empty());
}

#[test]
fn a_task_that_nobody_remembers_is_refused() {
    let mut rig = Rig::new();
    let task = TaskId::fresh(&rig.ids);
    rig.command(Command::Restore { task });
    let Some(Effect::Recall { then, .. }) = rig.effects.pop() else { panic!("nobody looks for it") };
    rig.feed(Input::Recalled { then, result: Ok(Vec::new()) });
    assert!(message_of(rig.reply(rig.last_command())).contains("no session remembers"));
}

#[test]
fn a_disk_that_refuses_the_tree_leaves_a_deleted_task_deleted() {
    let mut rig = Rig::new();
    let task = rig.make(rig.root(), "Task");
    delete(&mut rig, task, 0);
    rig.saves = Mood::Refuses;
    bring_back(&mut rig, task, &[task]);
    assert!(message_of(rig.reply(rig.last_command())).contains("nothing was changed"));
    assert!(rig.machine.view(task).is_none());
}

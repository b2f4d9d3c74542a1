use super::*;
use crate::model::AskKind;

fn limited(max_tasks: u32, max_tasks_per_turn: u32) -> (Rig, TaskId) {
    let mut rig = Rig::with(EngineLimits { max_tasks, max_tasks_per_turn, ..EngineLimits::default() });
    let root = rig.root();
    rig.send(root, "begin");
    rig.start(root);
    (rig, root)
}

/// Creates tasks as the agent until one is refused. Returns their number.
fn create_all(rig: &mut Rig, task: TaskId) -> usize {
    (0..100).take_while(|_| rig.agent_command(task, new_task(task)).unwrap().is_ok()).count()
}

#[test]
fn the_user_is_asked_once_when_an_agent_reaches_the_task_limit_of_a_turn() {
    let (mut rig, root) = limited(100, 3);
    assert_eq!(create_all(&mut rig, root), 3);
    assert_eq!(create_all(&mut rig, root), 0);
    assert_eq!((rig.only_ask(root).kind(), rig.count(root, "ask_raised")), (AskKind::TaskLimit, 1));
    rig.go_idle(root);
    rig.effects.clear();
    assert_eq!(rig.answer(root, 0), Some(Ok(Outcome::Done)));
    assert_eq!(rig.launched(), [root], "the answer wakes the agent");
    rig.start(root);
    assert_eq!(create_all(&mut rig, root), 3);
}

#[test]
fn the_next_turn_may_create_tasks_again() {
    let (mut rig, root) = limited(100, 3);
    rig.agent_command(root, new_task(root));
    rig.agent_command(root, new_task(root));
    rig.take_a_turn(root);
    assert_eq!(create_all(&mut rig, root), 3);
}

#[test]
fn a_refusal_holds_until_the_user_writes_and_survives_a_restart() {
    let (mut rig, root) = limited(4, 100);
    assert_eq!(create_all(&mut rig, root), 4);
    rig.answer(root, 1);
    assert_eq!(create_all(&mut rig, root), 0);
    rig.crash();
    assert_eq!((create_all(&mut rig, root), rig.view(root).asks.len()), (0, 0), "no second question");
    rig.send(root, "You may ask again.");
    assert_eq!((create_all(&mut rig, root), rig.view(root).asks.len()), (0, 1));
}

#[test]
fn closed_tasks_do_not_count_and_the_user_is_not_limited() {
    let (mut rig, root) = limited(2, 100);
    let first = rig.make(root, "First");
    rig.make(root, "Second");
    rig.make(root, "Third");
    assert_eq!(create_all(&mut rig, root), 0);
    rig.answer(root, 1);
    rig.command(Command::Close { task: first });
    assert_eq!(create_all(&mut rig, root), 0);
    let second = rig.view(root).node.children[1];
    rig.command(Command::Close { task: second });
    assert_eq!(create_all(&mut rig, root), 1);
}

#[test]
fn an_allowance_counts_from_the_open_tasks() {
    let (mut rig, root) = limited(4, 10);
    let child = rig.make_busy(root, "Child");
    assert_eq!(create_all(&mut rig, child), 3);
    rig.answer(child, 0);
    rig.crash();
    assert_eq!(create_all(&mut rig, child), 10);
}

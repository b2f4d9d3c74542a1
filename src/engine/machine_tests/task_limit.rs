use super::*;
use crate::model::AskKind;

fn limited(max_tasks: u32, max_tasks_per_turn: u32) -> (Rig, TaskId) {
    let mut rig = Rig::with(Limits { max_tasks, max_tasks_per_turn, ..Limits::default() });
    let root = rig.root();
    rig.send(root, "begin");
    rig.start(root);
    (rig, root)
}

/// Lets the agent create tasks until it is refused. Returns how many it made.
fn create_all(rig: &mut Rig, task: TaskId) -> usize {
    (0..100).take_while(|_| rig.ask(task, new_task(task)).unwrap().is_ok()).count()
}

#[test]
fn an_agent_that_creates_too_many_tasks_in_a_turn_waits_for_the_user_who_is_asked_once() {
    let (mut rig, root) = limited(100, 3);
    assert_eq!(create_all(&mut rig, root), 3);
    assert_eq!(create_all(&mut rig, root), 0);
    assert_eq!((rig.only_ask(root).kind(), rig.count(root, "ask_raised")), (AskKind::TaskLimit, 1));
    rig.rest(root);
    rig.effects.clear();
    assert_eq!(rig.answer(root, 0), Some(Ok(Outcome::Done)));
    assert_eq!(rig.launched(), [root], "the answer wakes the agent");
    rig.start(root);
    assert_eq!(create_all(&mut rig, root), 3);
}

#[test]
fn another_turn_may_create_tasks_again() {
    let (mut rig, root) = limited(100, 3);
    rig.ask(root, new_task(root));
    rig.ask(root, new_task(root));
    rig.take_a_turn(root);
    assert_eq!(create_all(&mut rig, root), 3);
}

#[test]
fn a_refusal_is_final_until_the_user_speaks_and_survives_a_restart() {
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
fn closed_tasks_make_room_and_what_the_user_creates_is_not_limited() {
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
fn what_the_user_allows_counts_from_the_tasks_that_are_open() {
    let (mut rig, root) = limited(4, 10);
    let child = rig.make_busy(root, "Child");
    assert_eq!(create_all(&mut rig, child), 3);
    rig.answer(child, 0);
    rig.crash();
    assert_eq!(create_all(&mut rig, child), 10);
}

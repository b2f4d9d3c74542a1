use super::*;
use crate::ui::testing::{Ids, snapshot};

fn asking(count: u128) -> (World, State) {
    let ids = Ids::default();
    let mut snapshot = snapshot();
    let callback = snapshot.tasks.iter_mut().find(|task| task.node.id == ids.callback).unwrap();
    let first = callback.asks[0].clone();
    for number in 1..count {
        let mut ask = first.clone();
        ask.id = AskId::from_ulid(ulid::Ulid::from_parts(9, number));
        ask.question = format!("question {number}");
        callback.asks.push(ask);
    }
    let world = World::new(snapshot);
    let mut state = State::default();
    state.settle(&world);
    (world, state)
}

fn answer(world: &mut World, id: AskId) {
    let (task, _) = world.ask(id).unwrap();
    let mut view = world.task(task).unwrap().clone();
    view.asks.retain(|ask| ask.id != id);
    world.put(view);
}

#[test]
fn a_new_question_is_chosen_but_never_opens_itself() {
    let (_, state) = asking(1);
    assert_eq!(state.chosen().map(|(_, id)| id), Some(Ids::default().ask));
    assert!(!state.is_open() && !state.is_writing());
}

#[test]
fn when_the_open_question_is_answered_the_next_is_chosen_closed() {
    let (mut world, mut state) = asking(3);
    let first = Ids::default().ask;
    state.open(first);
    state.write();
    answer(&mut world, first);
    state.settle(&world);
    assert_eq!(state.len(), 2);
    assert!(state.chosen().is_some_and(|(_, id)| id != first));
    assert!(!state.is_open() && !state.is_writing());
}

#[test]
fn what_was_put_aside_comes_last_and_is_passed_over() {
    let (world, mut state) = asking(3);
    let first = state.items()[0].1;
    assert!(state.open_next());
    state.put_aside();
    state.settle(&world);
    assert_eq!(state.items().last().unwrap().1, first);
    let mut seen = Vec::new();
    for _ in 0..4 {
        state.open_next();
        seen.push(state.chosen().unwrap().1);
    }
    assert!(!seen.contains(&first));
}

#[test]
fn what_is_written_stays_with_its_question() {
    let (_, mut state) = asking(2);
    state.write();
    state.field().unwrap().insert("half an answer");
    let first = state.chosen().unwrap().1;
    state.step(1);
    assert!(!state.is_writing());
    state.step(-1);
    assert_eq!(state.draft(first).unwrap().shown(), "half an answer");
}

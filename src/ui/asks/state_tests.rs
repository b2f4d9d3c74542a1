use super::*;
use crate::ui::testing::{Ids, snapshot};

fn asking(count: u128) -> (ProjectState, State) {
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
    let project = ProjectState::new(snapshot);
    let mut state = State::default();
    state.sync(&project);
    (project, state)
}

fn answer(project: &mut ProjectState, id: AskId) {
    let (task, _) = project.ask(id).unwrap();
    let mut view = project.task(task).unwrap().clone();
    view.asks.retain(|ask| ask.id != id);
    project.put(view);
}

#[test]
fn new_question_is_selected_but_not_opened() {
    let (_, state) = asking(1);
    assert_eq!(state.chosen().map(|(_, id)| id), Some(Ids::default().ask));
    assert!(!state.is_opened());
}

#[test]
fn answered_question_is_closed_and_the_next_selected() {
    let (mut project, mut state) = asking(3);
    let first = Ids::default().ask;
    state.open(first);
    answer(&mut project, first);
    state.sync(&project);
    assert_eq!(state.len(), 2);
    assert!(state.chosen().is_some_and(|(_, id)| id != first));
    assert!(!state.is_opened());
}

#[test]
fn deferred_questions_are_last_and_skipped() {
    let (project, mut state) = asking(3);
    let first = state.items()[0].1;
    state.open(first);
    state.defer(first);
    state.sync(&project);
    assert_eq!(state.items().last().unwrap().1, first);
    for _ in 0..4 {
        let (_, next) = state.next().unwrap();
        assert_ne!(next, first);
        state.open(next);
    }
}

#[test]
fn card_is_the_opened_question_or_the_first_of_the_selected_task() {
    let (project, mut state) = asking(2);
    let ids = Ids::default();
    assert_eq!(state.card(ids.login), None);
    assert_eq!(state.card(ids.callback), Some((ids.callback, ids.ask)));
    let second = state.items()[1].1;
    state.open(second);
    assert_eq!(state.card(ids.login), Some((ids.callback, second)));
    state.close();
    state.defer(ids.ask);
    state.sync(&project);
    assert_eq!(state.card(ids.callback), Some((ids.callback, second)));
}

#[test]
fn digits_are_for_a_card_that_was_opened_or_seen() {
    let (_, mut state) = asking(1);
    let id = Ids::default().ask;
    let at = |millis| Timestamp::from_millis(millis);
    state.note_card(Some(id), at(1_000));
    assert!(!state.takes_digits(id, at(1_100)));
    state.note_card(Some(id), at(1_500));
    assert!(state.takes_digits(id, at(1_500)));
    state.open(id);
    assert!(state.takes_digits(id, at(1_000)));
    state.field(id).insert("4");
    assert!(!state.takes_digits(id, at(9_000)));
}

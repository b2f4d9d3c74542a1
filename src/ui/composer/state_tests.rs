use super::*;
use crate::ui::testing::task;

#[test]
fn each_task_has_its_own_draft() {
    let mut state = State::new([(task(1), "kept from last time".to_owned())]);
    state.field(task(2)).insert("other");
    state.written(task(2));
    assert_eq!(state.draft(task(1)).unwrap().field.shown(), "kept from last time");
    let saved = state.take_unsaved().unwrap();
    assert_eq!(saved, [(task(1), "kept from last time".to_owned()), (task(2), "other".to_owned())]);
    assert_eq!(state.take_unsaved(), None, "nothing has changed since");
}

#[test]
fn going_up_recalls_what_was_said_and_coming_back_finds_the_draft() {
    let mut state = State::default();
    for text in ["first", "second"] {
        state.field(task(1)).insert(text);
        assert_eq!(state.take(task(1)).unwrap().text, text);
    }
    state.field(task(1)).insert("third, not sent");
    let shown = |state: &State| state.draft(task(1)).unwrap().field.shown().to_owned();
    assert!(state.recall(task(1), -1));
    assert_eq!(shown(&state), "second");
    state.recall(task(1), -1);
    state.recall(task(1), -1);
    assert_eq!(shown(&state), "first");
    state.recall(task(1), 1);
    state.recall(task(1), 1);
    assert_eq!(shown(&state), "third, not sent");
    assert!(!state.recall(task(2), -1), "another task has nothing to recall");
}

#[test]
fn a_blank_draft_is_not_sent() {
    let mut state = State::default();
    state.field(task(1)).insert("  \n ");
    assert_eq!(state.take(task(1)), None);
}

#[test]
fn what_could_not_be_sent_comes_back_before_what_was_written_since() {
    let mut state = State::default();
    state.field(task(1)).insert("lost?");
    let sent = state.take(task(1)).unwrap();
    state.field(task(1)).insert("meanwhile");
    state.give_back(task(1), &sent.text);
    assert_eq!(state.draft(task(1)).unwrap().field.shown(), "lost?\nmeanwhile");
}

use super::*;
use crate::ui::testing::task;

#[test]
fn each_task_has_its_own_draft() {
    let mut state = State::new([(task(1), "kept from last time".to_owned())]);
    state.field(task(2)).insert("other");
    state.on_text_changed(task(2));
    assert_eq!(state.draft(task(1)).unwrap().field.shown(), "kept from last time");
    assert!(state.take_changed());
    assert_eq!(state.written(), [(task(1), "kept from last time".to_owned()), (task(2), "other".to_owned())]);
    assert!(!state.take_changed(), "nothing has changed since");
}

#[test]
fn history_recall_restores_the_draft() {
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
fn unsent_message_is_restored_before_newer_text() {
    let mut state = State::default();
    state.field(task(1)).insert("lost?");
    let sent = state.take(task(1)).unwrap();
    state.field(task(1)).insert("meanwhile");
    state.restore(task(1), &sent.text);
    assert_eq!(state.draft(task(1)).unwrap().field.shown(), "lost?\nmeanwhile");
}

use super::*;
use crate::text::diff::{between, parse};
use crate::ui::review::testing::{STORE, answer, files, laid, review, shown, task};

#[test]
fn only_the_answer_to_the_last_question_is_taken() {
    let mut state = State::new(Notes::default());
    let old = state.wants(task()).unwrap();
    assert_eq!(state.wants(task()), None, "asked for once");
    let new = state.ask(Request { context: 10, ..old });
    state.take(task(), old, Ok(answer(files())));
    assert!(state.comparison().is_none());
    state.take(task(), new, Ok(answer(files())));
    assert!(state.comparison().is_some());
}

#[test]
fn the_place_stays_when_the_agent_changes_something_else() {
    let mut state = review(files());
    let row = shown(&state, 80).iter().position(|row| row.contains("close_after")).unwrap();
    state.go_to(laid(&state, 80).mark(row), 20);
    let request = state.reload();
    let mut newer = files();
    newer.insert(0, between("a/first.rs", "", "new\n", 3));
    state.take(task(), request, Ok(answer(newer)));
    let map = laid(&state, 80);
    assert!(shown(&state, 80)[map.row(state.cursor())].contains("close_after"));
    let request = state.reload();
    state.take(task(), request, Ok(answer(Vec::new())));
    assert_eq!(laid(&state, 80).len, 0);
    let request = state.reload();
    state.take(task(), request, Ok(answer(files())));
    assert!(laid(&state, 80).row(state.cursor()) < laid(&state, 80).len);
}

#[test]
fn what_was_seen_before_comes_folded() {
    let mut state = review(files());
    let map = laid(&state, 80);
    state.see(true, &map, 20);
    let (_, seen) = state.take_seen().unwrap();
    let mut state = State::new(Notes::default());
    let request = state.wants(task()).unwrap();
    let mut again = answer(parse(STORE));
    again.seen = seen;
    state.take(task(), request, Ok(again));
    assert_eq!(shown(&state, 80).len(), 1, "one row for a file that was seen");
}

#[test]
fn fifty_thousand_lines_are_there_at_once_and_only_what_is_seen_is_made() {
    let text = (0..50_000).map(|n| format!("let x{n} = {n};\n")).collect::<Vec<_>>().concat();
    let mut state = review(vec![between("big.rs", "", &text, 3)]);
    let map = laid(&state, 100);
    assert_eq!(map.len, 50_003, "name, head, lines, air");
    state.step(isize::MAX / 2, &map, 40);
    let (row, top) = state.place(&map, 40);
    let rows = state.maker(&map, &Glyphs::UNICODE, |make| map.window(top..top + 40, make));
    assert_eq!((row, rows.len()), (50_002, 40));
    assert!(rows[38].1.shown().contains("let x49999"));
}

#[test]
fn what_has_changed_meanwhile_is_asked_for_again_in_the_same_place() {
    let mut state = review(files());
    state.go_to(Mark { file: 1, place: Place::Name }, 20);
    assert_eq!(state.wants(task()), None);
    state.outdated(task());
    assert!(state.wants(task()).is_some());
    assert_eq!(state.wants(task()), None, "once");
    assert_eq!((state.comparison().is_some(), state.cursor().file), (true, 1), "and what is there stays meanwhile");
}

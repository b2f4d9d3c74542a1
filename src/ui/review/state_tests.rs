use super::*;
use crate::text::diff::{between, parse};
use crate::ui::review::testing::{STORE, answer, files, layout, review, shown, task};

#[test]
fn only_the_latest_response_is_used() {
    let mut state = State::new(ReviewNotes::default());
    let old = state.wants(task()).unwrap();
    assert_eq!(state.wants(task()), None, "asked for once");
    let new = state.set_request(Request { context: 10, ..old });
    state.on_diff(task(), old, Ok(answer(files())));
    assert!(state.comparison().is_none());
    state.on_diff(task(), new, Ok(answer(files())));
    assert!(state.comparison().is_some());
}

#[test]
fn position_survives_unrelated_changes() {
    let mut state = review(files());
    let row = shown(&state, 80).iter().position(|row| row.contains("close_after")).unwrap();
    state.go_to(layout(&state, 80).mark(row), 20);
    let request = state.reload();
    let mut newer = files();
    newer.insert(0, between("a/first.rs", "", "new\n", 3));
    state.on_diff(task(), request, Ok(answer(newer)));
    let map = layout(&state, 80);
    assert!(shown(&state, 80)[map.row(state.cursor())].contains("close_after"));
    let request = state.reload();
    state.on_diff(task(), request, Ok(answer(Vec::new())));
    assert_eq!(layout(&state, 80).len, 0);
    let request = state.reload();
    state.on_diff(task(), request, Ok(answer(files())));
    assert!(layout(&state, 80).row(state.cursor()) < layout(&state, 80).len);
}

#[test]
fn seen_changes_are_folded_initially() {
    let mut state = review(files());
    let map = layout(&state, 80);
    state.toggle_seen(true, &map, 20);
    let (_, seen) = state.take_seen().unwrap();
    let mut state = State::new(ReviewNotes::default());
    let request = state.wants(task()).unwrap();
    let mut again = answer(parse(STORE));
    again.seen = seen;
    state.on_diff(task(), request, Ok(again));
    assert_eq!(shown(&state, 80).len(), 1, "one row for a file that was seen");
}

#[test]
fn fifty_thousand_lines_build_only_visible_rows() {
    let text = (0..50_000).map(|n| format!("let x{n} = {n};\n")).collect::<Vec<_>>().concat();
    let mut state = review(vec![between("big.rs", "", &text, 3)]);
    let map = layout(&state, 100);
    assert_eq!(map.len, 50_003, "name, head, lines, air");
    state.step(isize::MAX / 2, &map, 40);
    let (row, top) = state.place(&map, 40);
    let rows = state.with_row_builder(&map, &Glyphs::UNICODE, |make| map.window(top..top + 40, make));
    assert_eq!((row, rows.len()), (50_002, 40));
    assert!(rows[38].1.shown().contains("let x49999"));
}

#[test]
fn stale_diff_is_reloaded_in_place() {
    let mut state = review(files());
    state.go_to(ReviewPosition { file: 1, place: Place::Name }, 20);
    assert_eq!(state.wants(task()), None);
    state.mark_stale(task());
    assert!(state.wants(task()).is_some());
    assert_eq!(state.wants(task()), None, "once");
    assert_eq!((state.comparison().is_some(), state.cursor().file), (true, 1), "and what is there stays meanwhile");
}

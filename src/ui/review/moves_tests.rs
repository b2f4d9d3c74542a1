use super::*;
use crate::ui::review::testing::{files, laid, review, shown};

const COLUMNS: usize = 80;
const HEIGHT: usize = 20;

fn at(state: &State) -> (usize, Place) {
    (state.cursor.file, state.cursor.place)
}

fn go(state: &mut State, goal: Goal, forward: bool) -> bool {
    let laid = laid(state, COLUMNS);
    state.go(goal, forward, &laid, HEIGHT)
}

#[test]
fn one_goes_from_hunk_to_hunk_and_from_file_to_file() {
    let mut state = review(files());
    let mut seen = Vec::new();
    while go(&mut state, Goal::Hunk, true) {
        seen.push(at(&state));
    }
    assert_eq!(seen[..3], [(0, Place::Head(0)), (0, Place::Head(1)), (1, Place::Head(0))]);
    assert_eq!(seen.len(), 7, "files without lines are stops, too");
    assert!(go(&mut state, Goal::File, false));
    while go(&mut state, Goal::File, false) {}
    assert_eq!(at(&state), (0, Place::Name));
}

#[test]
fn what_was_seen_folds_and_the_next_unseen_is_gone_to() {
    let mut state = review(files());
    assert!(go(&mut state, Goal::Unseen, true));
    assert_eq!(at(&state), (0, Place::Head(0)));
    let map = laid(&state, COLUMNS);
    state.see(false, &map, HEIGHT);
    assert_eq!(at(&state), (0, Place::Head(1)), "the next one");
    assert!(!shown(&state, COLUMNS).iter().any(|row| row.contains("let ttl = 60")), "it is folded");
    let map = laid(&state, COLUMNS);
    state.see(false, &map, HEIGHT);
    assert_eq!(at(&state), (1, Place::Head(0)), "the file is done, the next one follows");
    let rows = shown(&state, COLUMNS);
    assert!(rows[0].contains("✓ seen") && rows[1].contains("docs/a.md"), "{rows:?}");
    assert!(state.take_seen().is_some_and(|(_, seen)| seen.hunks.len() == 2), "both are to be kept");
    assert_eq!(state.take_seen(), None, "once");
}

#[test]
fn seeing_again_forgets_it() {
    let mut state = review(files());
    let map = laid(&state, COLUMNS);
    state.see(true, &map, HEIGHT);
    state.go_to(Mark::default(), HEIGHT);
    let map = laid(&state, COLUMNS);
    state.see(true, &map, HEIGHT);
    assert_eq!(state.notes().unwrap().seen.len(), 0);
    assert!(shown(&state, COLUMNS).iter().any(|row| row.contains("let ttl = 60")));
}

#[test]
fn what_is_looked_for_is_found_also_where_it_is_folded_away() {
    let mut state = review(files());
    let map = laid(&state, COLUMNS);
    state.fold_all(&map);
    let map = laid(&state, COLUMNS);
    assert!(state.find("close_after", true, &map, HEIGHT));
    assert!(matches!(at(&state), (0, Place::Line { hunk: 1, .. })), "{:?}", at(&state));
    let map = laid(&state, COLUMNS);
    assert!(state.find("logo", true, &map, HEIGHT));
    assert_eq!(at(&state), (3, Place::Name), "names are looked through, too");
    assert!(!state.find("nowhere at all", true, &map, HEIGHT));
}

#[test]
fn the_cursor_is_always_on_the_screen_and_every_row_can_be_reached() {
    let mut state = review(files());
    for (height, by) in [(20, 1), (3, 1), (20, 7), (1, 1), (20, -1), (5, -3)] {
        let map = laid(&state, COLUMNS);
        for _ in 0..map.len * 2 {
            state.step(by, &map, height);
            let (row, top) = state.place(&map, height);
            assert!(top <= row && row < top + height && row < map.len, "{row} {top} {height}");
        }
        let (row, _) = state.place(&map, height);
        assert_eq!(row, if by > 0 { map.len - 1 } else { 0 });
    }
}

#[test]
fn a_row_and_its_mark_lead_to_each_other() {
    let mut state = review(files());
    let map = laid(&state, COLUMNS);
    state.go(Goal::Hunk, true, &map, HEIGHT);
    state.comment(&map);
    state.rewrite("one\ntwo");
    state.finish_writing();
    for columns in [44, COLUMNS, 150] {
        let map = laid(&state, columns);
        for row in 0..map.len {
            assert_eq!(map.row(map.mark(row)), row, "{columns}: {:?}", map.mark(row));
        }
    }
}

#[test]
fn of_a_file_with_a_hundred_thousand_rows_only_those_in_sight_are_made() {
    let lines = |mark: char| (0..50_000).map(move |line| format!("{mark}line {line} {mark}\n"));
    let head = "diff --git a/big b/big\n--- a/big\n+++ b/big\n@@ -1,50000 +1,50000 @@\n".to_owned();
    let patch: String = std::iter::once(head).chain(lines('-')).chain(lines('+')).collect();
    let mut state = review(crate::text::diff::parse(&patch));
    state.unfold_all();
    let map = laid(&state, COLUMNS);
    assert!(map.len >= 100_000, "{}", map.len);
    let rows = state.maker(&map, &crate::theme::Glyphs::UNICODE, |make| map.window(70_000..70_000 + HEIGHT, make));
    assert_eq!(rows.len(), HEIGHT);
    assert!(rows.iter().all(|(_, row)| row.shown().contains("line ")));
    // Looking again, and going far, lays nothing out anew.
    let again = laid(&state, COLUMNS);
    let shared = |one: &Laid, other: &Laid| {
        one.files[0].rows.as_ref().zip(other.files[0].rows.as_ref()).is_some_and(|(a, b)| std::sync::Arc::ptr_eq(a, b))
    };
    assert!(shared(&map, &again));
}

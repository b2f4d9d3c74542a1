use super::*;
use crate::ui::review::testing::{files, layout, review, shown};

const COLUMNS: usize = 80;
const HEIGHT: usize = 20;

fn at(state: &State) -> (usize, Place) {
    (state.cursor.file, state.cursor.place)
}

fn go(state: &mut State, goal: ReviewTarget, forward: bool) -> bool {
    let layout = layout(state, COLUMNS);
    state.go(goal, forward, &layout, HEIGHT)
}

#[test]
fn jumps_between_hunks_and_files() {
    let mut state = review(files());
    let mut seen = Vec::new();
    while go(&mut state, ReviewTarget::Hunk, true) {
        seen.push(at(&state));
    }
    assert_eq!(seen[..3], [(0, Place::Head(0)), (0, Place::Head(1)), (1, Place::Head(0))]);
    assert_eq!(seen.len(), 7, "files without lines are stops, too");
    assert!(go(&mut state, ReviewTarget::File, false));
    while go(&mut state, ReviewTarget::File, false) {}
    assert_eq!(at(&state), (0, Place::Name));
}

#[test]
fn marking_seen_folds_and_goes_to_next_unseen() {
    let mut state = review(files());
    assert!(go(&mut state, ReviewTarget::Unseen, true));
    assert_eq!(at(&state), (0, Place::Head(0)));
    let map = layout(&state, COLUMNS);
    state.toggle_seen(false, &map, HEIGHT);
    assert_eq!(at(&state), (0, Place::Head(1)), "the next one");
    assert!(!shown(&state, COLUMNS).iter().any(|row| row.contains("let ttl = 60")), "it is folded");
    let map = layout(&state, COLUMNS);
    state.toggle_seen(false, &map, HEIGHT);
    assert_eq!(at(&state), (1, Place::Head(0)), "the file is done, the next one follows");
    let rows = shown(&state, COLUMNS);
    assert!(rows[0].contains("✓ seen") && rows[1].contains("docs/a.md"), "{rows:?}");
    assert!(state.take_seen().is_some_and(|(_, seen)| seen.hunks.len() == 2), "both are to be kept");
    assert_eq!(state.take_seen(), None, "once");
}

#[test]
fn marking_seen_twice_unmarks() {
    let mut state = review(files());
    let map = layout(&state, COLUMNS);
    state.toggle_seen(true, &map, HEIGHT);
    state.go_to(ReviewPosition::default(), HEIGHT);
    let map = layout(&state, COLUMNS);
    state.toggle_seen(true, &map, HEIGHT);
    assert_eq!(state.notes().unwrap().seen.len(), 0);
    assert!(shown(&state, COLUMNS).iter().any(|row| row.contains("let ttl = 60")));
}

#[test]
fn search_finds_folded_lines() {
    let mut state = review(files());
    let map = layout(&state, COLUMNS);
    state.fold_all(&map);
    let map = layout(&state, COLUMNS);
    assert!(state.find("close_after", true, &map, HEIGHT));
    assert!(matches!(at(&state), (0, Place::Line { hunk: 1, .. })), "{:?}", at(&state));
    let map = layout(&state, COLUMNS);
    assert!(state.find("logo", true, &map, HEIGHT));
    assert_eq!(at(&state), (3, Place::Name), "names are looked through, too");
    assert!(!state.find("nowhere at all", true, &map, HEIGHT));
}

#[test]
fn cursor_is_always_visible_and_reaches_every_row() {
    let mut state = review(files());
    for (height, by) in [(20, 1), (3, 1), (20, 7), (1, 1), (20, -1), (5, -3)] {
        let map = layout(&state, COLUMNS);
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
fn row_and_position_round_trip() {
    let mut state = review(files());
    let map = layout(&state, COLUMNS);
    state.go(ReviewTarget::Hunk, true, &map, HEIGHT);
    state.comment(&map);
    state.rewrite("one\ntwo");
    state.finish_writing();
    for columns in [44, COLUMNS, 150] {
        let map = layout(&state, columns);
        for row in 0..map.len {
            assert_eq!(map.row(map.mark(row)), row, "{columns}: {:?}", map.mark(row));
        }
    }
}

#[test]
fn only_visible_rows_of_a_huge_file_are_built() {
    let lines = |mark: char| (0..50_000).map(move |line| format!("{mark}line {line} {mark}\n"));
    let head = "diff --git a/big b/big\n--- a/big\n+++ b/big\n@@ -1,50000 +1,50000 @@\n".to_owned();
    let patch: String = std::iter::once(head).chain(lines('-')).chain(lines('+')).collect();
    let mut state = review(crate::text::diff::parse(&patch));
    state.unfold_all();
    let map = layout(&state, COLUMNS);
    assert!(map.len >= 100_000, "{}", map.len);
    let rows =
        state.with_row_builder(&map, &crate::theme::Glyphs::UNICODE, |make| map.window(70_000..70_000 + HEIGHT, make));
    assert_eq!(rows.len(), HEIGHT);
    assert!(rows.iter().all(|(_, row)| row.shown().contains("line ")));
    // Drawing again and moving far reuses the layout.
    let again = layout(&state, COLUMNS);
    let shared = |one: &ReviewLayout, other: &ReviewLayout| {
        one.files[0].rows.as_ref().zip(other.files[0].rows.as_ref()).is_some_and(|(a, b)| std::sync::Arc::ptr_eq(a, b))
    };
    assert!(shared(&map, &again));
}

use super::*;
use crate::text::diff::parse;
use crate::ui::review::testing::{STORE, answer, files, layout, review, shown, task};

const COLUMNS: usize = 80;

/// Goes to the first row that contains `words`.
fn to(state: &mut State, words: &str) {
    let map = layout(state, COLUMNS);
    let row = shown(state, COLUMNS).iter().position(|row| row.contains(words)).unwrap();
    state.go_to(map.mark(row), 20);
}

fn say(state: &mut State, words: &str) {
    let map = layout(state, COLUMNS);
    state.comment(&map);
    state.rewrite(words);
    state.finish_writing();
}

#[test]
fn comment_is_below_its_line() {
    let mut state = review(files());
    to(&mut state, "let tokens");
    say(&mut state, "why not a constant?");
    let rows = shown(&state, COLUMNS);
    let line = rows.iter().position(|row| row.contains("let tokens")).unwrap();
    assert!(rows[line + 1].contains("line 12 · draft"), "{}", rows[line + 1]);
    assert!(rows[line + 2].contains("why not a constant?"));
    let comment = &state.notes().unwrap().comments[0];
    assert_eq!((comment.lines, comment.quote.len()), (Some((12, 12)), 1));
}

#[test]
fn lines_hunks_and_files_can_be_commented_on() {
    let mut state = review(files());
    to(&mut state, "let ttl = Duration");
    state.start_select();
    let map = layout(&state, COLUMNS);
    state.step(2, &map, 20);
    say(&mut state, "all of this");
    to(&mut state, "let ttl = 60");
    say(&mut state, "this was better");
    to(&mut state, "impl Drop");
    say(&mut state, "the hunk");
    to(&mut state, "logo.png");
    say(&mut state, "the picture");
    let told: Vec<_> = state.notes().unwrap().comments.iter().map(|it| (it.lines, it.side)).collect();
    assert_eq!(
        told,
        [
            (Some((11, 13)), DiffSide::New),
            (Some((11, 11)), DiffSide::Old),
            (Some((42, 46)), DiffSide::New),
            (None, DiffSide::New)
        ]
    );
}

#[test]
fn comments_are_edited_and_deleted_in_place() {
    let mut state = review(files());
    to(&mut state, "let tokens");
    say(&mut state, "first");
    to(&mut state, "first");
    let map = layout(&state, COLUMNS);
    state.comment(&map);
    assert_eq!(state.field().unwrap().content(), "first");
    state.rewrite("second");
    state.finish_writing();
    assert_eq!(state.notes().unwrap().comments.len(), 1);
    to(&mut state, "second");
    assert!(state.remove_comment());
    assert!(!state.remove_comment());
    assert_eq!(state.notes().unwrap().comments, []);
    let map = layout(&state, COLUMNS);
    assert!(matches!(map.mark(map.row(state.cursor())).place, Place::Line { .. }), "the cursor stays on the line");
}

#[test]
fn blank_comment_is_dropped() {
    let mut state = review(files());
    to(&mut state, "let tokens");
    let map = layout(&state, COLUMNS);
    state.comment(&map);
    assert!(state.is_writing());
    assert_eq!(state.notes.to_store(), crate::ui::review::ReviewNotes::default());
    state.rewrite("  \n");
    state.finish_writing();
    assert_eq!(state.notes().unwrap().comments, []);
}

#[test]
fn drafts_survive_a_restart_and_a_newer_diff() {
    let mut state = review(files());
    to(&mut state, "let tokens");
    say(&mut state, "still here");
    let kept = serde_json::to_string(&state.take_unsaved().unwrap()).unwrap();
    let mut state = State::new(serde_json::from_str(&kept).unwrap());
    let request = state.wants(task()).unwrap();
    let newer = STORE
        .replace("-10,6 +10,8", "-10,6 +10,9")
        .replace("+        let tokens", "+        let more = 1;\n+        let tokens");
    state.on_diff(task(), request, Ok(answer(parse(&newer))));
    let rows = shown(&state, COLUMNS);
    let line = rows.iter().position(|row| row.contains("let tokens")).unwrap();
    assert!(rows[line + 2].contains("still here"), "{rows:#?}");
    let request = state.reload();
    let gone = STORE.replace("let tokens", "let other");
    state.on_diff(task(), request, Ok(answer(parse(&gone))));
    assert!(shown(&state, COLUMNS)[1].contains("line 12 (no longer in the diff)"));
}

#[test]
fn sent_comments_are_replaced_by_the_next_review() {
    let mut state = review(files());
    to(&mut state, "let tokens");
    say(&mut state, "first round");
    state.mark_sent(task(), Timestamp::from_millis(1));
    assert_eq!(state.notes().unwrap().drafts().count(), 0);
    assert!(shown(&state, COLUMNS).iter().any(|row| row.contains("first round")), "it stays to be read");
    to(&mut state, "let ttl = 60");
    say(&mut state, "second round");
    state.mark_sent(task(), Timestamp::from_millis(2));
    let texts: Vec<_> = state.notes().unwrap().comments.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(texts, ["second round"]);
}

#[test]
fn selected_lines_are_copied_as_code() {
    let mut state = review(files());
    to(&mut state, "let ttl = Duration");
    state.start_select();
    let map = layout(&state, COLUMNS);
    state.step(1, &map, 20);
    let map = layout(&state, COLUMNS);
    assert_eq!(
        state.chosen_text(&map),
        "        let ttl = Duration::from_secs(60);\n        let tokens = Tokens::new(ttl);\n"
    );
}

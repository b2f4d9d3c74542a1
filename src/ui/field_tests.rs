use proptest::prelude::*;

use super::*;

fn field(text: &str) -> Field {
    Field::with(text)
}

#[test]
fn a_whole_grapheme_is_erased_at_once() {
    let mut field = field("ab👩‍👩‍👧e\u{301}");
    field.apply(Edit::Backspace);
    assert_eq!(field.shown(), "ab👩‍👩‍👧");
    field.apply(Edit::Backspace);
    assert_eq!(field.shown(), "ab");
}

#[test]
fn a_large_paste_is_a_label_that_moves_and_dies_as_one() {
    let long = "line\n".repeat(40);
    let mut field = field("see ");
    field.paste(&long);
    field.insert(" end");
    assert_eq!(field.shown(), "see [paste 1: 40 lines] end");
    assert_eq!(field.content(), format!("see {long} end"));
    (0..5).for_each(|_| {
        field.apply(Edit::Left);
    });
    assert_eq!(field.cursor(), 4);
    field.apply(Edit::Delete);
    assert_eq!(field.shown(), "see  end");
    field.apply(Edit::Undo);
    assert_eq!(field.content(), format!("see {long} end"));
}

#[test]
fn a_word_typed_is_one_step_of_undo() {
    let mut field = Field::default();
    "hello world".chars().for_each(|c| field.type_char(c));
    field.apply(Edit::Undo);
    assert_eq!(field.shown(), "hello ");
    field.apply(Edit::Undo);
    field.apply(Edit::Undo);
    assert_eq!(field.shown(), "");
    field.apply(Edit::Redo);
    field.apply(Edit::Redo);
    field.apply(Edit::Redo);
    assert_eq!(field.shown(), "hello world");
}

#[test]
fn words_and_lines_are_erased_from_the_cursor() {
    let mut it = field("one two three");
    it.apply(Edit::DeleteWord);
    assert_eq!(it.shown(), "one two ");
    it.apply(Edit::WordLeft);
    it.apply(Edit::DeleteToEnd);
    assert_eq!(it.shown(), "one ");
    let mut it = field("a\nbc");
    it.apply(Edit::DeleteToStart);
    assert_eq!(it.shown(), "a\n");
    it.apply(Edit::DeleteToStart);
    assert_eq!(it.shown(), "a");
}

#[test]
fn rows_break_at_spaces_and_inside_long_words() {
    let text = "a brown fox\nabcdefghijkl\n日本語です";
    let shown: Vec<_> = Rows::new(text, 6).iter().map(|row| &text[row.clone()]).collect();
    assert_eq!(shown, ["a ", "brown ", "fox\n", "abcdef", "ghijkl\n", "日本語", "です"]);
}

#[test]
fn the_cursor_keeps_its_column_when_it_moves_over_rows() {
    let mut field = field("abcdef\nxy\nuvwxyz");
    assert!(field.move_row(-1, 20));
    assert_eq!(field.cursor(), 9);
    assert!(field.move_row(-1, 20));
    assert_eq!(field.cursor(), 2);
    assert!(!field.move_row(-1, 20), "there is no row above the first");
}

fn edits() -> impl Strategy<Value = Vec<(u8, String)>> {
    prop::collection::vec((0u8..18, "[a-c \n日é👍\u{301}]{0,3}"), 0..40)
}

proptest! {
    #[test]
    fn the_cursor_always_stands_between_graphemes(edits in edits(), width in 1usize..12) {
        const ALL: [Edit; 16] = [
            Edit::Left, Edit::Right, Edit::WordLeft, Edit::WordRight, Edit::Home, Edit::End, Edit::Start, Edit::Finish,
            Edit::Backspace, Edit::Delete, Edit::DeleteWord, Edit::DeleteToStart, Edit::DeleteToEnd, Edit::Newline,
            Edit::Undo, Edit::Redo,
        ];
        let mut field = Field::default();
        for (which, text) in edits {
            match ALL.get(usize::from(which)) {
                Some(edit) => { field.apply(*edit); }
                None if which == 16 => field.insert(&text),
                None => { field.move_row(-1, width); }
            }
            let cursor = field.cursor();
            let mut boundaries = field.shown().grapheme_indices(true).map(|(at, _)| at);
            prop_assert!(cursor == field.shown().len() || boundaries.any(|at| at == cursor));
        }
    }

    #[test]
    fn rows_cover_the_text_without_a_gap(text in "[a-c \n日é👍]{0,60}", width in 1usize..12) {
        let mut at = 0;
        for row in Rows::new(&text, width).iter() {
            prop_assert_eq!(row.start, at);
            at = row.end;
        }
        prop_assert_eq!(at, text.len());
    }
}

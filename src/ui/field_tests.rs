use proptest::prelude::*;

use super::*;

fn field(text: &str) -> Field {
    Field::with(text)
}

#[test]
fn backspace_deletes_a_whole_grapheme() {
    let mut field = field("ab👩‍👩‍👧e\u{301}");
    field.apply(Edit::Backspace);
    assert_eq!(field.shown(), "ab👩‍👩‍👧");
    field.apply(Edit::Backspace);
    assert_eq!(field.shown(), "ab");
}

#[test]
fn large_paste_is_one_atomic_label() {
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
fn typed_word_is_one_undo_step() {
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
fn replaced_text_is_one_undo_step() {
    let mut it = field("what was\nbeing written");
    it.set("said before");
    it.apply(Edit::Undo);
    assert_eq!(it.shown(), "what was\nbeing written");
    assert!(!it.apply(Edit::Undo), "what it began with is no step");
    it.apply(Edit::Redo);
    assert_eq!((it.shown(), it.cursor()), ("said before", 11));
    it.replace_before(5, "after");
    assert_eq!(it.shown(), "said after");
    it.apply(Edit::Undo);
    assert_eq!(it.shown(), "said before");
}

#[test]
fn killed_word_can_be_pasted_repeatedly() {
    let mut it = field("one two");
    it.apply(Edit::DeleteWord);
    it.apply(Edit::Backspace);
    it.apply(Edit::Yank);
    it.apply(Edit::Newline);
    it.apply(Edit::Yank);
    assert_eq!(it.shown(), "onetwo\ntwo", "a single character that is erased is not kept");
    it.apply(Edit::Undo);
    assert_eq!(it.shown(), "onetwo\n");
}

#[test]
fn yanked_block_is_whole_every_time() {
    let long = "x".repeat(5_000);
    let mut it = Field::default();
    it.paste(&long);
    it.apply(Edit::DeleteToStart);
    it.apply(Edit::Yank);
    it.insert(" ");
    it.apply(Edit::Yank);
    assert_eq!(it.shown(), "[paste 1: 5.0 KB] [paste 1: 5.0 KB]");
    assert_eq!(it.content(), format!("{long} {long}"));
    it.apply(Edit::Backspace);
    assert_eq!(it.content(), format!("{long} "));
}

#[test]
fn combining_mark_after_a_block_belongs_to_it() {
    let long = "line\n".repeat(40);
    let mut it = field("\u{301}");
    it.apply(Edit::Start);
    it.paste(&long);
    assert_eq!(it.content(), format!("{long}\u{301}"));
    it.apply(Edit::Left);
    assert_eq!(it.cursor(), 0);
    it.apply(Edit::Delete);
    assert_eq!(it.content(), "");
}

#[test]
fn very_long_line_can_be_edited() {
    let mut it = field(&"日".repeat(70_000));
    it.apply(Edit::Left);
    it.apply(Edit::Backspace);
    it.type_char('x');
    assert_eq!(it.shown(), format!("{}x日", "日".repeat(69_998)));
    it.apply(Edit::Undo);
    assert_eq!(it.shown(), "日".repeat(69_999));
    it.apply(Edit::Home);
    it.type_char('y');
    assert!(it.shown().starts_with("y日"));
}

#[test]
fn undo_drops_only_whole_old_steps() {
    let mut it = Field::default();
    for _ in 0..1_400 {
        "ab ".chars().for_each(|c| it.type_char(c));
    }
    while it.apply(Edit::Undo) {
        assert!(!it.shown().ends_with('a'), "half a word");
    }
    assert!((1..=300).contains(&it.shown().len()), "{}", it.shown().len());
    while it.apply(Edit::Redo) {}
    assert_eq!(it.shown(), "ab ".repeat(1_400));
}

#[test]
fn words_and_lines_are_deleted_from_the_cursor() {
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
fn cursor_keeps_its_column_across_rows() {
    let mut field = field("abcdef\nxy\nuvwxyz");
    assert!(field.move_row(-1, 20));
    assert_eq!(field.cursor(), 9);
    assert!(field.move_row(-1, 20));
    assert_eq!(field.cursor(), 2);
    assert!(!field.move_row(-1, 20), "there is no row above the first");
}

fn edits() -> impl Strategy<Value = Vec<(u8, String)>> {
    prop::collection::vec((0u8..20, "[a-c \n日é👍\u{301}\u{200d}\u{600}🇦]{0,3}"), 0..40)
}

proptest! {
    #[test]
    fn the_cursor_always_stands_between_graphemes(edits in edits(), width in 1usize..12) {
        const ALL: [Edit; 17] = [
            Edit::Left, Edit::Right, Edit::WordLeft, Edit::WordRight, Edit::Home, Edit::End, Edit::Start, Edit::Finish,
            Edit::Backspace, Edit::Delete, Edit::DeleteWord, Edit::DeleteToStart, Edit::DeleteToEnd, Edit::Yank,
            Edit::Newline, Edit::Undo, Edit::Redo,
        ];
        let mut field = Field::default();
        for (which, text) in edits {
            match ALL.get(usize::from(which)) {
                Some(edit) => { field.apply(*edit); }
                None if which == 17 => field.insert(&text),
                None if which == 18 => field.paste(&"x\n".repeat(20)),
                None => { field.move_row(-1, width); }
            }
            let cursor = field.cursor();
            prop_assert!(field.block_ranges().iter().all(|block| cursor <= block.start || block.end <= cursor));
            let mut boundaries = field.shown().grapheme_indices(true).map(|(at, _)| at);
            prop_assert!(cursor == field.shown().len() || boundaries.any(|at| at == cursor));
        }
    }

    #[test]
    fn undo_goes_all_the_way_back_and_redo_all_the_way_forth(edits in edits()) {
        let mut field = field("begun");
        for (which, text) in &edits {
            match which {
                0..4 => field.insert(text),
                4..7 => { field.apply(Edit::Backspace); }
                7..9 => field.set(text),
                9..11 => { field.apply(Edit::DeleteWord); }
                11..13 => { field.apply(Edit::Yank); }
                13..15 => field.replace_before(usize::from(*which), text),
                15..17 => { field.apply(Edit::WordLeft); }
                _ => text.chars().for_each(|c| field.type_char(c)),
            }
        }
        let written = field.shown().to_owned();
        while field.apply(Edit::Undo) {}
        prop_assert_eq!(field.shown(), "begun");
        while field.apply(Edit::Redo) {}
        prop_assert_eq!(field.shown(), written);
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

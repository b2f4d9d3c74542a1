use proptest::prelude::*;

use super::*;
use crate::text::row::copied;
use crate::text::width::visible;
use crate::theme::Role;

fn words(text: &str, width: usize) -> Vec<&str> {
    pieces(text, WrapLayout::words(width)).map(|piece| &text[piece.range]).collect()
}

fn anywhere(text: &str, width: usize) -> Vec<&str> {
    pieces(text, WrapLayout::anywhere(width)).map(|piece| &text[piece.range]).collect()
}

#[test]
fn lines_break_between_words() {
    assert_eq!(words("the quick brown fox", 10), ["the quick", "brown fox"]);
    assert_eq!(words("the quick  brown", 9), ["the quick", "brown"]);
    assert_eq!(words("one\n\ntwo\n", 10), ["one", "", "two"]);
    assert_eq!(words("", 10), [""; 0]);
    assert_eq!(words("abc   ", 3), ["abc"], "spaces hang over the edge");
}

#[test]
fn words_longer_than_a_row_are_broken() {
    assert_eq!(words("a abcdefgh b", 4), ["a", "abcd", "efgh", "b"]);
    assert_eq!(words("abcdefgh", 0), ["a", "b", "c", "d", "e", "f", "g", "h"]);
}

#[test]
fn an_indent_stays_and_is_not_a_break() {
    assert_eq!(words("    abcdefgh", 8), ["    abcd", "efgh"]);
    assert_eq!(words("  ab cd", 5), ["  ab", "cd"]);
}

#[test]
fn every_row_makes_progress() {
    for text in ["a \u{301}", " \u{301}b", "   \u{301} \u{301}", "\u{301}\u{301}", "ab  \u{301}cd"] {
        for width in 0..4 {
            assert!(pieces(text, WrapLayout::words(width)).take(100).count() < 20, "{text:?} in {width}");
        }
    }
}

#[test]
fn code_breaks_anywhere_and_keeps_its_spaces() {
    assert_eq!(anywhere("let  x = 1;", 4), ["let ", " x =", " 1;"]);
}

#[test]
fn wide_characters_break_like_words_and_never_in_half() {
    assert_eq!(words("日本語の文章", 5), ["日本", "語の", "文章"]);
    assert_eq!(words("日本。", 4), ["日", "本。"], "a full stop does not begin a row");
    assert_eq!(words("ab👩‍👩‍👧cd", 3), ["ab", "👩‍👩‍👧", "cd"]);
    assert_eq!(words("e\u{301}e\u{301}e\u{301}", 2), ["e\u{301}e\u{301}", "e\u{301}"]);
    assert_eq!(words("日", 1), ["日"], "what cannot fit is drawn all the same");
}

#[test]
fn prefixes_open_rows_and_a_hard_break_does_not_repeat_the_first() {
    let spans = [Span::new("one two\nthree", Role::Text)];
    let first = [Span::decoration("1. ", Role::ListMarker)];
    let rest = [Span::decoration("   ", Role::ListMarker)];
    let rows = super::spans(&spans, 8, &first, &rest, Break::Words);
    let shown: Vec<_> = rows.iter().map(Row::shown).collect();
    assert_eq!(shown, ["1. one", "   two", "   three"]);
    assert_eq!(copied(&rows), "one two\nthree");
}

#[test]
fn a_row_deep_in_a_long_line_is_found_with_few_stored_starts() {
    let text = "x".repeat(1_000_000);
    let mut index = Index::new(WrapLayout::words(100));
    assert_eq!(index.rows(&text, 9_999, 5).len(), 1);
    assert_eq!(index.rows(&text, 5_000, 1)[0].range, 500_000..500_100);
    assert_eq!(index.count(&text), 10_000);
    assert!(index.marks.len() < 200);
    assert_eq!(index.rows(&text, 10_000, 5), []);
}

#[test]
fn the_first_rows_of_a_long_text_cost_only_themselves() {
    let text = "word ".repeat(1_000_000);
    let mut index = Index::new(WrapLayout::words(80));
    assert_eq!(index.rows(&text, 0, 10).len(), 10);
    assert_eq!(index.known, 0, "nothing was counted that was not asked for");
    assert_eq!(index.count_to(&text, 50), 50);
}

fn texts() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => "[a-z]{1,12}",
        1 => Just("日本語".to_owned()),
        1 => Just("👩‍👩‍👧🇩🇪".to_owned()),
        1 => Just("e\u{301}\u{301}".to_owned()),
        2 => " {1,4}",
        1 => Just("\n".to_owned()),
        1 => Just("\u{301}".to_owned()),
        1 => any::<String>().prop_map(|text| visible(&text).into_owned()),
    ];
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn no_row_is_too_wide_and_no_text_is_lost(text in texts(), width in 2usize..30, code in any::<bool>()) {
        let layout = if code { WrapLayout::anywhere(width) } else { WrapLayout::words(width) };
        let mut at = 0;
        for piece in pieces(&text, layout) {
            let gap = &text[at..piece.range.start];
            prop_assert!(gap.chars().all(|c| c == ' ' || c == '\n'), "lost {gap:?}");
            if code { prop_assert!(gap.is_empty() || gap == "\n"); }
            let row = &text[piece.range.clone()];
            prop_assert!(!row.contains('\n'));
            let one = row.graphemes(true).count() == 1;
            prop_assert!(one || width::of(row) <= width, "{row:?} has {} of {width}", width::of(row));
            at = piece.range.end;
        }
        prop_assert!(text[at..].chars().all(|c| c == ' ' || c == '\n'));
    }

    #[test]
    fn an_index_of_growing_text_equals_that_of_the_whole(parts in prop::collection::vec(texts(), 1..6), width in 1usize..12) {
        let layout = WrapLayout::words(width);
        let mut index = Index::new(layout);
        let mut text = String::new();
        for part in parts {
            text.push_str(&part);
            let whole: Vec<_> = pieces(&text, layout).collect();
            prop_assert_eq!(index.count(&text), whole.len());
            let from = whole.len() / 2;
            prop_assert_eq!(index.rows(&text, from, 7), &whole[from..whole.len().min(from + 7)]);
        }
    }
}

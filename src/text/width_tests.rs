use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::*;

#[test]
fn graphemes_take_the_columns_that_a_terminal_gives_them() {
    for (text, columns) in
        [("", 0), ("abc", 3), ("日本", 4), ("e\u{301}", 1), ("👩‍👩‍👧", 2), ("🇩🇪", 2), ("👍🏽", 2), ("한국", 4), ("שלום", 4)]
    {
        assert_eq!(of(text), columns, "{text}");
    }
}

#[test]
fn tabs_and_controls_become_visible() {
    assert_eq!(visible("a\tb"), "a   b");
    assert_eq!(visible("\t|\t|"), "    |   |");
    assert_eq!(visible("日\t|"), "日  |");
    assert_eq!(visible("a\x1b[31m\x07\x7f"), "a␛[31m␇␡");
    assert_eq!(visible("a\r\nb\rc\n"), "a\nb\nc\n");
    assert_eq!(visible("x\u{202e}y\u{200b}z\u{9b}"), "x\u{fffd}y\u{fffd}z\u{fffd}");
    assert!(matches!(visible("plain – 日本 👩‍👩‍👧\n"), Cow::Borrowed(_)));
}

#[test]
fn long_text_is_cut_at_the_given_end() {
    assert_eq!(truncate("session store", 20, Cut::End, "…"), "session store");
    assert_eq!(truncate("session store", 9, Cut::End, "…"), "session…");
    assert_eq!(truncate("src/session/store.rs", 9, Cut::Start, "…"), "…store.rs");
    assert_eq!(truncate("src/session/store.rs", 10, Cut::Middle, "…"), "src/…re.rs");
    assert_eq!(truncate("日本語", 5, Cut::End, "…"), "日本…");
    assert_eq!(truncate("日本語", 4, Cut::End, "…"), "日…");
    assert_eq!(truncate("abc", 0, Cut::End, "…"), "");
    assert_eq!(truncate("abc", 1, Cut::Middle, "..."), "a");
}

#[test]
fn padding_fills_the_width_exactly() {
    assert_eq!(pad("ab", 5, Align::Left, "…"), "ab   ");
    assert_eq!(pad("ab", 5, Align::Right, "…"), "   ab");
    assert_eq!(pad("ab", 5, Align::Centre, "…"), " ab  ");
    assert_eq!(pad("日本語", 4, Align::Left, "…"), "日… ");
}

#[test]
fn no_columns_left_is_none() {
    assert_eq!((left(10, 4), left(4, 4), left(3, 4)), (Some(6), None, None));
}

proptest! {
    #[test]
    fn visible_text_contains_no_controls(text in any::<String>()) {
        let visible = visible(&text);
        prop_assert!(!visible.chars().any(|c| c != '\n' && c.is_control()));
        prop_assert_eq!(&sanitize::lines(&visible), &visible);
    }

    #[test]
    fn measured_width_equals_drawn_width(text in any::<String>()) {
        let text = visible(&text).replace('\n', " ");
        let mut buffer = Buffer::empty(Rect::new(0, 0, 500, 1));
        let (x, _) = buffer.set_stringn(0, 0, &text, 500, Style::new());
        if of(&text) <= 500 {
            prop_assert_eq!(usize::from(x), of(&text));
        }
    }

    #[test]
    fn cut_and_padded_text_never_exceeds_its_width(text in any::<String>(), width in 0usize..40, cut in 0usize..3) {
        let cut = [Cut::Start, Cut::Middle, Cut::End][cut];
        let text = visible(&text).replace('\n', " ");
        prop_assert!(of(&truncate(&text, width, cut, "…")) <= width);
        prop_assert_eq!(of(&pad(&text, width, Align::Left, "…")), width);
        prop_assert_eq!(fits(&text, width), of(&text) <= width);
    }
}

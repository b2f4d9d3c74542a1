use proptest::prelude::*;

use super::*;

#[test]
fn plain_text_is_not_copied() {
    assert!(matches!(lines("hello\n\tworld é漢🙂"), Cow::Borrowed(_)));
    assert!(matches!(line("hello"), Cow::Borrowed(_)));
}

#[test]
fn sequences_are_removed_whole() {
    assert_eq!(lines("\u{1b}[31mred\u{1b}[0m"), "red");
    assert_eq!(lines("a\u{1b}]52;c;ZXZpbA==\u{07}b"), "ab");
    assert_eq!(lines("a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\b"), "alinkb");
    assert_eq!(lines("a\u{9b}2Jb\u{90}q\u{9c}c"), "abc");
    assert_eq!(lines("a\u{1b}(0b\u{1b}cc"), "abc");
}

#[test]
fn an_unterminated_string_does_not_swallow_the_output() {
    assert_eq!(lines("\u{1b}]0;title without end\nnext line"), "0;title without end\nnext line");
}

#[test]
fn invisible_and_direction_changing_characters_are_removed() {
    assert_eq!(lines("ab\u{202e}cd\u{200b}e\u{feff}f\u{e0041}g"), "abcdefg");
}

#[test]
fn a_lone_carriage_return_cannot_overwrite() {
    assert_eq!(lines("evil\rgood\r\nend"), "evil\ngood\nend");
    assert_eq!(line("a\r\nb\tc"), "a b c");
}

#[test]
fn json_keeps_its_values_in_harmless_characters() {
    assert!(matches!(json(r#"{"a":"é漢🙂"}"#), Cow::Borrowed(_)));
    assert_eq!(json("\"a\u{9b}31m\u{202e}\u{e0041}\u{7f}\""), r#""a\u009b31m\u202e\udb40\udc41\u007f""#);
}

proptest! {
    #[test]
    fn any_json_keeps_its_value_and_controls_no_terminal(text in any::<String>(), more in "[\\x00-\\x7f\u{80}-\u{9f}\u{202e}\u{e0041}a-z\"\\\\]{0,40}") {
        let value = serde_json::json!({ text.clone(): more, "b": [text] });
        let written = value.to_string();
        let shown = json(&written);
        prop_assert!(!shown.contains(is_unsafe));
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    #[test]
    fn no_control_character_survives(text in "[\\x00-\\x7f\u{80}-\u{9f}\u{202e}a-z\\[\\]\\\\;m]{0,80}") {
        let shown = lines(&text);
        prop_assert!(shown.chars().all(|c| c == '\n' || c == '\t' || !is_unsafe(c)));
        let again = lines(&shown).into_owned();
        prop_assert_eq!(again, shown.into_owned());
    }
}

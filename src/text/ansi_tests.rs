use proptest::prelude::*;

use super::*;
use crate::text::row::Row;
use crate::text::wrap::{Index, WrapLayout};

fn shown(text: &str) -> String {
    AnsiText::of(text).document().text().to_owned()
}

fn spans(text: &str) -> Vec<(String, Ink)> {
    let text = AnsiText::of(text);
    let rows: Vec<Row> = text.document().rows(&mut Index::new(WrapLayout::words(80)), 0, 100);
    rows.into_iter().flat_map(|row| row.spans).map(|span| (span.text.into_owned(), span.ink)).collect()
}

#[test]
fn colours_become_roles() {
    let spans = spans("a \x1b[1;31mfail\x1b[0m \x1b[92mok\x1b[39m \x1b[48;5;196mbg\x1b[m \x1b[38;2;90;140;220mrgb");
    let role = |word: &str| spans.iter().find(|(text, _)| text.contains(word)).unwrap().1;
    assert_eq!(role("a"), Ink::new(Role::Output));
    assert_eq!(role("fail"), Ink::new(Role::AnsiRed).with(Modifier::BOLD));
    assert_eq!(role("ok"), Ink::new(Role::AnsiBrightGreen));
    assert_eq!(role("bg"), Ink::new(Role::AnsiBrightRed).with(Modifier::REVERSED));
    assert!(matches!(role("rgb").role, Role::AnsiBlue | Role::AnsiBrightBlue));
}

#[test]
fn a_progress_bar_shows_its_last_state() {
    assert_eq!(shown("  0%\r 50%\r100%\ndone\n"), "100%\ndone\n");
    assert_eq!(shown("downloading 10\r\x1b[Kdone"), "done");
    assert_eq!(shown("long line\rab"), "abng line", "what is not overwritten stays");
    assert_eq!(shown("10%\x08\x08\x0820%"), "20%");
    assert_eq!(shown("a\r\nb\r\n"), "a\nb\n");
    assert_eq!(shown("\x1b[2K\x1b[1Gtask"), "task");
    assert_eq!(shown("ab\x1b[3Dx\x1b[5Cy"), "xb    y");
}

#[test]
fn other_control_sequences_are_dropped() {
    assert_eq!(shown("a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"), "ablink");
    assert_eq!(shown("\x1b[2J\x1b[10;10Hx\x1b[?1049h\x1b(By\x1bcz\x07"), "xyz");
    assert_eq!(shown("\x1bPq#0\x1b\\\u{9b}31mred\u{9d}0;t\u{9c}!"), "red!");
    assert_eq!(shown("\x1b[3A\x1b[JEvil"), "Evil", "earlier lines cannot be overwritten");
    assert_eq!(shown("a\u{202e}b\u{200b}"), "a\u{fffd}b\u{fffd}");
}

#[test]
fn an_unterminated_string_cannot_hide_output() {
    assert_eq!(shown("\x1b]0;never ends\nnext line"), "0;never ends\nnext line");
    let long = "x".repeat(10_000);
    assert!(shown(&format!("\x1b]{long}")).len() >= 10_000);
}

#[test]
fn tabs_move_to_tab_stops() {
    assert_eq!(shown("a\tb\n\tc"), "a   b\n    c");
}

#[test]
fn a_very_long_line_is_not_edited_in_place() {
    let long = "x".repeat(1_000_000);
    let text = AnsiText::of(&format!("{long}\rnew"));
    assert_eq!(text.document().text().len(), 1_000_004);
    assert!(text.document().text().ends_with("\nnew"));
}

proptest! {
    #[test]
    fn no_control_passes_and_chunking_does_not_matter(
        parts in prop::collection::vec(prop_oneof![
            any::<String>(),
            "[a-z \r\n\t\x08]{0,6}",
            "\x1b\\[[0-9;:?]{0,6}[A-Za-z]?",
            "\x1b[\\]P_^X][a-z;]{0,5}(\x07|\x1b\\\\)?",
            Just("\u{9b}".to_owned()),
        ], 0..20),
    ) {
        let whole = AnsiText::of(&parts.concat());
        let mut pieces = AnsiText::new();
        for part in &parts {
            for c in part.chars() {
                pieces.push(c.encode_utf8(&mut [0; 4]));
            }
        }
        prop_assert_eq!(whole.document(), pieces.document());
        prop_assert!(!whole.document().text().contains(|c: char| c.is_control() && c != '\n'));
        for row in whole.document().rows(&mut Index::new(WrapLayout::anywhere(20)), 0, 500) {
            prop_assert!(!row.shown().contains(char::is_control));
        }
    }
}

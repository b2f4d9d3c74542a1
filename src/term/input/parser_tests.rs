use proptest::prelude::*;

use super::*;
use crate::base::keys::{Mouse, MouseButton, MouseKind};
use crate::term::query::{QueryReply, Rgb};

fn parse(bytes: &[u8]) -> Vec<ReaderEvent> {
    let mut parser = Parser::default();
    parser.feed(bytes);
    parser.take()
}

/// Parses `bytes` and times out on everything unfinished.
fn parse_all(bytes: &[u8]) -> Vec<ReaderEvent> {
    let mut parser = Parser::default();
    parser.feed(bytes);
    while parser.timeout().is_some() {
        parser.on_timeout();
    }
    parser.take()
}

fn keys(chord: &str) -> Vec<ReaderEvent> {
    chord.split_whitespace().map(|word| ReaderEvent::Input(Input::Key(word.parse().unwrap()))).collect()
}

#[test]
fn keys_of_every_terminal_are_parsed() {
    for (bytes, chord) in [
        (&b"aB1"[..], "a B 1"),
        (b"\r\t\x7f", "enter tab backspace"),
        (b"\x01\x1a\x00", "ctrl-a ctrl-z ctrl-space"),
        (b"\x1c\x1d\x1f", r"ctrl-\ ctrl-] ctrl-_"),
        ("é漢🙂".as_bytes(), "é 漢 🙂"),
        (b"\x1ba\x1bA\x1b\r", "alt-a alt-A alt-enter"),
        ("\x1bé".as_bytes(), "alt-é"),
        (b"\x1b\x01", "alt-ctrl-a"),
        (b"\x1b[A\x1b[B\x1b[C\x1b[D\x1b[H\x1b[F", "up down right left home end"),
        (b"\x1bOA\x1bOB\x1bOH\x1bOF", "up down home end"),
        (b"\x1bOP\x1bOS\x1b[15~\x1b[24~\x1b[34~", "f1 f4 f5 f12 f20"),
        (b"\x1b[[A\x1b[[E", "f1 f5"),
        (b"\x1b[1~\x1b[2~\x1b[3~\x1b[4~\x1b[5~\x1b[6~", "home insert delete end pageup pagedown"),
        (b"\x1b[1;5A\x1b[1;2C\x1b[3;3~\x1b[1;5R", "ctrl-up shift-right alt-delete ctrl-f3"),
        (b"\x1b[Z", "shift-tab"),
        (b"\x1b[97;5u\x1b[97;6u\x1b[97;2u", "ctrl-a ctrl-A A"),
        (b"\x1b[13;2u\x1b[13;5u\x1b[27u\x1b[9;5u", "shift-enter ctrl-enter esc ctrl-tab"),
        (b"\x1b[27;5;13~\x1b[27;6;97~", "ctrl-enter ctrl-A"),
        (b"\x1b[57399u\x1b[57414u\x1b[57376u\x1b[57417u", "0 enter f13 left"),
        (b"\x1bOM\x1bOp\x1bOk", "enter 0 +"),
        (b"\x1b\x1b[A", "esc up"),
        (b"\x1bOz", "alt-O z"),
    ] {
        assert_eq!(parse(bytes), keys(chord), "{}", bytes.escape_ascii());
    }
}

#[test]
fn only_presses_and_repeats_count() {
    assert_eq!(parse(b"\x1b[97;1:1u\x1b[97;1:2u\x1b[97;1:3u\x1b[1;1:3A"), keys("a a"));
    assert_eq!(parse(b"\x1b[57441;2u\x1b[57428u"), [], "a modifier or a media key alone");
}

#[test]
fn a_lone_escape_becomes_the_esc_key_after_the_timeout() {
    let mut parser = Parser::default();
    parser.feed(b"\x1b");
    assert_eq!(parser.take(), []);
    assert_eq!(parser.timeout(), Some(ESCAPE_TIMEOUT));
    parser.on_timeout();
    assert_eq!(parser.take(), keys("esc"));
    assert_eq!(parser.timeout(), None);
    assert_eq!(parse_all(b"\x1b["), keys("alt-["));
    assert_eq!(parse_all(b"\x1bO"), keys("alt-O"));
    assert_eq!(parse_all(b"\x1b]"), keys("alt-]"));
    assert_eq!(parse_all(b"\x1b\x1b"), keys("esc esc"));
}

#[test]
fn there_is_no_timeout_between_keys() {
    let mut parser = Parser::default();
    parser.feed(b"hello\x1b[A");
    assert_eq!(parser.timeout(), None);
}

#[test]
fn unknown_sequences_are_swallowed_whole() {
    for bytes in [
        &b"\x1b[12;34R"[..],
        b"\x1b[?1;2;3z",
        b"\x1b[>41;380;0c",
        b"\x1b[8;24;80t",
        b"\x1b]52;c;aGVsbG8=\x07",
        b"\x1b]4;1;rgb:00/00/00\x1b\\",
        b"\x1bP>|XTerm(380)\x1b\\",
        b"\x1b_Gi=1;OK\x1b\\",
        b"\x1b[?2026;0$y",
        b"\x1b[201~",
        b"\xff\xfe\xc0",
        b"\xc2\x9b",
    ] {
        assert_eq!(parse(bytes), [], "{}", bytes.escape_ascii());
    }
}

#[test]
fn replies_of_the_terminal_are_not_keys() {
    let events = parse(b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\\x1b]11;rgb:1e/20/30\x07\x1b[?0u\x1b[?2026;2$y\x1b[?62;22cx");
    let answers = [
        QueryReply::Foreground(Rgb { red: 255, green: 255, blue: 255 }),
        QueryReply::Background(Rgb { red: 0x1e, green: 0x20, blue: 0x30 }),
        QueryReply::KittyKeys,
        QueryReply::SynchronizedOutput,
        QueryReply::End,
    ];
    let expected: Vec<ReaderEvent> = answers.into_iter().map(ReaderEvent::Reply).chain(keys("x")).collect();
    assert_eq!(events, expected);
    assert_eq!(
        parse(b"\x1b[?997;1n\x1b[?997;2n"),
        [true, false].map(|dark| ReaderEvent::Reply(QueryReply::Dark(dark)))
    );
}

#[test]
fn an_unfinished_reply_does_not_become_a_key() {
    let mut parser = Parser::default();
    parser.feed(b"\x1b]11;rgb:ff");
    assert_eq!(parser.timeout(), Some(STRING_TIMEOUT), "never typed by hand, so it gets more time");
    parser.on_timeout();
    parser.feed(b"x");
    assert_eq!(parser.take(), keys("x"));
    assert_eq!(parse_all(b"\x1b[?62;2"), []);
}

#[test]
fn focus_and_mouse_are_parsed() {
    assert_eq!(
        parse(b"\x1b[I\x1b[O"),
        [ReaderEvent::Input(Input::Focus(true)), ReaderEvent::Input(Input::Focus(false))]
    );
    let mouse = |bytes: &[u8]| match parse(bytes).as_slice() {
        [ReaderEvent::Input(Input::Mouse(mouse))] => *mouse,
        other => panic!("{other:?}"),
    };
    let at = |kind, mods| Mouse { kind, column: 9, row: 4, mods };
    let none = Modifiers::NONE;
    assert_eq!(mouse(b"\x1b[<0;10;5M"), at(MouseKind::Press(MouseButton::Left), none));
    assert_eq!(mouse(b"\x1b[<0;10;5m"), at(MouseKind::Release(MouseButton::Left), none));
    assert_eq!(mouse(b"\x1b[<34;10;5M"), at(MouseKind::Drag(MouseButton::Right), none));
    assert_eq!(mouse(b"\x1b[<35;10;5M"), at(MouseKind::Moved, none));
    assert_eq!(mouse(b"\x1b[<64;10;5M"), at(MouseKind::ScrollUp, none));
    assert_eq!(mouse(b"\x1b[<65;10;5M"), at(MouseKind::ScrollDown, none));
    assert_eq!(
        mouse(b"\x1b[<20;10;5M"),
        at(MouseKind::Press(MouseButton::Left), Modifiers::CTRL.with(Modifiers::SHIFT))
    );
    assert_eq!(parse(b"\x1b[<0;10M\x1b[<0;99999;1M\x1b[<128;1;1M"), [], "broken ones are dropped");
}

#[test]
fn a_paste_is_one_event_whatever_it_contains() {
    let events = parse(b"a\x1b[200~one\r\ntwo\rthree \x1b[31mred\x1b[0m \x03\xff\x1b[201~b");
    let text = "one\ntwo\nthree \x1b[31mred\x1b[0m \u{3}\u{fffd}".to_owned();
    let expected = [keys("a"), vec![ReaderEvent::Input(Input::Paste(text))], keys("b")].concat();
    assert_eq!(events, expected);
}

#[test]
fn a_paste_without_an_end_times_out() {
    let mut parser = Parser::default();
    parser.feed(b"\x1b[200~lost end\x1b[20");
    assert_eq!(parser.take(), []);
    assert_eq!(parser.timeout(), Some(PASTE_TIMEOUT));
    parser.on_timeout();
    assert_eq!(parser.take(), [ReaderEvent::Input(Input::Paste("lost end\x1b[20".to_owned()))]);
    parser.feed(b"x");
    assert_eq!(parser.take(), keys("x"));
}

#[test]
fn an_endless_sequence_is_dropped() {
    let mut parser = Parser::default();
    parser.feed(b"\x1b]0;");
    parser.feed(&vec![b'x'; SEQUENCE_LIMIT * 3]);
    assert!(parser.bytes.len() <= SEQUENCE_LIMIT);
}

#[test]
fn a_huge_paste_comes_in_parts() {
    let mut parser = Parser::default();
    parser.feed(b"\x1b[200~");
    for _ in 0..40 {
        parser.feed(&vec![b'x'; 1 << 20]);
    }
    parser.feed(b"\x1b[201~");
    let sizes: Vec<usize> = parser
        .take()
        .into_iter()
        .map(|event| match event {
            ReaderEvent::Input(Input::Paste(text)) => text.len(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(sizes.iter().sum::<usize>(), 40 << 20);
    assert!(sizes.len() > 1 && sizes.iter().all(|size| *size <= PASTE_LIMIT + (1 << 20)), "{sizes:?}");
}

/// Bytes that are likely to form sequences.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop_oneof![
        any::<u8>().prop_map(|byte| vec![byte]),
        proptest::sample::select(vec![
            &b"\x1b[A"[..],
            b"\x1b[1;5C",
            b"\x1b[97;5u",
            b"\x1b]11;rgb:1/2/3\x07",
            b"\x1b]11;rgb:1/2/3\x1b\\",
            b"\x1b[200~",
            b"\x1b[201~",
            b"\x1b[<0;3;4M",
            b"\x1bO",
            b"\x1b[",
            b"\x1b",
            b"\x1bP",
            "漢é🙂".as_bytes(),
            b"text",
        ])
        .prop_map(<[u8]>::to_vec),
    ];
    prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn how_bytes_are_split_into_reads_does_not_matter(bytes in any_bytes(), cuts in prop::collection::vec(0usize..64, 0..12)) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.push(bytes.len());
        cuts.sort_unstable();
        let mut parser = Parser::default();
        let mut at = 0;
        for cut in cuts {
            parser.feed(&bytes[at..cut]);
            at = cut;
        }
        prop_assert_eq!(parser.take(), parse(&bytes));
    }

    #[test]
    fn timeouts_always_clear_the_buffer(bytes in any_bytes()) {
        let mut parser = Parser::default();
        parser.feed(&bytes);
        for _ in 0..=bytes.len() {
            if parser.timeout().is_none() {
                break;
            }
            parser.on_timeout();
        }
        prop_assert_eq!(parser.timeout(), None);
    }

    #[test]
    fn typed_text_round_trips(text in "[^\\p{Cc}]{0,40}") {
        let typed: String = parse(text.as_bytes()).into_iter().filter_map(|event| match event {
            ReaderEvent::Input(Input::Key(key)) => key.typed(),
            _ => None,
        }).collect();
        prop_assert_eq!(typed, text);
    }
}

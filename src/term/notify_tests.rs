use super::*;
use crate::term::env::Multiplexer;

fn on(emulator: Emulator) -> TerminalEnv {
    TerminalEnv { emulator, ..TerminalEnv::default() }
}

#[test]
fn each_terminal_gets_its_own_sequence() {
    let sequence = |emulator| notification("Ask", "which path?", &on(emulator));
    assert_eq!(sequence(Emulator::ITerm), "\x1b]9;Ask: which path?\x1b\\");
    assert_eq!(sequence(Emulator::Vte), "\x1b]777;notify;Ask;which path?\x1b\\");
    assert_eq!(sequence(Emulator::Kitty), "\x1b]99;i=mxd:d=0;Ask\x1b\\\x1b]99;i=mxd:p=body;which path?\x1b\\");
    assert_eq!(sequence(Emulator::Other), "\x07");
}

#[test]
fn text_cannot_end_the_sequence_early() {
    let evil = "a\x1b\\\x1b]52;c;ZXZpbA==\x07b\u{9c}c\u{202e}d\ne";
    for emulator in [Emulator::Kitty, Emulator::ITerm, Emulator::Vte] {
        let sequence = notification(evil, evil, &on(emulator));
        let inside: String = sequence.split("\x1b]").skip(1).map(|part| part.trim_end_matches("\x1b\\")).collect();
        assert!(!inside.contains(char::is_control), "{sequence:?}");
        assert!(!sequence.contains("52;c"), "{sequence:?}");
    }
    assert_eq!(title("a\x07b\nc"), "\x1b]2;ab c\x1b\\");
}

#[test]
fn a_text_that_begins_with_a_number_is_not_progress() {
    assert_eq!(notification("", "4;1;50", &on(Emulator::ITerm)), "\x1b]9;· 4;1;50\x1b\\");
    assert_eq!(notification("a;b", "c", &on(Emulator::Foot)), "\x1b]777;notify;a,b;c\x1b\\");
}

#[test]
fn titles_are_short() {
    let long = title(&"x".repeat(5000));
    assert!(long.chars().count() < 140, "{}", long.len());
    assert!(long.ends_with("…\x1b\\"));
}

#[test]
fn a_notification_is_wrapped_for_tmux() {
    let inside = TerminalEnv { multiplexer: Some(Multiplexer::Tmux), ..on(Emulator::ITerm) };
    assert_eq!(notification("t", "b", &inside), "\x1bPtmux;\x1b\x1b]9;t: b\x1b\x1b\\\x1b\\");
}

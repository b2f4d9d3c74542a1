use super::*;
use crate::term::surroundings::Multiplexer;

fn on(emulator: Emulator) -> Surroundings {
    Surroundings { emulator, ..Surroundings::default() }
}

#[test]
fn each_terminal_is_told_in_its_own_form() {
    let told = |emulator| notification("Ask", "which path?", &on(emulator));
    assert_eq!(told(Emulator::ITerm), "\x1b]9;Ask: which path?\x1b\\");
    assert_eq!(told(Emulator::Vte), "\x1b]777;notify;Ask;which path?\x1b\\");
    assert_eq!(told(Emulator::Kitty), "\x1b]99;i=mxd:d=0;Ask\x1b\\\x1b]99;i=mxd:p=body;which path?\x1b\\");
    assert_eq!(told(Emulator::Other), "\x07");
}

#[test]
fn foreign_text_cannot_leave_its_string() {
    let evil = "a\x1b\\\x1b]52;c;ZXZpbA==\x07b\u{9c}c\u{202e}d\ne";
    for emulator in [Emulator::Kitty, Emulator::ITerm, Emulator::Vte] {
        let told = notification(evil, evil, &on(emulator));
        let inside: String = told.split("\x1b]").skip(1).map(|part| part.trim_end_matches("\x1b\\")).collect();
        assert!(!inside.contains(char::is_control), "{told:?}");
        assert!(!told.contains("52;c"), "{told:?}");
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
fn tmux_hands_a_notification_on() {
    let inside = Surroundings { multiplexer: Some(Multiplexer::Tmux), ..on(Emulator::ITerm) };
    assert_eq!(notification("t", "b", &inside), "\x1bPtmux;\x1b\x1b]9;t: b\x1b\x1b\\\x1b\\");
}

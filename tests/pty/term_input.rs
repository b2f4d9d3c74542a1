//! What comes from the terminal, in a real one: sizes, pastes, answers, bursts.

use std::time::{Duration, Instant};

use crate::support::world::example;
use crate::support::{Session, World};

fn probe(world: &World) -> Session {
    let session = Session::start(world, &example("terminal-probe"), &[], 60, 10);
    session.wait_for_text("probe 60x10");
    session
}

#[test]
fn a_resize_storm_ends_with_the_last_size_and_few_frames() {
    let world = World::new();
    let mut session = probe(&world);
    let before = session.traffic().count("\x1b[?2026h");
    for step in 0..500u16 {
        session.resize(40 + step % 60, 8 + step % 20);
    }
    session.resize(73, 17);
    session.wait_for_text("probe 73x17");
    let frames = session.traffic().count("\x1b[?2026h") - before;
    assert!(frames < 250, "{frames} frames for 501 sizes");
    session.press("q");
    session.wait_for_end().assert_restored(1);
}

#[test]
fn a_tiny_window_is_survived() {
    let world = World::new();
    let mut session = probe(&world);
    for (columns, rows) in [(1, 1), (2, 1), (1, 5), (20, 5), (300, 100), (61, 11)] {
        session.resize(columns, rows);
    }
    session.wait_for_text("probe 61x11");
    session.press("k");
    session.wait_for_text("last: k");
    session.press("q");
    session.wait_for_end().assert_restored(1);
}

#[test]
fn a_window_that_was_small_for_a_moment_is_whole_again() {
    let world = World::new();
    let mut session = probe(&world);
    session.wait_for_text("background: None");
    session.resize(5, 1);
    session.resize(60, 10);
    session.wait_for_text("background: None");
    session.press("q");
    session.wait_for_end().assert_restored(1);
}

#[test]
fn a_paste_comes_as_one_piece() {
    let world = World::new();
    let mut session = probe(&world);
    session.send(b"\x1b[200~q\rp\r\x1b[201~");
    session.wait_for_text(r#"last: Paste("q\np\n")"#);
    session.press("q");
    assert_eq!(session.wait_for_end().code, 0);
}

#[test]
fn text_pasted_without_brackets_presses_no_key() {
    let world = World::new();
    let mut session = probe(&world);
    session.send(b"quit now\rplease\r");
    session.wait_for_text(r#"last: Paste("quit now\nplease\n")"#);
    session.press("q");
    assert_eq!(session.wait_for_end().code, 0);
}

#[test]
fn answers_of_the_terminal_are_learnt_and_never_typed() {
    let world = World::new();
    let mut session = Session::start(&world, &example("terminal-probe"), &[], 60, 10);
    session.wait_for_bytes("the questions", |bytes| memchr::memmem::find(bytes, b"\x1b[c").is_some());
    session.send(b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\\x1b]11;rgb:1010/2020/3030\x1b\\\x1b[?0u\x1b[?2026;2$y\x1b[?62;22c");
    session.wait_for_text("background: Some(Rgb { red: 16, green: 32, blue: 48 })");
    session.wait_for_text("heard: 0");
    session.press("q");
    let ended = session.wait_for_end();
    ended.assert_restored(1);
    assert_eq!(ended.traffic.count("\x1b[>1u"), 1, "the keys of a terminal that knows them are switched");
    assert_eq!(ended.traffic.count("\x1b[<1u"), 1);
}

#[test]
fn a_late_answer_does_not_reach_the_shell() {
    // The user is faster than the terminal: the program is about to end when the answers come. How long it waits for
    // them is a matter of time, so a run in which this machine was too slow to answer says nothing.
    for _ in 0..20 {
        let world = World::new();
        let log = world.path("log");
        let world = world.with("PROBE_LOG", &log);
        let mut session = probe(&world);
        let pressed = Instant::now();
        session.press("q");
        session.wait_until("the end to begin", || {
            std::fs::read_to_string(&log).is_ok_and(|said| said.contains("quitting"))
        });
        session.send(b"\x1b]11;rgb:1010/2020/3030\x1b\\\x1b[?62;22c");
        let in_time = pressed.elapsed() < Duration::from_millis(60);
        let ended = session.wait_for_end();
        if in_time {
            ended.assert_restored(1);
            assert!(!ended.text.contains("rgb:"), "{}", ended.text);
            return;
        }
    }
}

#[test]
fn a_terminal_that_answers_nothing_does_not_hold_up_the_start() {
    let world = World::new();
    let mut session = probe(&world);
    session.press("j");
    session.wait_for_text("last: j");
    session.press("q");
    assert_eq!(session.wait_for_end().code, 0);
}

#[test]
fn a_lone_escape_is_a_key_and_a_split_sequence_is_not() {
    let world = World::new();
    let mut session = probe(&world);
    session.press("esc");
    session.wait_for_text("last: esc");
    session.press("ctrl-right");
    session.wait_for_text("last: ctrl-right");
    session.press("q");
    session.wait_for_end().assert_restored(1);
}

#[test]
fn what_is_shown_can_be_compared_with_its_colours() {
    let world = World::new();
    let mut session = probe(&world);
    session.press("k");
    session.wait_for_text("last: k");
    let name = |colour| (colour == vt100::Color::Idx(2)).then(|| "accent".to_owned());
    let picture = session.picture(name);
    assert!(picture.starts_with("probe 60x10\n  0-10 accent\nlast: k\nheard: 1"), "{picture}");
    session.press("q");
    session.wait_for_end();
}

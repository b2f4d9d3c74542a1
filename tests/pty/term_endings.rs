//! Every way in which a program on the terminal can end: afterwards the terminal is as it was.

use std::path::Path;

use rustix::process::Signal;

use crate::support::world::example;
use crate::support::{Ended, Session, World};

fn probe(world: &World) -> Session {
    let session = Session::start(world, &example("terminal-probe"), &[], 60, 10);
    session.wait_for_text("probe 60x10");
    assert!(session.is_raw(), "the probe has the terminal");
    session
}

fn ended_by(key: &str) -> Ended {
    let world = World::new();
    let mut session = probe(&world);
    session.press(key);
    session.wait_for_end()
}

fn ended_by_signal(signal: Signal) -> Ended {
    let world = World::new();
    let session = probe(&world);
    session.signal(signal);
    session.wait_for_end()
}

/// The text that follows the last leaving of the alternate screen, which is what the user reads.
fn afterwards(ended: &Ended) -> String {
    let bytes = &ended.traffic.0;
    let left = memchr::memmem::rfind(bytes, b"\x1b[?1049l").expect("the alternate screen was left");
    String::from_utf8_lossy(&bytes[left..]).into_owned()
}

#[test]
fn quitting_restores_the_terminal() {
    let ended = ended_by("q");
    ended.assert_restored(1);
    assert_eq!(ended.code, 0);
    assert!(afterwards(&ended).contains("probe: bye"), "{:?}", afterwards(&ended));
}

#[test]
fn an_error_restores_the_terminal() {
    let ended = ended_by("x");
    ended.assert_restored(1);
    assert_eq!(ended.code, 3);
    assert!(afterwards(&ended).contains("probe: an error"));
}

#[test]
fn a_panic_restores_first_and_reports_then() {
    let ended = ended_by("p");
    ended.assert_restored(1);
    assert_eq!(ended.code, 101);
    assert!(afterwards(&ended).contains("the probe panics"), "{:?}", afterwards(&ended));
    assert_eq!(ended.traffic.count("the probe panics"), 1, "and not over the screen before");
}

#[test]
fn a_panic_in_a_task_ends_the_screen_in_order() {
    let ended = ended_by("t");
    ended.assert_restored(1);
    assert_eq!(ended.code, 101);
    let after = afterwards(&ended);
    assert!(after.contains("the task panics") && after.contains("probe: stopped Panic"), "{after:?}");
}

#[test]
fn a_panic_in_a_thread_ends_the_screen_in_order() {
    let ended = ended_by("T");
    ended.assert_restored(1);
    assert_eq!(ended.code, 101);
    let after = afterwards(&ended);
    assert!(after.contains("the thread panics") && after.contains("probe: stopped Panic"), "{after:?}");
}

#[test]
fn every_signal_that_ends_restores_the_terminal() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130), (Signal::QUIT, 131)] {
        let ended = ended_by_signal(signal);
        ended.assert_restored(1);
        assert_eq!(ended.code, code, "{signal:?}");
        assert!(afterwards(&ended).contains("probe: stopped"), "{signal:?}");
    }
}

#[test]
fn a_second_signal_ends_a_program_that_does_not_listen() {
    let world = World::new();
    let log = world.path("log");
    let world = world.with("PROBE_LOG", &log);
    let mut session = probe(&world);
    session.press("b");
    session.wait_until("the block", || std::fs::read_to_string(&log).is_ok_and(|said| said.contains("blocked")));
    session.wait_until("the end", || {
        session.signal(Signal::TERM);
        session.has_exited()
    });
    let ended = session.wait_for_end();
    ended.assert_restored(1);
    assert_eq!(ended.code, 143);
}

#[test]
fn modes_that_were_switched_on_later_are_switched_off_too() {
    let world = World::new();
    let mut session = probe(&world);
    session.press("m w");
    session.wait_for_bytes("the modes", |bytes| {
        ["\x1b[?1006h", "\x1b[?1007h"].iter().all(|mode| memchr::memmem::find(bytes, mode.as_bytes()).is_some())
    });
    session.press("h");
    session.wait_for("the hidden cursor", vt100::Screen::hide_cursor);
    session.press("q");
    let ended = session.wait_for_end();
    ended.assert_restored(1);
    assert_eq!(ended.traffic.count("\x1b[?1007r"), 1, "the wheel is as it was");
}

#[test]
fn a_terminal_that_is_closed_ends_the_program_quietly() {
    let world = World::new();
    let log = world.path("log");
    let world = world.with("PROBE_LOG", &log);
    let mut session = probe(&world);
    session.hang_up();
    let code = session.wait_for_exit();
    let said = std::fs::read_to_string(log).unwrap();
    // Both come, the signal of the line and the end of it; whichever is first.
    assert!(code == 129 && said.contains("Hangup") || code == 0 && said.contains("closed"), "{code} {said:?}");
}

#[test]
fn a_terminal_that_is_closed_is_noticed_without_the_signal() {
    let setsid = Path::new("/usr/bin/setsid");
    if !setsid.exists() {
        return;
    }
    let world = World::new();
    let log = world.path("log");
    let world = world.with("PROBE_LOG", &log);
    let probe = example("terminal-probe");
    // In a session of its own the line sends it no signal: only reading can tell.
    let mut session = Session::start(&world, setsid, &["--wait", probe.to_str().unwrap()], 60, 10);
    session.wait_for_text("probe 60x10");
    session.hang_up();
    session.wait_until("the end", || std::fs::read_to_string(&log).is_ok_and(|said| said.contains("closed")));
}

#[test]
fn what_is_not_a_terminal_is_refused_with_a_way_out() {
    let world = World::new();
    let shell = format!("{} | cat", example("terminal-probe").display());
    let session = Session::start(&world, "/bin/sh".as_ref(), &["-c", &shell], 100, 10);
    session.wait_for_text("standard output is not a terminal");
    let ended = session.wait_for_end();
    assert!(ended.text.contains("mxd --plain"), "{}", ended.text);
    assert_eq!(ended.traffic.count("\x1b["), 0, "nothing was switched");

    let dumb = World::new().with("TERM", "dumb");
    let session = Session::start(&dumb, &example("terminal-probe"), &[], 100, 10);
    session.wait_for_text("does not support control sequences");
    assert_eq!(session.wait_for_end().code, 4);
}

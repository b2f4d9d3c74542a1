//! Ways out of the screen that come back: the shell, the editor, a stop that nobody announced.

use rustix::process::Signal;

use crate::support::shell::shell;
use crate::support::world::example;
use crate::support::{Session, World};

fn probe(world: &World) -> Session {
    let session = Session::start(world, &example("terminal-probe"), &[], 60, 10);
    session.wait_for_text("probe 60x10");
    session
}

/// Starts the probe by typing its name at the prompt of a shell with job control.
fn probe_in_a_shell(world: &World) -> Session {
    std::os::unix::fs::symlink(example("terminal-probe"), world.path("probe")).unwrap();
    let mut session = shell(world, 60, 10);
    session.send(b"./probe\r");
    session.wait_for_text("probe 60x10");
    session
}

#[test]
fn a_suspended_program_leaves_the_terminal_as_it_was_and_comes_back() {
    let world = World::new();
    let mut session = probe(&world);
    session.press("m");
    session.wait_for_bytes("the mouse", |bytes| memchr::memmem::find(bytes, b"\x1b[?1006h").is_some());
    session.press("ctrl-z");
    session.wait_until_stopped();
    session.assert_settings_restored();
    session.wait_for_bytes("the leaving", |bytes| memchr::memmem::find(bytes, b"\x1b[?1049l").is_some());
    session.traffic().assert_restored(1);
    session.signal(Signal::CONT);
    session.wait_for_text("back from the shell");
    assert!(session.is_raw());
    session.press("q");
    let ended = session.wait_for_end();
    ended.assert_restored(2);
    assert_eq!(ended.traffic.count("\x1b[?1006h"), 2, "the mouse is back as well");
    assert_eq!(ended.code, 0);
}

#[test]
fn a_stop_signal_from_outside_is_a_suspension() {
    let world = World::new();
    let mut session = probe(&world);
    session.signal(Signal::TSTP);
    session.wait_until_stopped();
    session.assert_settings_restored();
    session.signal(Signal::CONT);
    session.wait_for_text("back from the shell");
    session.press("q");
    session.wait_for_end().assert_restored(2);
}

#[test]
fn a_real_shell_gets_its_terminal_back_and_can_resume_the_program() {
    let world = World::new();
    let mut session = probe_in_a_shell(&world);
    session.press("z");
    session.wait_for_text("Stopped");
    session.wait_for_prompt();
    session.send(b"echo $((6 * 7))\r");
    session.wait_for_text("42");
    session.wait_for_prompt();
    session.send(b"fg\r");
    session.wait_for_text("back from the shell");
    session.press("q");
    session.wait_for_text("probe: bye");
    session.wait_for_prompt();
    session.send(b"stty -a | grep -c ' icanon.* echo '; exit\r");
    let ended = session.wait_for_end();
    assert!(ended.text.contains("probe: bye"), "{}", ended.text);
    assert_eq!(ended.traffic.count("\x1b[?1049h"), 2);
    assert_eq!(ended.traffic.count("\x1b[?1049l"), 2);
}

#[test]
fn stopping_the_editor_stops_both_and_both_go_on() {
    let world = World::new();
    let script = world.script("edit", "echo ready; read line; echo \"got $line\"; exit 6");
    let world = world.with("EDITOR", script.as_os_str());
    let mut session = probe_in_a_shell(&world);
    session.press("e");
    session.wait_for_text("ready");
    session.press("ctrl-z");
    session.wait_for_text("Stopped");
    session.wait_for_prompt();
    session.send(b"fg\r");
    session.wait_for_bytes("the job", |bytes| memchr::memmem::find_iter(bytes, b"./probe\r\n").count() >= 3);
    session.send(b"words\r");
    session.wait_for_text("editor ended with exit status: 6");
    session.press("q");
    session.wait_for_text("probe: bye");
    session.wait_for_prompt();
    session.send(b"exit\r");
    session.wait_for_end();
}

#[test]
fn a_stop_that_nobody_announced_is_repaired() {
    let world = World::new();
    let mut session = probe(&world);
    session.signal(Signal::STOP);
    session.wait_until_stopped();
    // What a shell would do meanwhile: its own settings, and something on the screen.
    session.cook_line();
    session.scribble("\x1b[?2004lrubbish over the screen");
    session.wait_for_text("rubbish");
    session.signal(Signal::CONT);
    session.wait_for("the repair", |screen| !screen.contents().contains("rubbish"));
    assert!(session.is_raw());
    session.wait_for_bytes("the pastes again", |bytes| memchr::memmem::find_iter(bytes, b"\x1b[?2004h").count() == 2);
    session.press("q");
    let ended = session.wait_for_end();
    assert_eq!(ended.code, 0);
    assert_eq!(ended.traffic.count("\x1b[?1049h"), 1, "nothing is pushed twice");
}

#[test]
fn the_editor_gets_a_plain_terminal_and_every_key() {
    let world = World::new();
    let typed = world.path("typed");
    let script = world.script(
        "edit",
        &format!("stty -a > {0}.stty; echo 'editor here'; read line; echo \"$line\" > {0}; exit 5", typed.display()),
    );
    let world = world.with("EDITOR", format!("'{}' --wait", script.display()));
    let mut session = probe(&world);
    session.press("e");
    session.wait_for_text("editor here");
    session.assert_settings_restored();
    session.traffic().assert_restored(1);
    session.send(b"qzpx every key\r");
    session.wait_for_text("editor ended with exit status: 5");
    assert_eq!(std::fs::read_to_string(&typed).unwrap(), "qzpx every key\n", "nobody else read them");
    assert!(session.is_raw());
    session.press("j");
    session.wait_for_text("last: j");
    session.press("q");
    session.wait_for_end().assert_restored(2);
}

#[test]
fn what_the_editor_leaves_behind_is_not_taken_for_the_terminals_own() {
    let world = World::new();
    let script = world.script("edit", "stty raw -echo; exit 1");
    let world = world.with("EDITOR", script.as_os_str());
    let mut session = probe(&world);
    session.press("e");
    session.wait_for_text("editor ended");
    session.press("q");
    session.wait_for_end().assert_restored(2);
}

#[test]
fn interrupting_the_editor_does_not_end_the_program() {
    let world = World::new();
    let script = world.script("edit", "trap 'echo interrupted; exit 7' INT; echo ready; while :; do sleep 1; done");
    let world = world.with("EDITOR", script.as_os_str());
    let mut session = probe(&world);
    session.press("e");
    session.wait_for_text("ready");
    session.press("ctrl-c");
    session.wait_for_text("editor ended with exit status: 7");
    session.press("q");
    let ended = session.wait_for_end();
    ended.assert_restored(2);
    assert_eq!(ended.code, 0);
}

#[test]
fn a_signal_while_the_editor_runs_ends_both() {
    let world = World::new();
    let script = world.script("edit", "echo ready; exec sleep 1000");
    let world = world.with("EDITOR", script.as_os_str());
    let mut session = probe(&world);
    session.press("e");
    session.wait_for_text("ready");
    session.signal(Signal::TERM);
    let ended = session.wait_for_end();
    ended.assert_restored(1);
    assert_eq!(ended.code, 143);
}

#[test]
fn a_missing_editor_is_said_and_the_screen_comes_back() {
    let world = World::new().with("EDITOR", "/does/not/exist");
    let mut session = probe(&world);
    session.press("e");
    session.wait_for_text("editor did not start");
    session.press("q");
    session.wait_for_end().assert_restored(2);
}

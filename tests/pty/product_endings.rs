//! Every way in which the product can end while an agent works: the terminal is as it was, nothing of the agent runs on,
//! and the next start goes on.

use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::json;

use crate::support::product::{bash, open, project, root, say};
use crate::support::{Session, World};

/// A project whose root is busy with a command that would take long.
fn busy() -> (World, Session) {
    busy_with(&json!({}))
}

/// A busy project with more settings.
fn busy_with(settings: &serde_json::Value) -> (World, Session) {
    let world = project(&json!([root(&json!([
        bash("echo $$ > ../pid.new; mv ../pid.new ../pid; exec sleep 300"),
        say("I was cut short.")
    ]))]));
    let path = world.path("data/config.json");
    let mut config: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    config.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    std::fs::write(&path, config.to_string()).unwrap();
    let mut session = open(&world, 120, 40);
    session.say("Take your time.");
    session.wait_until("the command", || world.path("pid").exists());
    session.wait_for_text("sleep 300");
    (world, session)
}

fn is_running(world: &World) -> bool {
    let pid = std::fs::read_to_string(world.path("pid")).unwrap();
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    test_kill_process(pid).is_ok()
}

/// Asserts that the work is taken up by itself.
fn goes_on(world: &World) {
    let session = open(world, 120, 40);
    session.wait_for_text("I was cut short.");
    session.wait_for_text("Take your time.");
    session.quit().assert_restored(1);
}

#[test]
fn every_signal_that_ends_restores_the_terminal_and_stops_the_agents() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let (world, session) = busy_with(&json!({ "onHangup": "stop" }));
        session.signal(signal);
        let ended = session.wait_for_end();
        ended.assert_restored(1);
        assert_eq!(ended.code, code, "{signal:?}");
        assert!(!is_running(&world), "{signal:?}");
        goes_on(&world);
    }
}

#[test]
fn a_window_that_is_closed_stops_the_agents_if_the_user_wants_that() {
    let (world, mut session) = busy_with(&json!({ "onHangup": "stop" }));
    session.hang_up();
    session.wait_for_exit();
    assert!(!is_running(&world));
    goes_on(&world);
}

#[test]
fn a_window_that_is_closed_leaves_the_agents_at_work_for_the_next_one() {
    let (world, mut session) = busy();
    session.hang_up();
    let next = open(&world, 120, 40);
    next.wait_for_text("sleep 300");
    assert!(is_running(&world));
    next.leave().assert_restored(1);
    assert!(is_running(&world), "who joined leaves the agents at work");
    let stop = world.command(crate::support::product::mxd()).args(["serve", "stop"]).status().unwrap();
    assert!(stop.success());
    session.wait_for_exit();
    assert!(!is_running(&world));
    goes_on(&world);
}

#[test]
fn ctrl_c_twice_quits() {
    let (world, mut session) = busy();
    session.press("ctrl-c");
    session.wait_for_glimpse("again to quit");
    // Whoever looked up too late for the second to count has asked anew with it.
    session.press("ctrl-c ctrl-c");
    let ended = session.wait_for_end();
    ended.assert_restored(1);
    assert_eq!(ended.code, 0);
    assert!(!is_running(&world));
}

#[test]
fn a_second_program_without_a_screen_joins_and_leaves_the_agents_at_work() {
    let (world, mut session) = busy();
    let mut second = Session::start(&world, crate::support::product::mxd(), &["--plain"], 120, 40);
    second.wait_for_text("Matrix on calc");
    second.send(b"/quit\r");
    assert_eq!(second.wait_for_end().code, 0);
    assert!(is_running(&world));
    session.press("ctrl-c ctrl-c");
    session.wait_for_end().assert_restored(1);
}

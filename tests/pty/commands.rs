//! Commands in a terminal: tables, colours, and the degradation of both.

use serde_json::json;

use crate::support::product::{call, mxd, project, root, say};
use crate::support::{Session, World};

/// A project with a root and two tasks.
fn planned() -> World {
    let later =
        |title: &str| call("create_task", &json!({ "title": title, "description": "Do it.", "start": "later" }));
    let world = project(&json!([root(&json!([later("Token store"), later("Login page"), say("Planned.")]))]));
    assert!(world.command(mxd()).args(["run", "Plan it."]).output().unwrap().status.code().is_some());
    world
}

/// Returns the screen after a command, and what it sent.
fn shown(world: &World, args: &[&str], columns: u16) -> (String, usize) {
    let ended = Session::start(world, mxd(), args, columns, 24).wait_for_end();
    (ended.text, ended.traffic.count("\u{1b}["))
}

#[test]
fn a_terminal_gets_a_coloured_table_that_fits() {
    let world = planned();
    for columns in [80, 120] {
        let (text, sequences) = shown(&world, &["tree"], columns);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("#  Task") && lines[0].contains("State"), "{text}");
        assert!(lines[2].starts_with("2  ├ ○ Token store") && lines[3].starts_with("3  └ ○ Login page"), "{text}");
        assert!(sequences > 4, "{sequences}");
    }
    let (text, _) = shown(&world, &["cost"], 80);
    assert!(text.lines().next().unwrap().contains("Tokens") && text.contains("total"), "{text}");
}

#[test]
fn no_colour_and_ascii_are_respected() {
    let world = planned();
    assert_eq!(shown(&world, &["--color", "never", "tree"], 80).1, 0);
    let world = world.with("NO_COLOR", "1").with("LC_ALL", "C");
    let (text, sequences) = shown(&world, &["tree"], 80);
    assert_eq!(sequences, 0);
    assert!(text.is_ascii() && text.contains("| o Token store"), "{text}");
}

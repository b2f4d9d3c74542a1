//! Where no screen can be opened: a sentence, a way out that works, and nothing begun.

use serde_json::json;

use crate::support::product::{git, mxd, project, root, say};
use crate::support::{Ended, Session, World};

fn refused(world: &World) -> Ended {
    let ended = Session::start(world, mxd(), &[], 120, 40).wait_for_end();
    assert!(ended.text.starts_with("mxd: "), "{}", ended.text);
    assert_eq!(ended.traffic.count("\x1b["), 0, "nothing was switched");
    ended
}

/// Runs the command in backticks that a hint names.
fn follow(world: &World, said: &str) {
    let hint = said.split('`').nth(1).unwrap_or_else(|| panic!("no command in {said}"));
    let hint = hint.replace('\n', "");
    let output = world.command("sh").args(["-c", &hint]).output().unwrap();
    assert!(output.status.success(), "{hint}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_repository_gets_its_first_commit_by_following_the_hint() {
    let world = World::new().within("new").with("MXD_LOCAL_SERVERS", "none");
    git(&world, &["init", "-q"]);
    // The screen offers to make it; a command without one can only say so.
    let refused = world.command(mxd()).args(["run", "Begin."]).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.starts_with("mxd: ") && said.contains("has no commit yet"), "{said}");
    assert_eq!(refused.status.code(), Some(3));
    assert!(!world.path("data").exists(), "nothing is kept of a refusal");
    follow(&world, &said);
    let mut session = Session::start(&world, mxd(), &[], 120, 40);
    session.wait_for_text("Which provider do you want to use?");
    session.press("esc");
    session.wait_for_text("No model is set up yet");
    session.quit().assert_restored(2);
}

#[test]
fn a_terminal_that_can_show_nothing_is_refused_before_anything_begins_and_the_hint_works() {
    let world = project(&json!([root(&json!([say("Two and two are four.")]))])).with("TERM", "dumb");
    let ended = refused(&world);
    assert!(ended.text.contains("does not support control sequences"), "{}", ended.text);
    assert!(ended.text.contains("mxd --plain"), "{}", ended.text);
    assert_eq!(ended.code, 1);
    assert!(!world.path("data/projects").exists() && !world.path("data/projects.json").exists(), "registered");
    let mut session = Session::start(&world, mxd(), &["--plain"], 120, 40);
    session.wait_for_text("Matrix on calc");
    session.send(b"Add two and two.\r");
    session.wait_for_text("Two and two are four.");
    session.send(b"/quit\r");
    let ended = session.wait_for_end();
    assert_eq!((ended.code, ended.traffic.count("\x1b[")), (0, 0), "{}", ended.text);
}

#[test]
fn what_is_not_a_terminal_is_refused_before_anything_begins() {
    let world = project(&json!([root(&json!([]))]));
    let output = world.command(mxd()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("standard input is not a terminal") && said.contains("mxd --plain"), "{said}");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), [].as_slice()));
    assert_eq!(std::fs::read_dir(world.path("data")).unwrap().count(), 1, "only the settings of before");
    let output = world.command(mxd()).arg("demo").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("`mxd demo --plain`"), "{said}");
}

//! Ways out of the product that come back: the shell, the editor.

use serde_json::json;

use crate::support::World;
use crate::support::product::{agent, mxd, open, project, root, say};
use crate::support::shell::shell;

fn quiet() -> World {
    project(&json!([
        root(&json!([{ "when": { "text": "from the editor" }, "text": "It was edited." }])),
        agent("Later", &json!([say("Later it is.")])),
    ]))
}

#[test]
fn a_shell_gets_its_terminal_back_and_can_resume_the_program() {
    let world = quiet();
    std::os::unix::fs::symlink(mxd(), world.path("mxd")).unwrap();
    let mut session = shell(&world, 100, 30);
    session.send(b"../mxd\r");
    session.wait_for_text("message orchestrator");
    session.send(b"half a thou");
    session.wait_for_text("half a thou");
    session.press("ctrl-z");
    session.wait_for_text("Stopped");
    session.wait_for_prompt();
    session.send(b"echo $((6 * 7))\r");
    session.wait_for_text("42");
    session.wait_for_prompt();
    session.send(b"fg\r");
    session.wait_for_text("half a thou");
    session.send(b"ght");
    session.wait_for_text("half a thought");
    session.press("ctrl-q");
    session.wait_for_prompt();
    session.send(b"stty -a | grep -c ' icanon.* echo '; exit\r");
    let ended = session.wait_for_end();
    assert_eq!(ended.traffic.count("\x1b[?1049h"), 2);
    assert_eq!(ended.traffic.count("\x1b[?1049l"), 2);
    assert_eq!(ended.traffic.count("\x1b[?2004h"), ended.traffic.count("\x1b[?2004l"), "pastes");
}

#[test]
fn a_message_is_finished_in_the_editor() {
    let world = quiet();
    let lines = "stty -a > ../stty; cat \"$1\" > ../given; echo 'editor here'; read line; echo \"$line\" > \"$1\"";
    let script = world.script("edit", lines);
    let world = world.with("EDITOR", script.as_os_str());
    let mut session = open(&world, 100, 30);
    session.send(b"a draft");
    session.wait_for_text("a draft");
    session.press("ctrl-g");
    session.wait_for_text("editor here");
    session.assert_settings_restored();
    session.traffic().assert_restored(1);
    session.send(b"some words from the editor\r");
    session.wait_until("the way back", || session.is_raw());
    session.wait_for_text("› some words from the editor");
    assert_eq!(std::fs::read_to_string(world.path("given")).unwrap().trim_end(), "a draft");
    session.press("enter");
    session.wait_for_text("It was edited.");
    session.quit().assert_restored(2);
}

#[test]
fn an_editor_that_fails_or_is_missing_costs_nothing() {
    let world = quiet();
    let script = world.script("edit", "echo rubbish > \"$1\"; exit 3");
    for (editor, sentence) in
        [(script.to_str().unwrap(), "nothing changed"), ("/does/not/exist", "cannot start the editor")]
    {
        let world = quiet().with("EDITOR", editor);
        let mut session = open(&world, 100, 30);
        session.send(b"a draft");
        session.wait_for_text("a draft");
        session.press("ctrl-g");
        let text = session.wait_for_text(sentence);
        assert!(text.contains("a draft") && !text.contains("rubbish"), "{text}");
        session.quit().assert_restored(2);
    }
}

#[test]
fn a_description_is_written_in_the_editor() {
    let world = quiet();
    let script = world.script("edit", "echo 'What it is about.' > \"$1\"");
    let world = world.with("EDITOR", script.as_os_str());
    let mut session = open(&world, 100, 30);
    session.focus_tasks();
    session.press("n");
    session.wait_for_text("New task");
    session.send(b"Later");
    session.wait_for_text("Later");
    session.press("ctrl-s");
    session.wait_for_text("draft");
    session.select("Later");
    session.press("e");
    session.wait_for_bytes("the way back", |bytes| memchr::memmem::find_iter(bytes, b"\x1b[?1049h").count() == 2);
    session.wait_for_text("No messages yet");
    session.press("3");
    session.wait_for_text("What it is about.");
    session.press("q");
    session.wait_for_end().assert_restored(2);
}

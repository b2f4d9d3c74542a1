//! What a user is told while they look elsewhere: once for each reason, in every way they chose, and never while they look.

use serde_json::json;

use crate::support::product::{bash, call, mxd, open, project, root};

#[test]
fn who_looks_elsewhere_is_told_once_in_every_way_they_chose() {
    let ask = |question: &str| call("clarify", &json!({ "question": question, "choices": ["yes", "no"] }));
    let gate = "until [ -e ../gate ]; do sleep 0.02; done";
    let world = project(&json!([root(&json!([ask("First?"), bash(gate), ask("Second?"), call("yield", &json!({}))]))]))
        .with("TERM_PROGRAM", "ghostty");
    let heard = world.path("heard");
    let command = format!("printf '%s\\n' \"$MXD_NOTICE\" >> '{}'", heard.display());
    for (key, value) in [("notify.command", command.as_str()), ("notify.bell", "true")] {
        assert!(world.command(mxd()).args(["config", "set", key, value]).status().unwrap().success());
    }
    let mut session = open(&world, 120, 40);
    session.say("Ask me.");
    session.wait_for_text("1 question");
    assert!(!heard.exists(), "somebody looks");

    session.send(b"\x1b[O");
    std::fs::write(world.path("gate"), "").unwrap();
    session.wait_for_text("2 questions");
    let told = || std::fs::read_to_string(&heard).unwrap_or_default();
    session.wait_until("the command ran", || told().contains("Second?"));
    session.wait_until("it is quiet", || told().contains("All agents have stopped"));
    session.wait_for_bytes("the terminal was told", |bytes| {
        memchr::memmem::find(bytes, b"\x1b]9;orchestrator: Second?").is_some()
    });

    session.send(b"\x1b[I");
    let ended = session.quit();
    ended.assert_restored(1);
    let told = told();
    assert_eq!((told.matches("First?").count(), told.matches("Second?").count()), (0, 1), "{told}");
    assert_eq!(told.lines().count(), 2, "{told}");
    assert_eq!(ended.traffic.count("\x1b]9;orchestrator"), 1);
}

//! A user reviews what an agent did: reads the diff, comments, sees what changed since, merges, and takes it back.

use serde_json::json;

use crate::support::product::{agent, bash, call, open, project, root};
use crate::support::{Session, World, picture};

/// A project in which a task writes a greeting, and another one when it is told to.
fn greeting() -> World {
    let write = |words: &str| json!({ "path": "greeting.txt", "content": format!("{words}\n") });
    let done = json!({ "status": "passed", "result": "It greets." });
    project(&json!([
        root(&json!([])),
        agent(
            "Add a greeting",
            &json!([
                call("write_file", &write("Ahoy")),
                bash("git add . && git commit -qm 'Add a greeting'"),
                call("done", &done),
                { "when": { "text": "Name the captain" }, "calls": [{ "tool": "write_file", "input": write("Ahoy, captain") }],
                  "otherwise": { "text": "Nobody told me." } },
                bash("git add . && git commit -qm 'Name the captain'"),
                call("done", &done),
            ])
        )
    ]))
}

fn on_main(world: &World) -> Option<String> {
    let shown = world.command("git").args(["show", "main:greeting.txt"]).output().unwrap();
    shown.status.success().then(|| String::from_utf8(shown.stdout).unwrap())
}

/// Makes the task, waits until it is done, and looks at its diff.
fn look_at_the_diff(session: &mut Session) {
    session.focus_tasks();
    session.press("n");
    session.wait_for_text("New task");
    session.send("Add a greeting".as_bytes());
    session.wait_for_text("Add a greeting");
    session.press("enter");
    session.wait_for_text("✓ Add a greeting");
    session.press("d");
    session.wait_for_text("1 + Ahoy");
    session.wait_for_text("c comment");
}

/// Merges what is selected. If the task above it is still at work in the checkout, that happens when it rests.
fn merge(session: &mut Session) {
    session.press("m");
    session.wait_for_text("no conflicts");
    session.press("enter");
    session.wait_for("the dialog to go", |screen| !picture::text(screen).contains("merge Add a greeting"));
}

#[test]
fn a_change_is_commented_on_seen_again_merged_and_taken_back() {
    let world = greeting();
    let mut session = open(&world, 120, 40);
    look_at_the_diff(&mut session);

    session.press("} j c");
    session.send("Name the captain".as_bytes());
    session.wait_for_text("line 1 · writing");
    session.press("enter");
    session.wait_for_text("1 comment to send");
    session.press("ctrl-s");
    let text = session.wait_for("what the agent changed since", |screen| {
        let text = picture::text(screen);
        text.contains("your last review") && text.contains("+ Ahoy, captain") && text.contains("- Ahoy")
    });
    assert!(!text.contains("to send"), "{text}");
    session.wait_for_text("✓ Add a greeting");

    assert_eq!(on_main(&world), None);
    merge(&mut session);
    session.wait_until("the merge", || on_main(&world).as_deref() == Some("Ahoy, captain\n"));
    let file = world.cwd().join("greeting.txt");
    session.wait_until("the file", || std::fs::read_to_string(&file).is_ok_and(|text| text == "Ahoy, captain\n"));

    // The files are there a moment before the session says so.
    session.wait_for_text("undo merge");
    session.press("g u");
    session.wait_for_text("Undo the merge?");
    session.press("y");
    session.wait_until("the undo", || on_main(&world).is_none());
    session.press("q");
    session.wait_for_end().assert_restored(1);
}

#[test]
fn what_was_seen_and_written_is_there_after_a_restart() {
    let world = greeting();
    let mut session = open(&world, 120, 40);
    look_at_the_diff(&mut session);
    session.press("} j c");
    session.send("Still to be said".as_bytes());
    session.wait_for_text("Still to be said");
    session.press("enter s");
    session.wait_for_text("all seen");
    session.press("q");
    session.wait_for_end().assert_restored(1);

    let mut session = open(&world, 120, 40);
    session.focus_tasks();
    session.select("Add a greeting");
    session.press("d");
    session.wait_for_text("all seen");
    let text = session.wait_for_text("1 comment to send");
    assert!(!text.contains("1 + Ahoy"), "what was seen is folded: {text}");
    session.press("q");
    session.wait_for_end().assert_restored(1);
}

//! The README's path for a new user, from a clone to the first merged change. The keys are read from its table of keys: a key
//! that the README stops naming, or that stops working, fails here. The model is scripted.

use serde_json::json;

use crate::support::product::{agent, bash, call, git, mxd, project, root};
use crate::support::{Session, World, picture};

/// Returns the key that the README's table names for an action.
fn key(action: &str) -> String {
    let readme = include_str!("../../README.md");
    let table = readme.split("| key | action |").nth(1).expect("a table of keys");
    let row =
        table.lines().take_while(|line| line.is_empty() || line.starts_with('|')).find(|row| row.contains(action));
    let row = row.unwrap_or_else(|| panic!("the README names no key for {action:?}"));
    row.split('`').nth(1).expect("a key").to_lowercase()
}

fn greeting() -> World {
    let question = json!({ "question": "Which greeting?", "choices": ["Hello", "Ahoy"] });
    let done = json!({ "status": "passed", "result": "It greets." });
    project(&json!([
        root(&json!([call(
            "create_task",
            &json!({ "title": "Add a greeting", "description": "In greeting.txt.", "start": "now" })
        )])),
        agent(
            "Add a greeting",
            &json!([
                call("clarify", &question),
                { "when": { "text": "Ahoy" }, "calls": [{ "tool": "write_file", "input": { "path": "greeting.txt", "content": "Ahoy\n" } }],
                  "otherwise": { "text": "That is not what was chosen." } },
                bash("git add . && git commit -qm 'Add a greeting'"),
                call("done", &done),
            ])
        )
    ]))
}

#[test]
fn the_readme_leads_from_a_clone_to_the_first_merged_change() {
    let world = greeting();
    git(&world, &["clone", "-q", ".", "../clone"]);
    let world = world.within("clone");
    let on_main = || {
        let shown = world.command("git").args(["show", "main:greeting.txt"]).output().unwrap();
        shown.status.success().then(|| String::from_utf8(shown.stdout).unwrap())
    };

    // The first session: `mxd`, the goal, Enter.
    let mut session = Session::start(&world, mxd(), &[], 120, 40);
    session.wait_for_text("message ");
    session.say("Add a greeting to the program.");

    // An agent asks.
    session.wait_for_text("Which greeting?");
    session.press(&key("next open question"));
    session.wait_for_text("2 Ahoy");
    session.press("2");
    session.wait_for_text("✓ Add a greeting");

    // To the tasks, to the one that is finished, its diff, and the merge.
    session.focus("new task");
    session.press(key("next or previous task").as_str());
    session.wait_for("the finished task", |screen| picture::text(screen).matches("Add a greeting").count() > 1);
    session.press(&key("the task's diff"));
    session.wait_for_text("1 + Ahoy");
    assert_eq!(on_main(), None);
    session.press(&key("Preview a merge"));
    session.wait_for_text("no conflicts");
    session.press("enter");
    session.wait_until("the merge", || on_main().as_deref() == Some("Ahoy\n"));

    // What the README says about quitting.
    session.press("ctrl-q");
    session.wait_for_end().assert_restored(1);
}

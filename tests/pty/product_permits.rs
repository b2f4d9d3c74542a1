//! Permission in a terminal: twenty agents that ask at once, and a task that begins with a plan.

use serde_json::{Value, json};

use crate::support::picture::text;
use crate::support::product::{agent, bash, call, mxd, open, project, root, say};
use crate::support::{Session, World};

const AGENTS: usize = 20;

fn title(number: usize) -> String {
    format!("Part {number:02}")
}

fn done(result: &str) -> Value {
    call("done", &json!({ "status": "passed", "result": result }))
}

/// Runs a command of ours beside the screen.
#[track_caller]
fn command(world: &World, arguments: &[&str]) {
    let output = world.command(mxd()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn lines(world: &World) -> usize {
    std::fs::read_to_string(world.path("home/ledger")).map_or(0, |text| text.lines().count())
}

#[test]
fn twenty_agents_ask_at_once_and_one_answer_after_a_kill_runs_each_call_once() {
    let create = |number| {
        let input = json!({ "title": title(number), "description": "Write your line.", "start": "now" });
        json!({ "tool": "create_task", "input": input })
    };
    let calls: Vec<Value> = (0..AGENTS).map(create).collect();
    let mut conversations = vec![root(&json!([{ "calls": calls }, say("All handed out.")]))];
    let turns = json!([bash("echo ran >> ~/ledger"), done("Written.")]);
    conversations.extend((0..AGENTS).map(|number| agent(&title(number), &turns)));
    let world = project(&json!(conversations));
    command(&world, &["init"]);
    command(&world, &["config", "set", "permissions.mode", "ask", "--local"]);
    let mut session = open(&world, 120, 40);
    session.say("Begin.");
    // Nothing else stalls: the root goes on, and more agents get to their call than have a slot.
    session.wait_for_text("All handed out.");
    session.wait_for_text(&format!("({AGENTS} tasks)"));
    assert_eq!(lines(&world), 0);
    session.signal(rustix::process::Signal::KILL);
    session.wait_for_exit();

    // The question is the first thing that the next screen shows.
    let mut session = Session::start(&world, mxd(), &[], 120, 40);
    session.wait_for_text(&format!("({AGENTS} tasks)"));
    session.wait_for_text(&format!("{AGENTS} tasks wait for this."));
    assert_eq!(lines(&world), 0, "a restart runs nothing by itself");
    session.press("1");
    session.press("enter");
    session.wait_until("every call to have run", || lines(&world) >= AGENTS);
    session.wait_for("all tasks to have passed", |screen| {
        let text = text(screen);
        !text.contains("question") && !text.contains("working")
    });
    assert_eq!(lines(&world), AGENTS, "each ran once");
    session.quit().assert_restored(1);
}

#[test]
fn a_saved_rule_answers_the_other_calls_that_wait() {
    let create = |number| json!({ "tool": "create_task", "input": { "title": title(number), "description": "Go." } });
    let calls: Vec<Value> = (0..4).map(create).collect();
    let mut conversations = vec![root(&json!([{ "calls": calls }, say("All handed out.")]))];
    // The calls differ, so they are questions of their own; the folder is outside of the worktrees.
    conversations.extend((0..4).map(|number| {
        agent(&title(number), &json!([bash(&format!("mkdir /tmp/mxd-test-none/{number}")), done("Tried.")]))
    }));
    let world = project(&json!(conversations));
    command(&world, &["init"]);
    command(&world, &["config", "set", "permissions.mode", "edits", "--local"]);
    let mut session = open(&world, 120, 40);
    session.say("Begin.");
    session.wait_for_text("4 questions");
    session.press("ctrl-n");
    session.wait_for_text("Allow in the project: bash(mkdir *)");
    session.press("3");
    session.wait_for_text("3 waiting calls allowed: local allow rule bash(mkdir *)");
    session.wait_for("no question to be left", |screen| !text(screen).contains("question"));
    session.quit().assert_restored(1);
}

/// A task that plans, is approved, works and is done.
fn planner() -> World {
    let plan = json!({
        "plan": "# Add a greeting\n\n1. Write `greeting.txt`.\n2. Commit it.",
        "files": ["greeting.txt"],
        "risks": ["None."],
    });
    let write = json!({ "path": "greeting.txt", "content": "Ahoy\n" });
    let world = project(&json!([
        root(&json!([])),
        agent(
            "Add a greeting",
            &json!([
                call("write_file", &write),
                { "when": { "last": "in mode plan you may only read" },
                  "calls": [{ "tool": "submit_plan", "input": plan }], "otherwise": { "text": "It was not refused." } },
                { "when": { "last": "Your plan is approved by the user" },
                  "calls": [{ "tool": "write_file", "input": write }], "otherwise": { "text": "It was not approved." } },
                bash("git add . && git commit -qm 'Add a greeting'"),
                done("It says Ahoy."),
            ])
        )
    ]));
    command(&world, &["init"]);
    command(&world, &["task", "new", "Add a greeting", "--plan"]);
    world
}

/// Goes to the plan and waits until it can be decided.
fn at_the_plan(world: &World, columns: u16, rows: u16) -> Session {
    let mut session = open(world, columns, rows);
    session.wait_for_text("1 question");
    session.press("ctrl-n");
    session.wait_for_text("1-3 to choose, e to edit the plan");
    session.wait_for_text("greeting.txt");
    session
}

#[test]
fn a_task_plans_is_approved_works_and_is_merged() {
    for (columns, rows) in [(120, 40), (80, 24)] {
        let world = planner();
        let mut session = at_the_plan(&world, columns, rows);
        session.press("1");
        session.wait_for_text("It says Ahoy.");
        command(&world, &["merge", "Add a greeting"]);
        // The merge waits for a pause of the root.
        let file = world.cwd().join("greeting.txt");
        session.wait_until("the merge", || std::fs::read_to_string(&file).is_ok_and(|text| text == "Ahoy\n"));
        session.quit().assert_restored(1);
    }
}

#[test]
#[ignore = "writes the pictures of the documentation"]
fn screens_of_a_plan() {
    for (columns, rows, name) in [(120, 40, "plan"), (80, 24, "plan-small")] {
        let world = planner();
        let session = at_the_plan(&world, columns, rows);
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/screens");
        std::fs::write(folder.join(format!("{name}.svg")), crate::support::svg::picture(&session.screen())).unwrap();
        session.quit().assert_restored(1);
    }
}

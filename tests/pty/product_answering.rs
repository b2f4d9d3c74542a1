//! Questions are answered where the user is, with choices that remove their cause; nothing that was read or written is
//! lost; and nothing that costs money or work happens by a single key.

use serde_json::{Value, json};

use crate::support::picture::text;
use crate::support::product::{agent, bash, call, open, project, root, say};
use crate::support::{Session, World};

const PLACEHOLDER: &str = "1-2 to choose, or type your answer";

/// A task that asks for a decision and writes down what was decided.
fn deciding() -> World {
    let question = json!({ "question": "Which port?", "detail": "Both are **free**.", "choices": ["7878", "8080"] });
    let heard = json!({ "when": { "text": "8080" }, "text": "Eighty-eighty it is.", "otherwise": { "text": "Another one it is." } });
    project(&json!([root(&json!([])), agent("Open a port", &json!([call("clarify", &question), heard]))]))
}

/// Makes a task in the tree, and waits until it asks.
fn make_asking(session: &mut Session, title: &str) {
    session.focus_tasks();
    session.press("n");
    session.wait_for_text("New task");
    session.send(title.as_bytes());
    session.wait_for_text(title);
    session.press("enter");
    session.wait_for_text("1 question");
}

/// Adds fields to the settings of the user.
fn with_settings(world: World, fields: &Value) -> World {
    let file = world.path("data/config.json");
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    for (name, value) in fields.as_object().unwrap() {
        config[name] = value.clone();
    }
    std::fs::write(file, config.to_string()).unwrap();
    world
}

/// A root whose first request fails in this way, and whose next one is answered.
fn failing(class: &str) -> World {
    let turn = json!({ "text": "Now it works.", "errors": [{ "class": class }] });
    project(&json!([root(&json!([turn]))]))
}

fn gone(session: &Session, words: &str) {
    session.wait_for(&format!("{words:?} to go"), |screen| !text(screen).contains(words));
}

#[test]
fn a_question_is_answered_from_the_tree_where_its_numbers_are_seen() {
    let world = deciding();
    let mut session = open(&world, 120, 40);
    make_asking(&mut session, "Open a port");
    session.focus_tasks();
    session.select("Open a port");
    // In the tree a digit could also be meant for a tab: it goes into the field, with what it stands for.
    session.wait_for_text("i to answer");
    session.press("2");
    let screen = session.wait_for_text("→ 8080");
    assert!(screen.contains("Esc later"), "the keys of the answer are named: {screen}");
    session.press("enter");
    session.wait_for_text("Eighty-eighty it is.");
    session.quit().assert_restored(1);
}

#[test]
fn enter_on_a_task_that_asks_goes_to_the_answer_field() {
    let world = deciding();
    let mut session = open(&world, 80, 24);
    make_asking(&mut session, "Open a port");
    session.focus_tasks();
    session.press("G");
    session.wait_for_text("i to answer");
    session.press("enter");
    session.wait_for_text(PLACEHOLDER);
    // The letters of the answer are text, and the first one would quit.
    session.send(b"quiet 8080");
    session.wait_for_text("quiet 8080");
    session.press("enter");
    // Back where the user was: in the tree, which has the whole width here.
    gone(&session, "1 question");
    session.press("enter");
    session.wait_for_text("Eighty-eighty it is.");
    session.quit().assert_restored(1);
}

#[test]
fn the_next_question_opens_above_a_dialog_and_what_was_written_is_kept() {
    let world = deciding();
    let mut session = open(&world, 120, 40);
    make_asking(&mut session, "Open a port");
    session.focus_tasks();
    session.select("orchestrator");
    session.press("i");
    session.wait_for_text("Enter send");
    session.send(b"half a message");
    session.wait_for_text("half a message");
    session.press("f1");
    session.wait_for_text("type to find a key or action");
    session.press("ctrl-n");
    let screen = session.wait_for_text(PLACEHOLDER);
    assert!(screen.contains("Both are free."), "the question is Markdown: {screen}");
    assert!(!screen.contains("type to find a key"), "the question is above the help: {screen}");
    session.press("2");
    session.wait_for_text("type to find a key or action");
    session.press("esc");
    gone(&session, "type to find a key or action");
    session.wait_for_text("half a message");
    session.quit().assert_restored(1);
}

#[test]
fn a_message_to_a_task_with_a_failure_question_asks_what_is_meant() {
    let world = failing("refused");
    let mut session = open(&world, 120, 40);
    session.say("Begin.");
    session.wait_for_text("1 question");
    session.wait_for_text("to choose, or type your answer");
    session.press("esc");
    session.wait_for_text("Ctrl-N opens it again");
    session.send(b"and hurry");
    session.wait_for_text("and hurry");
    session.press("enter");
    let screen = session.wait_for_text("answer or message?");
    assert!(screen.contains("1 question"), "nothing is dropped before that: {screen}");
    assert!(screen.contains("drops the question"), "{screen}");
    session.press("esc");
    gone(&session, "answer or message?");
    session.wait_for_text("and hurry");
    session.quit().assert_restored(1);
}

#[test]
fn a_spent_budget_is_raised_by_an_amount_of_the_list() {
    // The first response costs more than that.
    let world = project(&json!([root(&json!([bash("true"), say("Now it works.")]))]));
    let world = with_settings(world, &json!({ "budgetUsd": 0.02 }));
    let mut session = open(&world, 120, 40);
    session.say("Begin.");
    session.wait_for_text("1 question");
    let screen = session.wait_for_text("to choose, or type your answer");
    assert!(screen.contains("1 Allow $0.01 more") && screen.contains("3 Allow $0.10 more"), "{screen}");
    session.send(b"3\r");
    session.wait_for_text("Now it works.");
    session.quit().assert_restored(1);
}

#[test]
fn commands_have_the_names_that_people_type() {
    let world = project(&json!([root(&json!([]))]));
    let mut session = open(&world, 120, 40);
    session.focus_tasks();
    for (name, shown) in [
        ("/theme", "harbour"),
        ("/settings", "notif"),
        ("/help", "type to find a key or action"),
        ("/search", "search"),
    ] {
        session.press("i");
        session.wait_for_text("message orchestrator");
        session.send(name.as_bytes());
        session.wait_for_text(name);
        session.press("enter");
        session.wait_for(&format!("what {name} opens"), |screen| {
            let text = text(screen).to_lowercase();
            text.contains(shown) && !text.contains(name)
        });
        session.press("esc");
        session.wait_for_text("Enter send");
        session.press("esc");
        session.wait_for_text("n new task");
    }
    session.press("i");
    session.wait_for_text("message orchestrator");
    session.send(b"/exit\r");
    session.wait_for_end().assert_restored(1);
}

#[test]
fn a_dialog_marks_its_default_and_what_spends_money_asks_first() {
    let done = json!({ "status": "passed", "result": "It is painted." });
    let world = project(&json!([root(&json!([])), agent("Paint it", &json!([call("done", &done)]))]));
    let mut session = open(&world, 120, 40);
    session.focus_tasks();
    session.press("n");
    session.wait_for_text("New task");
    session.send(b"Paint it\r");
    session.wait_for_text("✓ Paint it");
    session.select("Paint it");
    session.focus_tasks();
    // A message to the agent starts a turn.
    session.press("u");
    session.wait_for_text("Update from the parent branch?");
    session.press("n");
    gone(&session, "Update from the parent branch?");
    // What cannot be undone by a key has "no" as its default, and Enter takes it.
    session.press("D");
    session.wait_for_text("no ⏎");
    session.press("enter");
    gone(&session, "no ⏎");
    session.wait_for_text("✓ Paint it");
    session.press("C");
    session.wait_for_text("yes ⏎");
    session.press("enter");
    session.wait_for_text("· Paint it");
    session.quit().assert_restored(1);
}

#[test]
fn work_that_an_agent_merged_says_so_and_the_root_shows_what_came_of_it() {
    let write = json!({ "path": "port.txt", "content": "7878\n" });
    let done = json!({ "status": "passed", "result": "The port is written down." });
    let create = json!({ "title": "Write it down", "description": "Goal: a file." });
    let merge = "git merge -q --no-edit $(git branch --list '*write-it-down' --format='%(refname:short)')";
    let world = project(&json!([
        root(&json!([call("create_task", &create), call("yield", &json!({})), bash(merge), say("It is merged.")])),
        agent(
            "Write it down",
            &json!([
                call("write_file", &write),
                bash("git add . && git commit -qm 'Write it down'"),
                call("done", &done)
            ])
        ),
    ]));
    let mut session = open(&world, 120, 40);
    session.say("Write the port down.");
    session.wait_for_text("It is merged.");
    session.wait_for("the mark of a merged task", |screen| {
        text(screen).lines().any(|line| line.contains("✓ Write it down") && line.contains("merged +1 -0"))
    });
    session.focus_tasks();
    // Nothing is uncommitted, so the diff of the root is what its tree has done.
    session.press("d");
    session.wait_for_text("1 + 7878");
    session.press("esc");
    session.wait_for_text("n new task");
    // The root has nothing to merge: the key means the branches below it.
    session.press("m");
    session.wait_for_text("merge Write it down");
    session.quit().assert_restored(1);
}

#[test]
fn a_notice_has_its_own_line_goes_by_esc_and_stays_in_the_list() {
    for (columns, rows) in [(120, 40), (80, 24)] {
        let world = project(&json!([root(&json!([]))]));
        let mut session = open(&world, columns, rows);
        session.focus_tasks();
        session.press("g x");
        let screen = session.wait_for_text("No branches conflict");
        let lines: Vec<&str> = screen.lines().collect();
        let last = lines.iter().rposition(|line| line.contains("No branches conflict")).unwrap();
        assert_eq!(last, lines.len() - 2, "it is above the keys: {screen}");
        assert!(screen.contains("message orchestrator"), "it covers nothing: {screen}");
        session.press("esc");
        gone(&session, "No branches conflict");
        session.press("g n");
        session.wait_for_text("No branches conflict");
        session.quit().assert_restored(1);
    }
}

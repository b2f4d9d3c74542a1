//! A user at work: says something, makes a task, answers, steers, interrupts, looks at the diff, comes back tomorrow.

use serde_json::json;

use crate::support::picture::text;
use crate::support::product::{agent, bash, call, mxd, open, project, root, say};
use crate::support::{Session, World};

/// Waits until a file is there.
fn gate(name: &str) -> String {
    format!("echo {name} is shut; until [ -e ../{name} ]; do sleep 0.02; done; echo {name} is open")
}

fn open_gate(world: &World, name: &str) {
    std::fs::write(world.path(name), "").unwrap();
}

/// A project in which a task asks, writes a file and is done.
fn greeting() -> World {
    let question = json!({ "question": "Which greeting?", "choices": ["Good morning", "Ahoy"], "block": true });
    let write = json!({ "path": "greeting.txt", "content": "Ahoy\n" });
    let done = json!({ "status": "passed", "result": "It says Ahoy." });
    project(&json!([
        root(&json!([])),
        agent(
            "Add a greeting",
            &json!([
                call("clarify", &question),
                call("yield", &json!({})),
                { "when": { "text": "Ahoy" }, "calls": [{ "tool": "write_file", "input": write }] },
                bash("git add . && git commit -qm 'Add a greeting'"),
                call("done", &done),
            ])
        )
    ]))
}

fn make_the_greeting(session: &mut Session) {
    session.focus_tasks();
    session.press("n");
    session.wait_for_text("New task");
    session.send("Add a greeting".as_bytes());
    session.wait_for_text("Add a greeting");
    session.press("enter");
    session.wait_for_text("1 question");
}

#[test]
fn a_message_is_answered_word_by_word() {
    // Signs of one character cannot be torn by a frame.
    let answer = format!("① {} ⑨", "Numbers are added and taken away. ".repeat(24));
    let slowly = json!({ "first_token_ms": 0, "chars_per_second": 400 });
    let world = project(&json!([root(&json!([{ "text": answer, "pacing": slowly }]))]));
    let mut session = open(&world, 120, 40);
    session.wait_for_text("Describe a goal below");
    session.say("What does it do?");
    session.wait_for_text("⑨");
    let bytes = session.traffic().0;
    let first = memchr::memmem::find(&bytes, "①".as_bytes()).unwrap();
    let last = memchr::memmem::find(&bytes, "⑨".as_bytes()).unwrap();
    let frames = memchr::memmem::find_iter(&bytes[first..last], b"\x1b[?2026h").count();
    assert!(frames >= 3, "{frames} frames from the first word to the last");
    session.wait_for_text("idle");
    // The first notification lies over it for a while.
    let text = session.wait_for_text("What does it do?");
    assert!(text.contains("You "), "{text}");
    let ended = session.quit();
    ended.assert_restored(1);
    assert_eq!(ended.code, 0);
}

#[test]
fn a_task_is_made_asks_is_answered_by_a_digit_and_shows_what_it_changed() {
    let world = greeting();
    let mut session = open(&world, 120, 40);
    make_the_greeting(&mut session);
    session.wait_for_text("for a message");
    session.press("a");
    session.wait_for_text("to choose, or type your answer");
    session.press("2");
    session.wait_for_text("It says Ahoy.");
    let text = session.wait_for("the end of the task", |screen| {
        let text = crate::support::picture::text(screen);
        text.contains("✓ Add a greeting") && text.contains("+1 -0") && !text.contains(" question")
    });
    assert!(text.contains("you: Ahoy"), "{text}");
    for unclear in ["unfinished", "question dropped"] {
        assert!(!text.contains(unclear), "{text}");
    }
    session.press("d");
    session.wait_for_text("1 + Ahoy");
    session.press("q");
    session.wait_for_end().assert_restored(1);
}

#[test]
fn the_diff_of_the_root_is_what_is_not_committed_in_the_checkout() {
    let world = greeting();
    std::fs::write(world.cwd().join("README.md"), "# calculator\n").unwrap();
    let mut session = open(&world, 120, 40);
    session.focus_tasks();
    session.press("d");
    session.wait_for_text("1 + # calculator");
    session.press("q");
    session.wait_for_end().assert_restored(1);
}

#[test]
fn a_message_steers_an_agent_at_work_and_an_interrupt_keeps_it() {
    let world = project(&json!([root(&json!([
        bash(&gate("gate")),
        { "when": { "text": "cheese" }, "text": "Cheese it is.",
          "calls": [{ "tool": "bash", "input": { "command": "echo $$ > ../pid; exec sleep 300" } }],
          "otherwise": { "text": "Nobody told me." } },
        { "when": { "text": "wine" }, "text": "Wine, then." },
    ]))]));
    let mut session = open(&world, 120, 40);
    session.say("Wait for the gate.");
    session.wait_for_text("gate is shut");
    session.wait_for_text("1 working");
    session.wait_for_text("steer ⏎");
    session.say("Add cheese.");
    session.wait_for_text("queued");
    open_gate(&world, "gate");
    session.wait_for_text("Cheese it is.");
    session.wait_until("the next command", || world.path("pid").exists());
    session.wait_for_text("sleep 300");
    session.press("ctrl-x");
    session.wait_for("the agent to stand by", |screen| {
        let text = crate::support::picture::text(screen);
        text.contains("idle") && !text.contains("working")
    });
    session.say("No, wine.");
    let text = session.wait_for_text("Wine, then.");
    assert!(!text.contains("Nobody told me"), "{text}");
    session.quit().assert_restored(1);
}

#[test]
fn what_is_queued_waits_for_the_turn_and_can_be_taken_back() {
    let world = project(&json!([root(&json!([
        bash(&gate("gate")),
        { "when": { "text": { "regex": "cheese", "not": true } }, "text": "Nothing was added." },
    ]))]));
    let mut session = open(&world, 120, 40);
    session.say("Wait for the gate.");
    session.wait_for_text("gate is shut");
    session.press("ctrl-t");
    session.wait_for_text("next ⏎");
    session.say("Add cheese.");
    session.wait_for_text("queued");
    session.press("ctrl-r");
    session.wait_for("the message to come back", |screen| {
        let text = crate::support::picture::text(screen);
        !text.contains("queued") && text.contains("› Add cheese.")
    });
    session.press("ctrl-u");
    session.wait_for("an empty composer", |screen| !crate::support::picture::text(screen).contains("› Add cheese."));
    open_gate(&world, "gate");
    session.wait_for_text("Nothing was added.");
    session.quit().assert_restored(1);
}

#[test]
fn after_a_restart_everything_is_there() {
    let world = greeting();
    let mut session = open(&world, 120, 40);
    make_the_greeting(&mut session);
    session.press("i");
    session.send(b"half a thou");
    session.wait_for_text("half a thou");
    let ended = session.quit();
    ended.assert_restored(1);
    assert_eq!(ended.code, 0);

    let mut session = open_again(&world);
    session.wait_for_text("Which greeting?");
    session.select("Add a greeting");
    session.wait_for_text("half a thou");
    session.press("ctrl-n");
    session.press("ctrl-u");
    session.wait_for("an empty answer", |screen| !crate::support::picture::text(screen).contains("half a thou"));
    session.press("2");
    session.wait_for_text("It says Ahoy.");
    session.wait_for_text("✓ Add a greeting");
    session.quit().assert_restored(1);
}

#[test]
fn after_a_kill_the_question_and_the_unsent_answer_are_there() {
    let world = greeting();
    let mut session = open(&world, 120, 40);
    make_the_greeting(&mut session);
    session.press("i");
    session.send(b"half an answer");
    session.wait_for_text("half an answer");
    session.wait_until("the answer on disk", || {
        let projects = std::fs::read_dir(world.path("data/projects")).unwrap();
        let mut drafts = projects.map(|project| project.unwrap().path().join("drafts.json"));
        drafts.any(|file| std::fs::read_to_string(file).is_ok_and(|text| text.contains("half an answer")))
    });
    session.signal(rustix::process::Signal::KILL);
    session.wait_for_exit();

    let mut session = open_again(&world);
    session.wait_for_text("1 question");
    session.press("ctrl-n");
    session.wait_for_text("half an answer");
    session.press("ctrl-u");
    session.wait_for_text("to choose, or type your answer");
    session.press("2");
    session.wait_for_text("✓ Add a greeting");
    session.quit().assert_restored(1);
}

/// The cursor may be in a text of before: only the header says that the screen is there.
fn open_again(world: &World) -> Session {
    let session = Session::start(world, crate::support::product::mxd(), &[], 120, 40);
    session.wait_for_text("calc  main");
    session.wait_for_text("Add a greeting");
    session
}

#[test]
fn quitting_while_an_agent_works_asks_first() {
    let world = project(&json!([root(&json!([bash(&gate("gate")), say("The gate was open.")]))]));
    let mut session = open(&world, 120, 40);
    session.say("Wait for the gate.");
    session.wait_for_text("gate is shut");
    session.press("ctrl-q");
    session.wait_for_text("1 agent running");
    session.press("n");
    session.wait_for("the question to go", |screen| !screen.contents().contains("1 agent running"));
    session.press("ctrl-q");
    session.wait_for_text("1 agent running");
    session.press("s");
    session.wait_for_end().assert_restored(1);
}

#[test]
fn a_second_screen_and_a_command_work_with_the_same_engine() {
    let world = greeting();
    let mut first = open(&world, 120, 40);
    first.wait_for_text("Describe a goal below");
    let mut second = open(&world, 120, 40);
    make_the_greeting(&mut first);
    second.wait_for_text("Add a greeting");
    second.wait_for_text("1 question");
    // The question is answered on the second screen, and gone on the first.
    second.press("ctrl-n");
    second.wait_for_text("to choose, or type your answer");
    second.press("2");
    for session in [&mut first, &mut second] {
        session.wait_for("the end of the task", |screen| {
            let text = text(screen);
            text.contains("✓ Add a greeting") && !text.contains(" question")
        });
    }
    // Whoever joined leaves; the engine and its screen stay.
    assert_eq!(second.leave().code, 0);
    let third = open(&world, 120, 40);
    third.wait_for_text("Add a greeting");
    first.focus_tasks();
    first.press("n");
    first.wait_for_text("New task");
    first.send(b"Write the docs");
    first.wait_for_text("Write the docs");
    first.press("ctrl-s");
    third.wait_for_text("Write the docs");
    // The engine goes on for the other screen when the one that opened it leaves.
    first.leave().assert_restored(1);
    third.wait_for("one client to be left", |screen| !text(screen).contains("⧉"));
    assert!(world.command(mxd()).args(["serve", "stop"]).status().unwrap().success());
    third.wait_for_end().assert_restored(1);
}

#[test]
fn a_question_is_read_as_lines_with_who_asks_it_and_what_was_found() {
    let question =
        json!({ "question": "Which greeting?", "detail": "Both are used elsewhere.", "choices": ["Hello", "Hi"] });
    let world = project(&json!([root(&json!([call("clarify", &question)]))]));
    let mut session = Session::start(&world, mxd(), &["--plain"], 120, 40);
    session.wait_for_text("Matrix on calc");
    session.send(b"Greet.\r");
    session.wait_for_text("? orchestrator: Which greeting?");
    session.wait_for_text("    Both are used elsewhere.");
    session.wait_for_text("  2. Hi");
    session.send(b"2\r");
    session.wait_for("the answer to be read", |screen| text(screen).matches("I have read it.").count() > 1);
    session.send(b"/quit\r");
    assert_eq!(session.wait_for_end().code, 0);
}

/// Returns true if these words are in a session.
fn is_in_a_session(world: &World, words: &str) -> bool {
    let projects = std::fs::read_dir(world.path("data/projects")).unwrap();
    let sessions = projects.flat_map(|project| std::fs::read_dir(project.unwrap().path().join("sessions")).unwrap());
    sessions.flat_map(|session| std::fs::read_to_string(session.unwrap().path())).any(|log| log.contains(words))
}

#[test]
fn letters_of_an_answer_are_never_commands() {
    for (columns, rows) in [(120, 40), (80, 24)] {
        let world = greeting();
        let mut session = open(&world, columns, rows);
        make_the_greeting(&mut session);
        // Each letter of it is a command elsewhere, and the first one quits.
        session.press("ctrl-n");
        session.wait_for_text("1-2 to choose, or type your answer");
        session.send(b"quick");
        session.wait_for_text("\u{203a} quick");
        session.press("enter");
        session.wait_until("the answer", || is_in_a_session(&world, "quick"));
        assert!(!session.has_exited());
        session.quit().assert_restored(1);
    }
}

#[test]
fn a_question_is_put_off_and_comes_back_with_its_draft() {
    let world = greeting();
    let mut session = open(&world, 80, 24);
    make_the_greeting(&mut session);
    session.press("i");
    session.wait_for_text("1-2 to choose, or type your answer");
    session.send(b"half an answer");
    session.wait_for_text("half an answer");
    session.press("esc");
    session.wait_for_text("it stays in the list of questions. Ctrl-N opens it again");
    // What is typed now is a message, unless the user says that it is the answer.
    session.send(b"2\r");
    session.wait_for_text("answer or message?");
    session.press("esc");
    session.wait_for("the list to close", |screen| !text(screen).contains("answer or message?"));
    session.press("ctrl-n");
    session.wait_for_text("half an answer");
    session.press("ctrl-u");
    session.wait_for_text("1-2 to choose, or type your answer");
    session.press("2");
    session.wait_until("the answer", || is_in_a_session(&world, "Ahoy\"") && is_in_a_session(&world, "ask_answered"));
    session.quit().assert_restored(1);
}

#[test]
fn a_brief_of_several_lines_is_kept_by_esc_and_started_by_enter() {
    for (columns, rows) in [(120, 40), (80, 24)] {
        let world = greeting();
        let mut session = open(&world, columns, rows);
        session.focus_tasks();
        session.press("n");
        session.wait_for_text("engineer (default)");
        session.send(b"Add a greeting");
        session.press("alt-enter");
        session.send(b"quick and quiet");
        session.wait_for_text("quick and quiet");
        session.press("esc");
        session.wait_for("the brief to close", |screen| !text(screen).contains("quick and quiet"));
        session.press("n");
        session.wait_for_text("quick and quiet");
        session.press("enter");
        session.wait_for_text("1 question");
        assert!(is_in_a_session(&world, "quick and quiet"), "the description reached the agent");
        session.quit().assert_restored(1);
    }
}

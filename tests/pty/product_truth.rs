//! What the screen shows is what happened: streamed text from its first character, entries in their order, words that
//! mean the same everywhere, and the place where the user was.

use serde_json::{Value, json};

use crate::support::picture::text;
use crate::support::product::{agent, bash, call, mxd, open, project, root, say};
use crate::support::{Session, World};

/// Returns an answer that takes some seconds, between two signs that no frame can tear.
fn slow_answer(characters: usize) -> Value {
    let words = "word ".repeat(characters / 5);
    json!({ "text": format!("① {words}⑨"), "pacing": { "first_token_ms": 0, "chars_per_second": 150 } })
}

fn new_task(session: &mut Session, title: &str) {
    session.focus_tasks();
    session.press("n");
    session.wait_for_text("New task");
    session.send(title.as_bytes());
    session.wait_for_text(title);
    session.press("enter");
}

/// Returns the row of a task in the tree.
fn row(screen: &str, title: &str) -> Option<String> {
    let left = screen.lines().map(|line| line.split('│').next().unwrap_or_default());
    // A task above may say in its second line that it waits for this one.
    left.into_iter().filter(|line| line.contains(title)).find(|line| !line.contains("waits for")).map(str::to_owned)
}

/// Waits until the row of a task has a word.
fn wait_for_row(session: &Session, title: &str, word: &str) -> String {
    session
        .wait_for(&format!("{title} {word}"), |screen| row(&text(screen), title).is_some_and(|row| row.contains(word)))
}

fn open_again(world: &World) -> Session {
    let session = Session::start(world, mxd(), &[], 120, 40);
    session.wait_for_text("calc  main");
    session
}

/// Returns the place of each text in the transcript. They must all be there.
fn places<const N: usize>(screen: &str, texts: [&str; N]) -> [usize; N] {
    let right = screen.lines().map(|line| line.split_once('│').map_or(line, |(_, right)| right));
    let screen = &right.collect::<Vec<_>>().join("\n");
    texts.map(|text| screen.find(text).unwrap_or_else(|| panic!("{text} is not on the screen:\n{screen}")))
}

#[test]
fn a_task_opened_while_it_streams_shows_the_turn_from_its_first_character() {
    let world = project(&json!([root(&json!([])), agent("Speak slowly", &json!([slow_answer(3_000)]))]));
    let mut session = open(&world, 120, 40);
    new_task(&mut session, "Speak slowly");
    session.wait_for_text("1 working");
    session.select("orchestrator");
    // Nobody looks at it, and it writes: its row says so.
    wait_for_row(&session, "word word", "word");
    session.select("Speak slowly");
    let screen = session.wait_for_text("① word");
    assert!(!screen.contains('⑨'), "it still streams: {screen}");
    session.press("ctrl-q");
    session.wait_for_text("1 agent running");
    session.press("y");
    session.wait_for_end().assert_restored(1);
}

#[test]
fn a_message_sent_during_a_turn_stays_below_the_text_that_was_streaming() {
    let world = project(&json!([root(&json!([slow_answer(450), say("Understood.")]))]));
    let mut session = open(&world, 120, 40);
    session.wait_for_text("Describe a goal below");
    session.say("Speak slowly.");
    session.wait_for_text("① word");
    session.say("And be brief.");
    let order = |screen: &str| places(screen, ["Speak slowly.", "① word", "And be brief."]).is_sorted();
    let screen = session.wait_for_text("queued");
    assert!(order(&screen), "while it streams: {screen}");
    let screen = session.wait_for_text("Understood.");
    let all = places(&screen, ["Speak slowly.", "① word", "⑨", "And be brief.", "Understood."]);
    assert!(all.is_sorted(), "when it is saved: {screen}");
    session.quit().assert_restored(1);
    let screen = open_again(&world).wait_for_text("Understood.");
    let all = places(&screen, ["Speak slowly.", "① word", "⑨", "And be brief.", "Understood."]);
    assert!(all.is_sorted(), "after a restart: {screen}");
}

#[test]
fn a_finished_task_that_answers_a_question_stays_finished() {
    let done = json!({ "status": "passed", "result": "It is painted." });
    let world = project(&json!([
        root(&json!([])),
        agent("Paint it", &json!([call("done", &done), say("Because blue is calm.")])),
    ]));
    let mut session = open(&world, 120, 40);
    new_task(&mut session, "Paint it");
    session.wait_for_text("✓ Paint it");
    session.select("Paint it");
    session.press("i");
    session.say("Why blue?");
    session.wait_for_text("Because blue is calm.");
    let screen = session.wait_for("the task to be finished again", |screen| {
        let screen = text(screen);
        screen.contains("✓ Paint it") && !screen.contains("working")
    });
    assert!(!screen.contains("stuck"), "{screen}");
    assert!(!screen.contains("without calling done"), "nobody was told of it: {screen}");
    session.quit().assert_restored(1);
}

#[test]
fn what_is_stuck_is_counted_named_alike_in_the_shell_and_can_be_closed() {
    let world = project(&json!([root(&json!([])), agent("Paint it", &json!([say("I rest.")]))]));
    let mut session = open(&world, 120, 40);
    new_task(&mut session, "Paint it");
    session.select("Paint it");
    session.wait_for_text("I rest.");
    session.wait_for_text("1 stuck");
    let screen = wait_for_row(&session, "Paint it", "stuck");
    assert!(row(&screen, "orchestrator").unwrap().contains("waiting"), "said once, where it helps: {screen}");
    session.wait_for_text("waits for it. Send a");
    let tree = world.command(mxd()).arg("tree").output().unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    let line = |title: &str| tree.lines().find(|line| line.contains(title)).unwrap_or_else(|| panic!("{tree}"));
    assert!(line("Paint it").contains("stuck") && line("orchestrator").contains("waiting"), "{tree}");
    session.focus_tasks();
    session.press("C");
    session.wait_for_text("\"Paint it\"");
    session.press("y");
    session.wait_for("nothing to be stuck", |screen| {
        let screen = text(screen);
        !screen.contains("1 stuck") && row(&screen, "Paint it").is_some_and(|row| row.contains('·'))
    });
    session.quit().assert_restored(1);
}

#[test]
fn a_successful_call_shows_a_mark_its_result_and_its_time() {
    let tests = "sleep 0.02; echo 'test result: ok. 14 passed; 0 failed; 0 ignored'";
    let world = project(&json!([root(&json!([bash(tests), bash("exit 3"), say("All is well.")]))]));
    let mut session = open(&world, 120, 40);
    session.say("Test it.");
    let screen = session.wait_for_text("All is well.");
    let line = |words: &str| screen.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{screen}"));
    let passed = line("14 passed");
    assert!(passed.contains("✓ bash") && passed.contains(" ms") || passed.contains(" s"), "{passed}");
    let failed = line("exit 3");
    assert!(screen.contains("✗ bash"), "{failed}");
    session.quit().assert_restored(1);
}

#[test]
fn selection_and_scroll_are_the_same_after_a_restart() {
    let lines: String = (1..=120).map(|number| format!("- item {number} of many")).collect::<Vec<_>>().join("\n");
    let world = project(&json!([root(&json!([])), agent("Write a list", &json!([say(&lines)]))]));
    let mut session = open(&world, 120, 40);
    new_task(&mut session, "Write a list");
    session.select("Write a list");
    session.wait_for_text("item 120 of many");
    session.press("i");
    session.press("pageup");
    session.press("pageup");
    let first_item = |screen: &str| screen.split("item ").nth(1).map(|rest| rest.split(' ').next().unwrap().to_owned());
    let screen = session.wait_for("a place further up", |screen| !text(screen).contains("item 120 of many"));
    let before = first_item(&screen);
    session.quit().assert_restored(1);
    let session = open_again(&world);
    let after = session.wait_for("the same place", |screen| first_item(&text(screen)).is_some());
    assert_eq!(first_item(&after), before, "{after}");
    session.quit().assert_restored(1);
}

//! The pictures in the documentation, made from the real program: `cargo test --test pty -- --ignored screens`.

use std::path::Path;

use serde_json::json;

use crate::support::picture::text;
use crate::support::product::{git, mxd, open, project, root};
use crate::support::{Session, World, svg};

/// The sizes of the pictures, and what their names end in.
const SIZES: [(u16, u16, &str); 3] = [(120, 40, ""), (80, 24, "-small"), (200, 60, "-large")];

/// Keeps a picture of what is shown now.
fn keep(session: &Session, name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/screens");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{name}.svg")), svg::picture(&session.screen())).unwrap();
}

/// Returns true if the header counts no agent at work.
fn is_quiet(text: &str) -> bool {
    text.lines().next().is_some_and(|header| !header.contains("working"))
}

fn gone(session: &Session, words: &str) {
    session.wait_for(&format!("{words:?} to go"), |screen| !text(screen).contains(words));
}

/// Starts the demo and waits until its welcome has been read.
fn demo(world: &World, arguments: &[&str], (columns, rows): (u16, u16)) -> Session {
    let arguments: Vec<_> = ["demo"].iter().chain(arguments).copied().collect();
    Session::start(world, mxd(), &arguments, columns, rows)
}

/// The demo at its question, with two subtasks done and merged.
fn at_the_question(world: &World, size: (u16, u16)) -> Session {
    let mut session = demo(world, &["--fast"], size);
    session.wait_for("the question", |screen| {
        let text = text(screen);
        text.contains("1 question") && is_quiet(&text) && text.contains("for a message")
    });
    session.focus_tasks();
    session.press("esc");
    gone(&session, "This is a demo");
    session
}

#[test]
#[ignore = "writes the pictures of the documentation"]
fn screens() {
    for (columns, rows, suffix) in SIZES {
        let size = (columns, rows);
        let keep = |session: &Session, name: &str| keep(session, &format!("{name}{suffix}"));
        first_pages(size, &keep);
        at_work(size, &keep);
        to_the_end(size, &keep);
    }
    let world = World::new().with("COLORFGBG", "0;15");
    let session = at_the_question(&world, (120, 40));
    keep(&session, "light");
    session.quit().assert_restored(1);
}

/// The set-up, and the screen before the first goal.
fn first_pages((columns, rows): (u16, u16), keep: &dyn Fn(&Session, &str)) {
    let world = World::new().within("calc");
    git(&world, &["init", "-q", "-b", "main"]);
    git(&world, &["commit", "-q", "--allow-empty", "-m", "start"]);
    let world = world.with("OLLAMA_HOST", "127.0.0.1:9").with("MXD_LOCAL_SERVERS", "ollama");
    let mut session = Session::start(&world, mxd(), &[], columns, rows);
    session.wait_for_text("Which provider do you want to use?");
    keep(&session, "setup");
    session.press("ctrl-c");
    session.wait_for_end();

    let world = project(&json!([root(&json!([]))]));
    let mut session = open(&world, columns, rows);
    session.wait_for_text("Describe a goal below");
    session.wait_for_text("Using auth group");
    session.press("esc");
    gone(&session, "Using auth group");
    session.wait_for_text("n new task");
    session.press("i");
    session.wait_for_text("Enter send");
    keep(&session, "empty");
    session.quit().assert_restored(1);
}

/// Agents at work at the pace of a model, while one of them asks.
fn at_work(size: (u16, u16), keep: &dyn Fn(&Session, &str)) {
    let world = World::new();
    let session = demo(&world, &[], size);
    session.wait_for("agents at work, and a question", |screen| {
        let text = text(screen);
        text.contains("1 question") && text.contains("2 working")
    });
    keep(&session, "main");
    session.quit().assert_restored(1);
}

/// From the question to the end of the demo.
fn to_the_end(size: (u16, u16), keep: &dyn Fn(&Session, &str)) {
    let world = World::new();
    let mut session = at_the_question(&world, size);
    session.press("ctrl-n");
    session.wait_for_text("to choose, or type your answer");
    keep(&session, "ask");
    session.press("2");
    session.wait_for_text("is ready for review");
    session.wait_for("the agents to rest", |screen| is_quiet(&text(screen)));
    session.focus_tasks();
    session.press("g a");
    session.wait_for_text("Needs you 1");
    keep(&session, "board");
    session.press("esc");
    gone(&session, "Needs you 1");
    session.wait_for_text("n new task");
    session.press("g g j d");
    session.wait_for_text("total=0");
    keep(&session, "diff");
    session.press("?");
    session.wait_for_text("type to find a key or action");
    keep(&session, "help");
    session.press("esc");
    gone(&session, "type to find a key or action");
    session.press("ctrl-n");
    session.wait_for_text("to choose, or type your answer");
    session.press("2");
    session.wait_for_text("no conflicts");
    keep(&session, "merge");
    session.press("enter");
    session.wait_for("the end", |screen| {
        let text = text(screen);
        !text.contains("1 question") && is_quiet(&text) && !text.contains("no conflicts")
    });
    session.focus_tasks();
    session.press("g g g t");
    session.wait_for_text("All 3 tasks are done");
    session.press("g r");
    session.wait_for_text("Rewind to");
    keep(&session, "rewind");
    session.press("esc");
    gone(&session, "Rewind to");
    // The branches are measured a moment after the merge, and its notice goes.
    session.wait_for("the marks of merges", |screen| text(screen).matches("merged").count() >= 3);
    gone(&session, "merged into main");
    keep(&session, "done");
    session.quit().assert_restored(1);
}

/// Takes a picture of any program at 120x40, for comparisons. `MXD_PICTURE` names it and `MXD_PICTURE_RUN` is a command for the
/// shell. `MXD_PICTURE_WAIT` has texts to wait for, separated by `|`, and `MXD_PICTURE_KEYS` what to press after each of them
/// but the last, which is in the picture.
#[test]
#[ignore = "takes a picture of another program"]
fn picture_of() {
    let given = |name: &str| std::env::var(name).unwrap_or_default();
    let (name, run) = (given("MXD_PICTURE"), given("MXD_PICTURE_RUN"));
    assert!(!name.is_empty() && !run.is_empty(), "MXD_PICTURE and MXD_PICTURE_RUN are needed");
    let world = World::new();
    let mut session = Session::start(&world, Path::new("/bin/sh"), &["-c", &run], 120, 40);
    let keys = given("MXD_PICTURE_KEYS");
    let mut keys = keys.split('|').filter(|keys| !keys.is_empty());
    for words in given("MXD_PICTURE_WAIT").split('|') {
        session.wait_for_text(words);
        if let Some(keys) = keys.next() {
            session.press(keys);
        }
    }
    keep(&session, &name);
}

//! The pictures in the documentation, made from the real program: `cargo test --test pty -- --ignored screens`.

use std::path::Path;

use crate::support::picture::text;
use crate::support::product::mxd;
use crate::support::{Session, World, svg};

/// Keeps a picture of what is shown now.
fn keep(session: &Session, name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/screens");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{name}.svg")), svg::picture(&session.screen())).unwrap();
}

/// The demo at its question, with the first two sub tasks done and merged.
fn at_the_question(world: &World) -> Session {
    let mut session = Session::start(world, mxd(), &["demo", "--fast"], 120, 40);
    session.wait_for("the question", |screen| {
        let text = text(screen);
        text.contains("1 question") && text.matches("✓").count() >= 4 && text.contains("for a message")
    });
    // The greeting has been read.
    session.focus_tasks();
    session.press("esc");
    session.wait_for("the greeting to go", |screen| !text(screen).contains("This is a demo"));
    session
}

#[test]
#[ignore = "writes the pictures of the documentation"]
fn screens() {
    let world = World::new();
    let mut session = at_the_question(&world);
    keep(&session, "main");
    session.resize(200, 60);
    session.wait_for("the large screen", |screen| text(screen).lines().count() == 60);
    keep(&session, "large");
    session.resize(120, 40);
    session.wait_for("the usual screen", |screen| text(screen).lines().count() == 40);

    session.select("Announce the end");
    session.wait_for_text("I wait for your answer.");
    session.press("ctrl-n");
    session.wait_for_text("to choose, or type your answer");
    keep(&session, "ask");
    session.resize(80, 24);
    session.wait_for("the small screen", |screen| text(screen).lines().count() <= 24);
    session.wait_for_text("to choose, or type your answer");
    keep(&session, "small");
    session.resize(120, 40);
    session.wait_for("the usual screen", |screen| text(screen).lines().count() == 40);

    session.press("esc");
    session.wait_for("the question to close", |screen| !text(screen).contains("to choose, or type your answer"));
    session.select("Understand durations");
    session.press("d");
    session.wait_for_text("total=0");
    session.focus("next unseen");
    keep(&session, "diff");
    session.press("?");
    session.wait_for_text("type to find a key or action");
    keep(&session, "help");
    session.press("esc");
    session.wait_for("the help to go", |screen| !text(screen).contains("type to find a key or action"));
    session.focus_tasks();
    session.press("g a");
    session.wait_for_text("Needs you 1");
    keep(&session, "board");
    session.press("enter");
    session.wait_for_text("to choose, or type your answer");
    session.press("1 enter");
    session.focus_tasks();
    session.press("g g");
    session.wait_for_text("All 3 tasks are done");
    keep(&session, "done");
    session.quit().assert_restored(1);

    let world = World::new().with("COLORFGBG", "0;15");
    let session = at_the_question(&world);
    keep(&session, "light");
    session.quit().assert_restored(1);
}

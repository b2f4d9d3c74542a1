//! Search over everything, typed as fast as people type: what was typed last decides, and Enter leads there.

use serde_json::json;

use crate::support::Session;
use crate::support::picture::text;
use crate::support::product::{mxd, open, project, root, say};

fn occurs(screen: &vt100::Screen, words: &str) -> usize {
    text(screen).matches(words).count()
}

/// Waits until the list shows the one task, with its title and its words, and the other is at most in the tree.
#[track_caller]
fn wait_for_only(session: &Session, there: &str, gone: &str) {
    session.wait_for(there, |screen| occurs(screen, there) > 1 && occurs(screen, gone) <= 1);
}

#[test]
fn what_was_typed_last_is_what_is_looked_for_and_enter_goes_there() {
    let world = project(&json!([root(&json!([say("The orchard has a fence of hazel.")]))]));
    for title in ["Plant pears", "Plant plums"] {
        let made = world.command(mxd()).args(["task", "new", title, "--draft"]).output().unwrap();
        assert!(made.status.success(), "{made:?}");
    }
    let mut session = open(&world, 120, 40);
    session.say("Tell me of the orchard.");
    session.wait_for_text("fence of hazel");

    // From the composer, in one go: no letter may be lost and no older answer may stay.
    session.press("ctrl-o");
    session.wait_for_text("search everything");
    session.send(b"plant pe");
    wait_for_only(&session, "Plant pears", "Plant plums");
    session.send(b"\x7flums");
    wait_for_only(&session, "Plant plums", "Plant pears");
    session.send(b"\x15no such words");
    session.wait_for_text("no matches");
    session.send(b"\x15plant plums\r");
    session.wait_for("the dialog to go", |screen| !text(screen).contains("search everything"));
    session.wait_for_text("message Plant plums");

    // From the transcript, with a letter; what was said is found where it was said.
    session.press("S");
    session.wait_for_text("search everything");
    session.send(b"hazel");
    session.wait_for("the words", |screen| text(screen).contains("orchard has a fence"));
    session.press("enter");
    session.wait_for_text("message orchestrator");
    session.wait_for_text("fence of hazel");

    // Esc leaves everything as it was.
    session.press("S");
    session.wait_for_text("search for…");
    session.press("esc");
    session.wait_for("the dialog to go", |screen| !text(screen).contains("search everything"));
    session.quit().assert_restored(1);
}

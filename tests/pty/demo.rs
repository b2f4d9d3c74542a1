//! The demo, from an empty home, without a key and without an identity for git: it reaches its end, and nothing of it
//! remains.

use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::picture::text;
use crate::support::product::mxd;
use crate::support::{Session, World};

const LAST_WORDS: &str = "That was the demo. To work on your own repository: cd REPOSITORY, then mxd";

/// A machine on which nothing was ever set up.
fn bare() -> World {
    let world = World::new();
    let names = ["MXD_HOME", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
    let world = names.into_iter().fold(world, World::without);
    let temporary = world.path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    world.with("TMPDIR", temporary)
}

#[track_caller]
fn assert_nothing_remains(world: &World) {
    let names = |folder: &Path| -> Vec<_> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    for folder in ["home", "tmp"] {
        assert!(names(&world.path(folder)).is_empty(), "{folder}: {:?}", names(&world.path(folder)));
    }
}

/// Looks at the demo's repository itself, while it is there: everything is merged, and its tests pass.
#[track_caller]
fn assert_merged_and_green(world: &World) {
    let stage = std::fs::read_dir(world.path("tmp")).unwrap().next().expect("the demo has a folder").unwrap().path();
    let run = |program: &str, arguments: &[&str]| {
        let mut command = world.command(program);
        let output = command.args(arguments).current_dir(stage.join("timer")).output().unwrap();
        assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run("git", &["rev-parse", "--abbrev-ref", "HEAD"]).trim(), "main");
    assert_eq!(run("git", &["status", "--porcelain"]), "");
    let unmerged = run("git", &["branch", "--no-merged", "main"]);
    assert_eq!(unmerged, "", "every task's branch is in main");
    for commit in ["Understand hours, minutes and seconds", "Say durations in words", "Announce the end"] {
        assert!(run("git", &["log", "--format=%s", "main"]).contains(commit), "{commit}");
    }
    assert!(run("sh", &["tests/run.sh"]).contains("8 passed, 0 failed"));
}

fn play(arguments: &[&str]) -> (World, Session) {
    let world = bare();
    let arguments: Vec<_> = ["demo", "--fast"].iter().chain(arguments).copied().collect();
    let session = Session::start(&world, mxd(), &arguments, 120, 40);
    (world, session)
}

#[test]
fn it_is_played_to_its_end_with_keys_alone() {
    let (world, mut session) = play(&[]);
    session.wait_for_glimpse("the model is scripted");
    // The cursor is in the composer of the orchestrator, which waits for the task that asks.
    session.wait_for_text("2 Print a line");
    session.wait_for_text("Announce the end asks");
    // A digit that was typed as the question appeared is text, and Enter sends it.
    session.send(b"2\r");
    session.wait_for_text("is ready for review");
    session.wait_for_text("2 Merge");
    session.send(b"2\r");
    // Nothing is merged without its preview.
    session.wait_for_glimpse("no conflicts");
    session.press("enter");
    session.wait_for_text("8 of 8 tests pass");
    let over = |screen: &vt100::Screen| {
        let text = text(screen);
        text.matches("✓").count() >= 4 && !text.contains("working") && !text.contains(" question")
    };
    session.wait_for("the end", over);
    let text = session.wait_for_text("All 3 tasks are done");
    assert!(text.contains("3 verified") && text.matches("merged").count() >= 3, "{text}");
    // The three things to try.
    session.focus_tasks();
    session.press("g g d");
    session.wait_for_text("start → now");
    session.press("esc");
    session.wait_for_text("n new task");
    session.press("m");
    session.wait_for_text("merge Announce the end");
    session.press("esc");
    session.wait_for_text("n new task");
    session.press("g r");
    session.wait_for_text("rewind orchestrator");
    session.press("esc");
    session.wait_for_text("n new task");
    session.select("Announce the end");
    session.press("g t");
    session.wait_for_text("A line it is");
    session.focus_tasks();
    session.press("d");
    session.wait_for_text("+   echo \"Time is up.\"");
    assert_merged_and_green(&world);
    let ended = session.quit();
    ended.assert_restored(1);
    assert_eq!(ended.code, 0);
    assert!(ended.text.contains("That was the demo"), "{}", ended.text);
    assert_nothing_remains(&world);
}

#[test]
fn whatever_ends_it_early_leaves_nothing() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let (world, session) = play(&[]);
        session.wait_for_text("1 question");
        session.signal(signal);
        session.wait_for_end().assert_restored(1);
        assert_nothing_remains(&world);
    }
    let (world, mut session) = play(&[]);
    session.wait_for_glimpse("the model is scripted");
    session.hang_up();
    session.wait_for_exit();
    assert_nothing_remains(&world);
}

#[test]
fn as_lines_it_leaves_nothing_either_and_claims_nothing_when_it_was_cut_short() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        // At its question, where somebody thinks about it.
        let (world, session) = play(&["--plain"]);
        session.wait_for_text("your answer:");
        session.signal(signal);
        let ended = session.wait_for_end();
        assert_eq!(ended.code, code);
        assert!(!ended.text.contains(LAST_WORDS), "{}", ended.text);
        assert_nothing_remains(&world);
        // And while the agents are at work.
        let world = bare();
        let session = Session::start(&world, mxd(), &["demo", "--plain"], 120, 40);
        session.wait_for_text("the model is scripted");
        session.signal(signal);
        let ended = session.wait_for_end();
        assert_eq!(ended.code, code, "{}", ended.text);
        assert!(!ended.text.contains(LAST_WORDS), "{}", ended.text);
        assert_nothing_remains(&world);
    }
}

#[test]
fn what_a_killed_demo_leaves_goes_with_the_next_one_and_what_is_in_use_stays() {
    let (world, mut session) = play(&[]);
    session.wait_for_text("1 question");
    session.signal(Signal::KILL);
    session.wait_for_exit();
    let names = || -> Vec<_> {
        std::fs::read_dir(world.path("tmp")).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    assert_eq!(names().len(), 1);
    let playing = Session::start(&world, mxd(), &["demo", "--fast"], 120, 40);
    playing.wait_for_text("1 question");
    let its_own = names();
    assert_eq!(its_own.len(), 1, "the first one's folder is gone");
    let output = world.command(mxd()).args(["demo", "--fast", "--plain"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(names(), its_own, "that of a demo that is played is nobody else's to take away");
    playing.quit();
    assert_nothing_remains(&world);
}

#[test]
fn what_it_cannot_do_without_is_said_before_anything_is_made() {
    let world = bare();
    let nowhere = world.path("nowhere");
    let refused = |name: &str, value: &Path, arguments: &[&str], words: &[&str]| {
        let output = world.command(mxd()).args(arguments).env(name, value).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.stdout.is_empty(), "{said}");
        words.iter().for_each(|words| assert!(said.contains(words), "expected {words:?} in {said}"));
        assert_nothing_remains(&world);
    };
    let lines: &[&str] = &["demo", "--fast", "--plain"];
    refused("PATH", &nowhere, lines, &["\"git\" was not found", "install git"]);
    refused("TMPDIR", &nowhere, lines, &["cannot set up the demo", "TMPDIR"]);
    refused("TERM", Path::new("xterm"), &["demo"], &["not a terminal", "`mxd demo --plain`"]);
    assert!(!nowhere.exists());
}

#[test]
fn it_is_played_as_lines_with_nobody_there() {
    let world = bare();
    let output = world.command(mxd()).args(["demo", "--fast", "--plain"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    for words in ["the model is scripted", "How should the timer say", "3. Both", "using the default", "Both it is"] {
        assert!(said.contains(words), "expected {words:?} in {said}");
    }
    assert!(said.contains("8 of 8 tests pass"), "{said}");
    assert!(said.trim_end().ends_with(LAST_WORDS), "{said}");
    assert_eq!(said.matches('\x1b').count(), 0, "no sequences in plain lines");
    assert_nothing_remains(&world);
}

#[test]
fn its_question_can_be_answered_as_a_line() {
    let (world, mut session) = play(&["--plain"]);
    session.wait_for_text("your answer:");
    session.send(b"1\r");
    session.wait_for_text("is ready for review");
    session.wait_for("the second question", |screen| text(screen).matches("your answer:").count() == 2);
    session.send(b"2\r");
    let ended = session.wait_for_end();
    assert_eq!(ended.code, 0);
    assert_eq!(ended.traffic.count("The bell it is"), 1, "{}", ended.text);
    assert!(ended.text.contains(LAST_WORDS), "{}", ended.text);
    assert_nothing_remains(&world);
}

#[test]
fn no_paragraph_of_the_demo_is_said_twice() {
    let output = bare().command(mxd()).args(["demo", "--fast", "--json"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let updates = said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let texts = updates.filter(|update| update["event"]["type"] == "assistant_text");
    let mut texts: Vec<String> =
        texts.map(|update| update["event"]["body"]["text"].as_str().unwrap().to_owned()).collect();
    assert!(texts.len() > 8, "{texts:#?}");
    texts.sort();
    let twice: Vec<_> = texts.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
    assert!(twice.is_empty(), "{twice:#?}");
}

#[test]
fn its_updates_tell_of_real_merges_and_of_green_tests() {
    let world = bare();
    let output = world.command(mxd()).args(["demo", "--fast", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    let updates: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = updates[0]["notice"]["text"].as_str().unwrap_or_default();
    assert!(first.contains("the model is scripted"), "{:#}", updates[0]);
    let mut last = std::collections::BTreeMap::new();
    for update in updates.iter().filter(|update| update["update"] == "task") {
        let task = &update["task"]["node"];
        let title = task["title"].as_str().unwrap_or_else(|| panic!("a task without a title: {update:#}"));
        last.insert(title.to_owned(), task["status"].clone());
    }
    assert_eq!(last.len(), 4, "{last:?}");
    assert!(last.values().all(|status| status == "passed"), "{last:?}");
    // What git and the tests themselves printed, not what anybody says about it.
    let green = said.lines().filter(|line| line.contains("8 passed, 0 failed"));
    let green: Vec<_> = green.filter(|line| line.contains("tool_result")).collect();
    assert!(!green.is_empty(), "{said}");
    for commit in ["Understand hours, minutes and seconds", "Say durations in words", "Announce the end"] {
        let is_made = |line: &str| line.contains("tool_result") && line.contains(commit);
        assert!(said.lines().any(is_made), "{commit} in {said}");
    }
    let program = said.lines().find(|line| line.contains("the program says:") && line.contains("tool_result")).unwrap();
    assert!(program.contains("3 min 30 s") && program.contains("^GTime is up."), "{program}");
    assert_nothing_remains(&world);
}

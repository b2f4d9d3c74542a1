//! What becomes of an agent's work: states kept after turns, diffs, checks, merges, reviews, ways back and forks. With the
//! real binary, on real repositories.

mod conflict_editor;
mod kills;
mod merge_queue;
mod merging;
mod radar;
mod rewind;
mod steps;
mod unusual_repositories;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::cli_support::{Project, World, json_lines};
use crate::engine_support::{agent, bash, done, play, root, say};

/// Returns the ids of what can be chosen.
fn ids_of_choices(ask: &Value) -> Vec<&str> {
    ask["choices"].as_array().into_iter().flatten().filter_map(|choice| choice["id"].as_str()).collect()
}

/// An agent that makes a file, changes it and adds another, commits, and is done.
fn painter() -> Value {
    agent(
        "Painter",
        json!([
            bash("echo one > a.txt"),
            bash("echo two >> a.txt; printf 'x\\r\\n' > 'odd name'"),
            bash("git add -A && git commit -q -m painted"),
            done("passed", "painted it"),
        ]),
    )
}

/// A project in which the painter has painted.
fn painted(world: &World) -> Project<'_> {
    play(world, json!([root(json!([])), painter()]));
    let project = world.project("app");
    project.new_task("Painter");
    let ran = project.run([]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(project.status("Painter"), "passed");
    project
}

fn turns(project: &Project<'_>, title: &str) -> Vec<Value> {
    json_lines(&project.mxd(["rewind", &project.id(title), "--list", "--json"]).ok())
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// Everything of the user's that must not change by itself.
fn belongings(project: &Project<'_>) -> (Vec<u8>, String, String, String) {
    let git = |args: &[&str]| project.world.git(&project.path, args.iter().copied());
    let index = fs::read(project.path.join(".git/index")).unwrap_or_default();
    (index, git(&["stash", "list"]), git(&["reflog"]), git(&["rev-parse", "HEAD"]))
}

#[test]
fn every_turn_that_changed_files_is_kept_and_can_be_looked_at() {
    let world = World::new();
    let project = painted(&world);
    let before = belongings(&project);
    let id = project.id("Painter");
    let listed = turns(&project, "Painter");
    let changed: Vec<bool> = listed.iter().map(|turn| turn["changed"].as_bool().unwrap()).collect();
    assert_eq!(changed, [true, true, false, false], "{listed:#?}");
    assert_eq!(listed[0]["calls"], json!(["bash"]));

    let first = project.mxd(["diff", &id, "--turn", "1"]).ok();
    assert!(first.contains("+++ b/a.txt\n@@ -0,0 +1 @@\n+one\n"), "{first}");
    let second = project.mxd(["diff", &id, "--turn", "2"]).ok();
    assert!(second.contains(" one\n+two\n") && second.contains("odd name"), "{second}");
    assert!(!second.contains("+one"), "only what that turn did: {second}");
    let both = project.mxd(["diff", &id, "--turn", "1..2", "--stat"]).ok();
    assert_eq!(both, "M a.txt +1 -0\nA odd name +1 -0\n2 files, +2 -0\n");
    assert_eq!(project.mxd(["diff", &id, "--turn", "3"]).ok(), "", "a commit changes no file");
    let since_base = project.mxd(["diff", &id, "--stat"]).ok();
    assert!(since_base.contains("A a.txt +2 -0"), "{since_base}");
    let found: Value = serde_json::from_str(&project.mxd(["diff", &id, "--json", "a.txt"]).ok()).unwrap();
    assert_eq!(found["files"].as_array().unwrap().len(), 1, "{found:#}");
    assert_eq!(found["files"][0]["hunks"][0]["lines"][1]["text"], "two");
    project.mxd(["diff", &id, "--turn", "9"]).refused(3, "there is no turn \"9\"");

    let refs = world.git(&project.path, ["for-each-ref", "--format=%(refname)", "refs/mxd/snapshots"]);
    assert!(refs.lines().filter(|name| name.contains(&id)).count() >= 3, "{refs}");
    assert_eq!(belongings(&project), before);
    assert_eq!(world.git(&project.worktree("Painter"), ["status", "--porcelain"]), "");
}

#[test]
fn one_edit_of_a_turn_is_told_from_the_others_where_that_is_certain() {
    let world = World::new();
    let write =
        |path: &str, content: &str| json!({ "tool": "write_file", "input": { "path": path, "content": content } });
    let edit = |path: &str, old: &str, new: &str| json!({ "tool": "edit_file", "input": { "path": path, "edits": [{ "old_string": old, "new_string": new }] } });
    let shell = |command: &str| json!({ "tool": "bash", "input": { "command": command } });
    let turns = json!([
        { "calls": [write("src/a.txt", "one\ntwo\n"), write("b.txt", "b\n")] },
        { "calls": [edit("src/a.txt", "one", "1"), edit("b.txt", "nothing", "x"), edit("b.txt", "b", "B"), shell("cat b.txt")] },
        { "calls": [edit("src/a.txt", "1", "I"), shell("echo c > c.txt")] },
        { "calls": [shell("echo d > d.txt"), shell("echo e > e.txt")] },
        { "calls": [edit("b.txt", "B", "BB"), shell("while ! grep -q BB b.txt; do :; done; echo more >> b.txt")] },
        bash("git add -A && git commit -q -m all"),
        done("passed", "edited"),
    ]);
    play(&world, json!([root(json!([])), agent("Editor", turns)]));
    let project = world.project("app");
    project.new_task("Editor");
    assert_eq!(project.run([]).code, 0, "{}", project.log("Editor"));
    let id = project.id("Editor");
    let show = |turn: &str, edit: &str| project.mxd(["diff", &id, "--turn", turn, "--edit", edit]);
    let listed = self::turns(&project, "Editor");
    let edits = listed[1]["edits"].as_array().unwrap();
    let words: Vec<(u64, &str)> =
        edits.iter().map(|edit| (edit["number"].as_u64().unwrap(), edit["what"].as_str().unwrap())).collect();
    assert_eq!(words, [(1, "src/a.txt"), (3, "b.txt"), (4, "cat b.txt")], "one failed: {listed:#?}");

    let made = show("1", "1").ok();
    assert!(made.contains("+++ b/src/a.txt") && made.contains("+one\n+two\n") && !made.contains("b.txt"), "{made}");
    let first = show("2", "1").ok();
    assert!(first.contains("-one\n+1\n two\n") && !first.contains("b.txt"), "{first}");
    let third = show("2", "3").ok();
    assert!(third.contains("-b\n+B\n") && !third.contains("a.txt"), "{third}");
    assert_eq!(show("2", "4").ok(), "", "it only looked");
    let hint = show("2", "2").refused(3, "turn 2 has no edit 2");
    assert!(hint.contains("edit 3: edit_file b.txt"), "{hint}");
    // What a command did is what the file tools did not do.
    assert!(show("3", "1").ok().contains("-1\n+I\n two\n"));
    let command = show("3", "2").ok();
    assert!(command.contains("+++ b/c.txt") && !command.contains("a.txt"), "{command}");
    // What cannot be told apart is not made up.
    for (turn, edit) in [("4", "1"), ("4", "2"), ("5", "1"), ("5", "2")] {
        let refusal = show(turn, edit).refused(3, "cannot be separated");
        assert!(refusal.contains("--turn"), "{refusal}");
    }
    // A turn that did one thing is that thing.
    assert_eq!(show("6", "1").ok(), project.mxd(["diff", &id, "--turn", "6"]).ok());
    project.mxd(["diff", &id, "--turn", "1..2", "--edit", "1"]).refused(3, "needs a single turn");
}

#[test]
fn work_does_not_count_as_done_before_the_check_succeeds_and_the_receipt_stays() {
    let world = World::new();
    let turns = json!([
        bash("echo bad > result && git add -A && git commit -q -m one"),
        done("passed", "too early"),
        bash("echo good > result && git add -A && git commit -q -m two"),
        done("passed", "now"),
    ]);
    play(&world, json!([root(json!([])), agent("Checker", turns)]));
    let project = world.project("app");
    project.mxd(["config", "set", "verify", "grep good result || { echo it is $(cat result); exit 7; }"]).ok();
    project.new_task("Checker");
    assert_eq!(project.run([]).code, 0);
    assert_eq!(project.status("Checker"), "passed");
    let log = project.log("Checker");
    assert!(log.contains("failed with exit code 7") && log.contains("it is bad"), "{log}");
    let id = project.id("Checker");
    let events = json_lines(&project.mxd(["log", &id, "--json"]).ok());
    let receipts: Vec<_> = events.iter().filter(|event| event["body"]["what"] == "verified").collect();
    let exits: Vec<_> = receipts.iter().map(|event| event["body"]["receipt"]["exit"].as_i64()).collect();
    assert_eq!(exits, [Some(7), Some(0)], "once each: {receipts:#?}");
    let head = world.git(&project.worktree("Checker"), ["rev-parse", "HEAD"]);
    assert_eq!(receipts[1]["body"]["receipt"]["commit"], head.as_str());

    let preview: Value = serde_json::from_str(&project.mxd(["merge", &id, "--preview", "--json"]).ok()).unwrap();
    assert_eq!((&preview["fresh"], &preview["receipt"]["exit"]), (&json!(true), &json!(0)), "{preview:#}");
    // A task may have a check of its own.
    project.mxd(["task", "edit", &id, "--verify", "false"]).ok();
    project.mxd(["merge", &id]).refused(3, "nothing was merged: `false` failed with exit code 1");
    assert!(!project.path.join("result").exists());
    project.mxd(["task", "edit", &id, "--verify", ""]).ok();
    project.mxd(["merge", &id]).ok();
    assert_eq!(read(&project.path.join("result")), "good\n");
}

#[test]
fn a_check_that_always_fails_is_asked_about_and_the_answer_decides() {
    for (answer, status, code) in [("2", "passed", 0), ("3", "failed", 0)] {
        let world = World::new();
        let commit = bash("echo work > result && git add -A && git commit -q -m work");
        let turns = json!([commit, done("passed", "1"), done("passed", "2"), done("passed", "3"), done("passed", "4")]);
        play(&world, json!([root(json!([say("I heard.")])), agent("Checker", turns)]));
        let project = world.project("app");
        project.mxd(["config", "set", "verify", "echo it failed after $RANDOM ms; exit 7"]).ok();
        project.new_task("Checker");
        let ran = project.run([]);
        assert_eq!(ran.code, 2, "{ran:?}");
        let asks = project.asks();
        assert_eq!((asks.len(), &asks[0]["kind"]), (1, &json!("check_failed")), "{asks:#?}");
        project.mxd(["answer", asks[0]["id"].as_str().unwrap(), answer]).ok();
        let ran = project.run([]);
        assert_eq!(ran.code, code, "{answer}: {ran:?}");
        assert_eq!(project.status("Checker"), status, "{answer}: {ran:?}");
        let events = json_lines(&project.mxd(["log", &project.id("Checker"), "--json"]).ok());
        let checks = events.iter().filter(|event| event["body"]["what"] == "verified").count();
        assert_eq!(checks, 3, "{answer}: no further check is run");
    }
}

#[test]
fn work_waits_for_the_user_where_the_settings_say_so() {
    let world = World::new();
    play(&world, json!([root(json!([])), painter()]));
    let project = world.project("app");
    project.mxd(["config", "set", "review", "true"]).ok();
    project.new_task("Painter");
    assert_eq!(project.run([]).code, 2, "something waits");
    assert_eq!(project.status("Painter"), "in_progress");
    let asks = project.asks();
    let [ask] = asks.as_slice() else { panic!("{asks:#?}") };
    assert_eq!((&ask["kind"], ids_of_choices(ask)), (&json!("review"), vec!["approve", "merge"]));
    let detail = ask["detail"].as_str().unwrap();
    assert!(detail.contains("2 files, +3 -0") && detail.contains("painted it"), "{detail}");
    // It is asked once, however often one looks.
    assert_eq!(project.run([]).code, 2);
    assert_eq!(project.asks().len(), 1);
    project.mxd(["answer", ask["id"].as_str().unwrap(), "Merge"]).ok();
    assert_eq!(project.run([]).code, 0);
    assert_eq!(project.status("Painter"), "passed");
    assert_eq!(read(&project.path.join("a.txt")), "one\ntwo\n");
    assert_eq!(project.asks().len(), 0);
}

#[test]
fn work_waits_for_the_user_where_its_profile_says_so() {
    let world = World::new();
    let other =
        agent("Other", json!([bash("echo o > o.txt && git add -A && git commit -q -m o"), done("passed", "o")]));
    play(&world, json!([root(json!([])), painter(), other]));
    let project = world.project("app");
    let folder = world.data().join("agents");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("careful.md"), "---\ndescription: looked at\nreview: true\n---\n").unwrap();
    fs::write(folder.join("free.md"), "---\ndescription: not looked at\nreview: false\n---\n").unwrap();
    let listed = project.mxd(["agents"]).ok();
    assert!(listed.contains("reviewed by you") && listed.contains("not reviewed"), "{listed}");
    project.mxd(["task", "new", "Painter", "--profile", "careful"]).ok();
    project.new_task("Other");
    assert_eq!(project.run([]).code, 2, "something waits");
    assert_eq!((project.status("Painter").as_str(), project.status("Other").as_str()), ("in_progress", "passed"));
    let asks = project.asks();
    assert_eq!((asks.len(), &asks[0]["kind"]), (1, &json!("review")), "{asks:#?}");
    project.mxd(["answer", asks[0]["id"].as_str().unwrap(), "Approve"]).ok();
    assert_eq!(project.run([]).code, 0);
    assert_eq!(project.status("Painter"), "passed");

    let world = World::new();
    play(&world, json!([root(json!([])), painter()]));
    let project = world.project("app");
    let folder = world.data().join("agents");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("free.md"), "---\ndescription: not looked at\nreview: false\n---\n").unwrap();
    project.mxd(["config", "set", "review", "true"]).ok();
    project.mxd(["task", "new", "Painter", "--profile", "free"]).ok();
    assert_eq!(project.run([]).code, 0, "what the user wrote about it counts");
}

#[test]
fn what_the_user_says_to_a_review_goes_to_the_agent_and_approval_ends_it() {
    let world = World::new();
    let turns = json!([
        bash("echo one > a.txt && git add -A && git commit -q -m one"),
        done("passed", "first try"),
        bash("echo two > a.txt && git add -A && git commit -q -m two"),
        done("passed", "second try"),
    ]);
    play(&world, json!([root(json!([])), agent("Writer", turns)]));
    let project = world.project("app");
    project.mxd(["config", "set", "review", "true"]).ok();
    project.new_task("Writer");
    assert_eq!(project.run([]).code, 2);
    let ask = project.asks()[0]["id"].as_str().unwrap().to_owned();
    project.mxd(["answer", &ask, "please say two"]).ok();
    assert_eq!(project.run([]).code, 2, "the second try waits, too");
    let log = project.log("Writer");
    assert!(log.contains("please say two") && log.contains("reviewed"), "{log}");
    let again = project.asks()[0]["id"].as_str().unwrap().to_owned();
    assert_ne!(ask, again);
    project.mxd(["answer", &again, "1"]).ok();
    assert_eq!(project.run([]).code, 0);
    assert_eq!(project.status("Writer"), "passed");
    assert!(!project.path.join("a.txt").exists(), "approved is not merged");
}

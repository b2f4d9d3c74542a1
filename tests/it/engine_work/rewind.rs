//! Ways back, forth again, and elsewhere.

use std::fs;

use serde_json::{Value, json};

use super::{painted, painter, read, turns};
use crate::cli_support::{Project, World};
use crate::engine_support::{agent, bash, done, play, root};
use crate::git_support::files;

fn rewind(project: &Project<'_>, args: &[&str]) -> String {
    let id = project.id("Painter");
    project.mxd(["rewind", &id].into_iter().chain(args.iter().copied())).ok()
}

#[test]
fn conversation_files_and_commits_go_back_and_forth() {
    let world = World::new();
    let project = painted(&world);
    let worktree = project.worktree("Painter");
    let (all, tip) = (files(&worktree), world.git(&worktree, ["rev-parse", "HEAD"]));
    let start = world.git(&project.path, ["rev-parse", "HEAD"]);

    let id = project.id("Painter");
    let preview: Value =
        serde_json::from_str(&project.mxd(["rewind", &id, "--to", "1", "--preview", "--json"]).ok()).unwrap();
    assert_eq!((&preview["turns"], &preview["files"].as_array().unwrap().len()), (&json!(3), &2), "{preview:#}");
    assert_eq!(preview["commits"][0]["subject"], "painted");

    let said = rewind(&project, &["--to", "1"]);
    assert!(said.contains("rewound conversation and files"), "{said}");
    assert_eq!(read(&worktree.join("a.txt")), "one\n");
    assert!(!worktree.join("odd name").exists());
    assert_eq!(world.git(&worktree, ["rev-parse", "HEAD"]), start, "its commits are undone, too");
    assert_eq!(turns(&project, "Painter").len(), 1);
    assert_eq!(project.status("Painter"), "in_progress");
    // It waits for the user: nothing starts by itself.
    assert_eq!(project.run([]).code, 0);
    assert_eq!(turns(&project, "Painter").len(), 1);

    rewind(&project, &["--redo"]);
    assert_eq!(files(&worktree), all);
    assert_eq!(world.git(&worktree, ["rev-parse", "HEAD"]), tip);
    assert_eq!(world.git(&worktree, ["status", "--porcelain"]), "");
    assert_eq!((turns(&project, "Painter").len(), project.status("Painter").as_str()), (4, "passed"));
    project.mxd(["rewind", &id, "--redo"]).refused(3, "nothing to redo");
    world.git(&project.path, ["fsck", "--strict"]);
}

#[test]
fn a_commit_that_changed_no_file_is_undone_with_its_turn() {
    let world = World::new();
    let project = painted(&world);
    let (id, worktree) = (project.id("Painter"), project.worktree("Painter"));
    let (all, tip) = (files(&worktree), world.git(&worktree, ["rev-parse", "HEAD"]));
    let start = world.git(&project.path, ["rev-parse", "HEAD"]);
    // The third turn commits what the second had written.
    let preview = project.mxd(["rewind", &id, "--to", "2", "--preview"]).ok();
    assert!(preview.contains("commit:") && !preview.contains("file:"), "{preview}");
    rewind(&project, &["--to", "2"]);
    assert_eq!((files(&worktree), world.git(&worktree, ["rev-parse", "HEAD"])), (all.clone(), start.clone()));
    rewind(&project, &["--redo"]);
    assert_eq!((files(&worktree), world.git(&worktree, ["rev-parse", "HEAD"])), (all.clone(), tip));
    project.mxd(["fork", &id, "--at", "2", "--title", "Copy", "--later"]).ok();
    let copy = project.worktree("Copy");
    assert_eq!((files(&copy), world.git(&copy, ["rev-parse", "HEAD"])), (all, start));
}

#[test]
fn only_the_files_or_only_the_conversation() {
    let world = World::new();
    let project = painted(&world);
    let worktree = project.worktree("Painter");
    let all = files(&worktree);
    rewind(&project, &["--files", "--to", "1"]);
    assert_eq!(read(&worktree.join("a.txt")), "one\n");
    assert_eq!((turns(&project, "Painter").len(), project.status("Painter").as_str()), (4, "passed"));
    rewind(&project, &["--redo"]);
    assert_eq!(files(&worktree), all);

    rewind(&project, &["--conversation", "--to", "2"]);
    assert_eq!(files(&worktree), all, "files stay");
    assert_eq!(turns(&project, "Painter").len(), 2);
    rewind(&project, &["--redo"]);
    assert_eq!(turns(&project, "Painter").len(), 4);

    rewind(&project, &["--start"]);
    assert!(!worktree.join("a.txt").exists());
    assert!(turns(&project, "Painter").is_empty());
    let id = project.id("Painter");
    project.mxd(["rewind", &id]).refused(3, "no target given");
}

#[test]
fn a_message_is_said_differently_and_the_agent_goes_on_from_there() {
    let world = World::new();
    let project = painted(&world);
    let id = project.id("Painter");
    let message = turns(&project, "Painter")[0]["message"].as_str().unwrap().to_owned();
    let said = project.mxd(["rewind", &id, "--edit", &message, "Begin, but gently."]).ok();
    assert!(said.contains("sent"), "{said}");
    assert!(!project.worktree("Painter").join("a.txt").exists());
    assert_eq!(project.run([]).code, 0);
    assert_eq!(project.status("Painter"), "passed");
    let listed = turns(&project, "Painter");
    assert_eq!((listed.len(), &listed[0]["prompt"]), (4, &json!("Begin, but gently.")), "{listed:#?}");
}

#[test]
fn a_fork_has_the_conversation_and_the_files_of_its_turn() {
    let world = World::new();
    play(&world, json!([root(json!([])), painter()]));
    let project = world.project("app");
    project.new_task("Painter");
    assert_eq!(project.run([]).code, 0);
    let (id, worktree) = (project.id("Painter"), project.worktree("Painter"));
    let before = files(&worktree);
    let made = project.mxd(["fork", &id, "--at", "1", "--title", "Other", "--later"]).ok();
    assert_eq!(made.trim(), project.id("Other"));
    let other = project.worktree("Other");
    assert_eq!(read(&other.join("a.txt")), "one\n");
    assert!(!other.join("odd name").exists());
    assert_eq!(turns(&project, "Other").len(), 1);
    assert_eq!(files(&worktree), before, "the source is left alone");
    assert_eq!(project.status("Painter"), "passed");
    assert_ne!(
        world.git(&other, ["rev-parse", "--abbrev-ref", "HEAD"]),
        world.git(&worktree, ["rev-parse", "--abbrev-ref", "HEAD"])
    );
    let whole = project.mxd(["fork", &id, "--later", "--json"]).ok();
    assert!(whole.contains("created"), "{whole}");
    assert_eq!(files(&project.worktree("Painter (fork)")), before);
    project.mxd(["fork", &id, "--at", "77"]).refused(3, "there is no turn");
}

#[test]
fn a_task_without_turns_has_nothing_to_go_back_to() {
    let world = World::new();
    let project = painted(&world);
    let fresh = project.mxd(["task", "new", "Fresh", "--later"]).ok().trim().to_owned();
    project.mxd(["rewind", &fresh, "--start"]).refused(3, "no turn yet");
    project.mxd(["fork", &fresh]).refused(3, "no conversation");
    project.mxd(["merge", &fresh]).refused(3, "nothing to merge yet");
    project.mxd(["diff", &fresh]).refused(3, "nothing to compare yet");
}

#[test]
fn a_user_who_commits_in_the_worktree_meanwhile_loses_nothing() {
    let world = World::new();
    let project = painted(&world);
    let worktree = project.worktree("Painter");
    fs::write(worktree.join("mine.txt"), "mine").unwrap();
    world.git(&worktree, ["add", "mine.txt"]);
    world.git(&worktree, ["commit", "-q", "-m", "mine"]);
    fs::write(worktree.join("loose.txt"), "loose").unwrap();
    let (all, tip) = (files(&worktree), world.git(&worktree, ["rev-parse", "HEAD"]));
    rewind(&project, &["--to", "2"]);
    assert!(!worktree.join("mine.txt").exists() && !worktree.join("loose.txt").exists());
    rewind(&project, &["--redo"]);
    assert_eq!((files(&worktree), world.git(&worktree, ["rev-parse", "HEAD"])), (all, tip));
}

#[test]
fn the_root_goes_back_with_its_files_and_leaves_the_users_branch_alone() {
    let world = World::new();
    let script = json!({ "name": "root", "when": { "first": "none: you are the root" }, "turns": [
        bash("echo one > a.txt"), bash("echo two > a.txt; git add a.txt; git commit -q -m two"), done("passed", "ok") ] });
    play(&world, json!([script, agent("Nobody", json!([done("passed", "x")]))]));
    let project = world.project("app");
    assert_eq!(project.run(["do it"]).code, 0);
    let tip = world.git(&project.path, ["rev-parse", "HEAD"]);
    let root = project.tasks()[0]["id"].as_str().unwrap().to_owned();
    project.mxd(["rewind", &root, "--to", "1"]).ok();
    assert_eq!(read(&project.path.join("a.txt")), "one\n");
    assert_eq!(world.git(&project.path, ["rev-parse", "HEAD"]), tip);
}

//! Merges: what is refused and why, what moves, what an agent is told, and the way back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use super::{belongings, painted, read};
use crate::cli_support::{Project, World};
use crate::engine_support::{agent, bash, done, play, root};

fn head(project: &Project<'_>) -> String {
    project.world.git(&project.path, ["rev-parse", "main"])
}

fn preview(project: &Project<'_>, id: &str) -> (i32, Value) {
    let ran = project.mxd(["merge", id, "--preview", "--json"]);
    (ran.code, serde_json::from_str(&ran.out).unwrap())
}

#[test]
fn a_task_is_merged_squashed_or_rebased_and_that_is_taken_back() {
    for how in [&[][..], &["--squash"], &["--rebase"]] {
        let world = World::new();
        let project = painted(&world);
        let (id, before) = (project.id("Painter"), head(&project));
        // Somebody works on the base meanwhile.
        fs::write(project.path.join("base.txt"), "base").unwrap();
        world.git(&project.path, ["add", "base.txt"]);
        world.git(&project.path, ["commit", "-q", "-m", "base"]);
        let base = head(&project);
        let (code, found) = preview(&project, &id);
        assert_eq!((code, &found["ahead"], &found["behind"]), (0, &json!(1), &json!(1)), "{found:#}");
        assert_eq!((&found["files"], &found["added"]), (&json!(2), &json!(3)));

        let said = project.mxd(["merge", &id].into_iter().chain(how.iter().copied())).ok();
        assert!(said.contains("into main") && said.contains("--undo"), "{said}");
        assert_eq!(read(&project.path.join("a.txt")), "one\ntwo\n");
        assert_eq!(read(&project.path.join("base.txt")), "base");
        assert_eq!(world.git(&project.path, ["status", "--porcelain", "--untracked-files=no"]), "");
        let parents = world.git(&project.path, ["log", "-1", "--format=%P"]);
        assert_eq!(parents.split(' ').count(), if how.is_empty() { 2 } else { 1 });
        if how != ["--rebase"] {
            let message = world.git(&project.path, ["log", "-1", "--format=%B"]);
            assert!(message.starts_with("Painter\n\npainted it") && message.contains("Task-Id:"), "{message}");
        }
        assert!(project.log("Painter").contains("into main"));
        // What was merged can still be looked at.
        let still = project.mxd(["diff", &id, "--stat"]).ok();
        assert!(still.contains("a.txt"), "{still}");

        project.mxd(["merge", &id, "--undo"]).ok();
        assert_eq!(head(&project), base);
        assert!(!project.path.join("a.txt").exists());
        project.mxd(["merge", &id, "--undo"]).refused(3, "no merge of this task");
        assert_ne!(before, base);
        world.git(&project.path, ["fsck", "--strict"]);
    }
}

/// A `git` that does something first in the moment in which a checkout is to follow: after everything was looked at.
fn meddling_git(world: &World, checkout: &Path, first: &str) -> std::ffi::OsString {
    let folder = world.folder("meddling");
    let real = world.command("sh", &folder).args(["-c", "command -v git"]).output().unwrap();
    let real = String::from_utf8(real.stdout).unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$(pwd -P) $*\" in\n*--dry-run*) ;;\n\"{} read-tree -m -u \"*) cd '{}'; {first} ;;\nesac\nexec {} \"$@\"\n",
        checkout.display(),
        checkout.display(),
        real.trim()
    );
    fs::write(folder.join("git"), script).unwrap();
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([folder].into_iter().chain(std::env::split_paths(&path))).unwrap()
}

#[test]
fn a_merge_whose_checkout_cannot_follow_any_more_never_happened() {
    let world = World::new();
    let project = painted(&world);
    let id = project.id("Painter");
    fs::write(project.path.join("kept.txt"), "kept\n").unwrap();
    world.git(&project.path, ["add", "kept.txt"]);
    world.git(&project.path, ["commit", "-q", "-m", "kept"]);
    let refs = || world.git(&project.path, ["for-each-ref", "refs/heads", "refs/mxd/pending", "refs/mxd/undo"]);
    let before = refs();
    // Somebody's own file where the new one goes; another git that is at work and does not end.
    for (meddling, obstacle, code) in
        [("echo mine > a.txt", "a.txt", 3), ("echo > .git/index.lock", ".git/index.lock", 1)]
    {
        let path = meddling_git(&world, &project.path, meddling);
        let output = world.mxd_command(&project.path).env("PATH", path).args(["merge", &id]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains("cannot update") || said.contains("index.lock"), "{said}");
        assert!(project.path.join(obstacle).exists(), "{meddling}");
        assert_eq!(refs(), before, "the branch is back, and there is nothing to take back: {meddling}");
        fs::remove_file(project.path.join(obstacle)).unwrap();
        let changed = world.git(&project.path, ["status", "--porcelain", "--untracked-files=no"]);
        assert_eq!(changed, "", "{meddling}");
        assert!(!project.path.join("a.txt").exists() && project.path.join("kept.txt").exists());
        project.mxd(["merge", &id, "--undo"]).refused(3, "no merge of this task");
        assert!(!project.log("Painter").contains("into main"), "{}", project.log("Painter"));
    }
    // Nothing of it is in the way of the next try.
    project.mxd(["merge", &id]).ok();
    assert_eq!(read(&project.path.join("a.txt")), "one\ntwo\n");
    world.git(&project.path, ["fsck", "--strict"]);
}

#[test]
fn taking_back_a_merge_whose_checkout_cannot_follow_leaves_it_merged() {
    let world = World::new();
    let project = painted(&world);
    let id = project.id("Painter");
    project.mxd(["merge", &id]).ok();
    let refs = || world.git(&project.path, ["for-each-ref", "refs/heads", "refs/mxd/pending", "refs/mxd/undo"]);
    let before = refs();
    let path = meddling_git(&world, &project.path, "echo changed > a.txt");
    let output = world.mxd_command(&project.path).env("PATH", path).args(["merge", &id, "--undo"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(3) && said.contains("cannot update"), "{said}");
    assert_eq!(refs(), before);
    assert_eq!(read(&project.path.join("a.txt")), "changed\n", "what somebody wrote in the last moment is still there");
    world.git(&project.path, ["checkout", "-q", "a.txt"]);
    project.mxd(["merge", &id, "--undo"]).ok();
    assert!(!project.path.join("a.txt").exists());
}

#[test]
fn a_dirty_side_is_refused_with_the_reason() {
    let world = World::new();
    let project = painted(&world);
    let id = project.id("Painter");
    let worktree = project.worktree("Painter");
    fs::write(worktree.join("a.txt"), "not committed").unwrap();
    let (code, found) = preview(&project, &id);
    assert_eq!((code, &found["dirty"][0]["own"]), (1, &json!(true)), "{found:#}");
    project.mxd(["merge", &id]).refused(3, "uncommitted changes");
    world.git(&worktree, ["checkout", "-q", "a.txt"]);

    fs::write(project.path.join("base.txt"), "base").unwrap();
    world.git(&project.path, ["add", "base.txt"]);
    project.mxd(["merge", &id]).refused(3, "uncommitted changes");
    world.git(&project.path, ["rm", "-q", "--cached", "base.txt"]);
    // A file that nobody tracks is in the way of nothing.
    project.mxd(["merge", &id]).ok();
    assert_eq!(read(&project.path.join("base.txt")), "base");
}

#[test]
fn a_base_that_is_checked_out_nowhere_moves_alone() {
    let world = World::new();
    let project = painted(&world);
    let id = project.id("Painter");
    world.git(&project.path, ["checkout", "-q", "--detach"]);
    let before = head(&project);
    let (_, found) = preview(&project, &id);
    assert!(found["checkout"].is_null(), "{found:#}");
    let mine = belongings(&project);
    let said = project.mxd(["merge", &id]).ok();
    assert!(said.contains("only the branch moved"), "{said}");
    assert_ne!(head(&project), before);
    assert!(!project.path.join("a.txt").exists());
    assert_eq!(belongings(&project), mine);
    project.mxd(["merge", &id, "--undo"]).ok();
    assert_eq!(head(&project), before);
}

#[test]
fn conflicts_are_named_and_sent_to_the_agent_with_both_sides() {
    let world = World::new();
    let turns = json!([
        bash("echo theirs > a.txt && git add -A && git commit -q -m one"),
        done("passed", "written"),
        bash("git merge -q main >/dev/null; echo both > a.txt && git add -A && git commit -q -m both"),
        done("passed", "resolved"),
    ]);
    play(&world, json!([root(json!([])), agent("Writer", turns)]));
    let project = world.project("app");
    project.new_task("Writer");
    assert_eq!(project.run([]).code, 0);
    let id = project.id("Writer");
    fs::write(project.path.join("a.txt"), "ours\n").unwrap();
    world.git(&project.path, ["add", "a.txt"]);
    world.git(&project.path, ["commit", "-q", "-m", "ours"]);
    let before = head(&project);
    let (code, found) = preview(&project, &id);
    assert_eq!((code, &found["conflicts"][0]["path"]), (1, &json!("a.txt")), "{found:#}");
    assert_eq!(found["conflicts"][0]["kind"], "both_added");
    let refusal = project.mxd(["merge", &id]).refused(3, "conflicts with main in 1 file, such as a.txt");
    assert!(refusal.contains("--resolve"), "{refusal}");
    assert_eq!(head(&project), before);

    project.mxd(["merge", &id, "--resolve"]).ok();
    let log = project.mxd(["log", &id, "--json"]).ok();
    assert!(log.contains("both made a file of this name") && log.contains("ours") && log.contains("theirs"), "{log}");
    assert_eq!(project.run([]).code, 0);
    project.mxd(["merge", &id]).ok();
    assert_eq!(read(&project.path.join("a.txt")), "both\n");
}

#[test]
fn a_sub_tasks_work_goes_into_the_task_above_or_straight_into_the_base() {
    let world = World::new();
    let parent = json!([
        json!({ "calls": [{ "tool": "create_task", "input": { "title": "Below", "description": "x" } }] }),
        json!({ "calls": [{ "tool": "yield", "input": {} }] }),
        done("passed", "all"),
    ]);
    let below = json!([bash("echo b > b.txt && git add -A && git commit -q -m b"), done("passed", "b")]);
    play(&world, json!([root(json!([])), agent("Above", parent), agent("Below", below)]));
    let project = world.project("app");
    project.new_task("Above");
    assert_eq!(project.run([]).code, 0, "{}", project.log("Above"));
    let id = project.id("Below");
    project.mxd(["merge", &id]).ok();
    assert!(project.worktree("Above").join("b.txt").exists());
    assert!(!project.path.join("b.txt").exists());
    project.mxd(["merge", &id, "--into", "base"]).ok();
    assert!(project.path.join("b.txt").exists());
}

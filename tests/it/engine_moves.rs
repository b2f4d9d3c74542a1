//! Repositories and data folders that were moved, copied or shared, by the real binary: projects go with them, copies become
//! their own, and nothing of another project is freed.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli_support::{Project, Ran, World, json_lines};
use crate::engine_support::{agent, bash, done, play, root, say};

const WORK: &str = "echo work > file.txt && git add . && git commit -qm Work && echo loose > loose.txt";

/// A project with a task that has committed one file and not another, and sleeps. Spoken to again, it looks at both.
fn with_work(world: &World) -> (Project<'_>, String) {
    let turns = json!([bash(WORK), say("What now?"), bash("pwd && cat loose.txt && git status --short"), say("Seen.")]);
    play(world, json!([root(json!([say("Here."), say("Here again.")])), agent("Painter", turns)]));
    let project = world.project("app");
    let painter = project.new_task("Painter");
    project.run([]);
    assert_eq!(fs::read_to_string(project.worktree("Painter").join("loose.txt")).unwrap(), "loose\n");
    (project, painter)
}

fn moved<'w>(project: &Project<'w>, name: &str) -> Project<'w> {
    let path = project.world.root().join(name);
    fs::rename(&project.path, &path).unwrap();
    Project { world: project.world, path, folder: project.folder.clone() }
}

fn copied<'w>(project: &Project<'w>, name: &str) -> Project<'w> {
    let path = project.world.root().join(name);
    let status = std::process::Command::new("cp").arg("-r").arg(&project.path).arg(&path).status().unwrap();
    assert!(status.success());
    Project { world: project.world, path, folder: project.folder.clone() }
}

fn registered(world: &World) -> Vec<Value> {
    json_lines(&world.mxd(&world.root(), ["projects", "--json"]).ok())
}

/// What an earlier version did not write.
fn forget_marks(project: &Project<'_>) {
    fs::remove_dir_all(project.path.join(".git/mxd")).unwrap();
    fs::remove_file(project.folder.entry()).unwrap();
}

fn refs(project: &Project<'_>) -> String {
    project.world.git(&project.path, ["for-each-ref", "--format=%(refname)", "refs/mxd", "refs/heads/mxd"])
}

/// The task goes on where it was: with its loose file, in a worktree that git knows.
fn goes_on(project: &Project<'_>, painter: &str) -> String {
    project.mxd(["send", painter, "Look again."]).ok();
    project.run([]);
    let log = project.log("Painter");
    assert!(log.contains("Seen.") && log.contains("?? loose.txt"), "{log}");
    assert!(!log.contains("recreated") && !log.contains("was missing"), "{log}");
    log
}

#[test]
fn a_renamed_repository_keeps_its_project_its_worktrees_and_its_snapshots() {
    let world = World::new();
    let (project, painter) = with_work(&world);
    let (refs_before, place) = (refs(&project), project.worktree("Painter"));
    let renamed = moved(&project, "renamed");
    // Whoever only looks recognises it, and writes nothing.
    let registry = fs::read(world.home().projects()).unwrap();
    let ran = renamed.mxd(["doctor", "--offline"]);
    assert!(ran.out.contains("lock         renamed: not locked") && ran.out.contains("renamed: none"), "{ran:?}");
    assert_eq!(fs::read(world.home().projects()).unwrap(), registry);

    assert_eq!(renamed.id("Painter"), painter);
    let rows = registered(&world);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0]["path"], renamed.path.to_str().unwrap());
    assert_eq!(rows[0]["name"], "renamed");
    assert_eq!(world.git(&place, ["status", "--short"]), "?? loose.txt");
    assert_eq!(renamed.mxd(["gc"]).ok(), "nothing to free\n");
    assert_eq!(refs(&renamed), refs_before);
    assert!(renamed.mxd(["init"]).ok().contains("is registered already"));
    goes_on(&renamed, &painter);
}

#[test]
fn the_root_of_a_moved_repository_is_told_where_it_works_now_and_only_once() {
    let world = World::new();
    play(&world, json!([root(json!([bash("pwd"), say("Here."), bash("pwd"), say("There."), say("Still there.")]))]));
    let project = world.project("app");
    project.run(["Look."]);
    let renamed = moved(&project, "renamed");
    for goal in ["Look again.", "And again."] {
        renamed.run([goal]);
    }
    let log = renamed.log("orchestrator");
    assert!(log.contains("Still there."), "{log}");
    let told = format!("Your working directory was moved and is now {}.", renamed.path.display());
    assert_eq!(log.matches(&told).count(), 1, "{log}");
}

#[test]
fn a_copy_becomes_a_project_of_its_own_and_takes_nothing_from_the_first() {
    let world = World::new();
    let (project, painter) = with_work(&world);
    let copy = copied(&project, "copy");
    let err = copy.mxd(["tree"]).refused(3, "is a copy of");
    assert!(err.contains("`mxd init`"), "{err}");
    copy.mxd(["init"]).ok();
    let rows = registered(&world);
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_ne!(rows[0]["id"], rows[1]["id"]);
    assert_eq!(rows[0]["path"], project.path.to_str().unwrap());
    assert_eq!(copy.mxd(["tree"]).ok(), "no tasks yet\n");
    assert_eq!(project.id("Painter"), painter);

    // What was copied with the repository belongs to the first project, and stays.
    let of_copy = world.home().project(rows[1]["id"].as_str().unwrap().parse().unwrap());
    copy.mxd(["task", "new", "Other", "--later"]).ok();
    assert!(of_copy.tree().exists());
    fs::create_dir_all(of_copy.worktrees()).unwrap();
    let before = refs(&copy);
    let out = copy.mxd(["gc"]).ok();
    assert!(out.contains("skipped") && out.contains("it belongs to the project app"), "{out}");
    assert_eq!(refs(&copy), before);
    goes_on(&project, &painter);
    // It stays its own when it is moved.
    let moved = moved(&copy, "copy-2");
    assert_eq!(moved.id("Other").len(), 26);
    assert_eq!(registered(&world).len(), 2);
}

#[test]
fn a_project_of_an_earlier_version_is_marked_at_the_next_start_and_recognised_by_its_refs_if_it_was_moved_before() {
    let world = World::new();
    let (project, painter) = with_work(&world);
    forget_marks(&project);
    project.tasks();
    assert!(project.path.join(".git/mxd/owners.json").is_file() && project.folder.entry().is_file());

    forget_marks(&project);
    let renamed = moved(&project, "renamed");
    assert_eq!(renamed.id("Painter"), painter);
    assert_eq!(registered(&world).len(), 1);
    goes_on(&renamed, &painter);
}

#[test]
fn two_repositories_that_changed_places_keep_their_projects() {
    let world = World::new();
    let (one, two) = (world.project("one"), world.project("two"));
    for (project, title) in [(&one, "First"), (&two, "Second")] {
        project.mxd(["task", "new", title, "--later"]).ok();
    }
    let aside = moved(&one, "aside");
    let two = moved(&two, "one");
    let one = moved(&aside, "two");
    assert_eq!(one.id("First").len(), 26);
    assert_eq!(two.id("Second").len(), 26);
    let mut paths: Vec<_> = registered(&world).iter().map(|row| row["path"].to_string()).collect();
    paths.dedup();
    assert_eq!(paths.len(), 2, "{paths:?}");
}

fn with_data<S: AsRef<std::ffi::OsStr>>(
    world: &World,
    data: &Path,
    cwd: &Path,
    args: impl IntoIterator<Item = S>,
) -> Ran {
    let output = world.mxd_command(cwd).env("MXD_HOME", data).args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn gc_spares_what_belongs_to_a_project_of_another_data_folder() {
    let world = World::new();
    let (project, _) = with_work(&world);
    let before = refs(&project);
    let other: PathBuf = world.root().join("other-data");
    fs::create_dir(&other).unwrap();
    fs::copy(world.data().join("config.json"), other.join("config.json")).unwrap();
    let there = |args: &[&str]| with_data(&world, &other, &project.path, args);
    there(&["init"]).ok();
    there(&["task", "new", "Painter"]).ok();
    assert_eq!(there(&["run"]).code, 2);
    assert_ne!(refs(&project), before, "both data folders have refs in it now");
    let both = refs(&project);
    let out = there(&["gc"]).ok();
    assert!(out.contains("skipped") && out.contains(world.data().to_str().unwrap()), "{out}");
    let out = project.mxd(["gc"]).ok();
    assert!(out.contains("skipped") && out.contains("other-data"), "{out}");
    assert_eq!(refs(&project), both);

    // What a data folder owns that cannot be read now stays as well.
    fs::rename(&other, world.root().join("unplugged")).unwrap();
    let out = project.mxd(["gc"]).ok();
    assert!(out.contains("which cannot be read now"), "{out}");
    assert_eq!(refs(&project), both);
}

#[test]
fn a_moved_data_folder_keeps_worktrees_with_their_uncommitted_work() {
    let world = World::new();
    let (project, painter) = with_work(&world);
    let old = project.worktree("Painter");
    fs::rename(world.data(), world.root().join("moved-data")).unwrap();
    let data = world.root().join("moved-data");
    let there = |args: &[&str]| with_data(&world, &data, &project.path, args);
    let tasks = json_lines(&there(&["tree", "--json"]).ok());
    let node = tasks.iter().find(|task| task["id"] == painter.as_str()).unwrap();
    let new = PathBuf::from(node["worktree"].as_str().unwrap());
    assert_eq!(new, data.join(old.strip_prefix(world.data()).unwrap()));
    assert_eq!(world.git(&new, ["status", "--short"]), "?? loose.txt");

    there(&["send", &painter, "Look again."]).ok();
    there(&["run"]);
    let log = there(&["log", &painter]).ok();
    assert!(log.contains("?? loose.txt") && !log.contains("recreated"), "{log}");
    let told = format!("Your working directory was moved and is now {}.", new.display());
    assert_eq!(log.matches(&told).count(), 1, "{log}");
    assert!(!old.exists(), "nothing is made again at the old place");
    assert_eq!(there(&["gc"]).ok(), "nothing to free\n");
}

#[test]
fn a_data_folder_and_a_repository_that_were_moved_together_keep_everything() {
    let world = World::new();
    let (project, painter) = with_work(&world);
    let renamed = moved(&project, "renamed");
    let data = world.root().join("moved-data");
    fs::rename(world.data(), &data).unwrap();
    let there = |args: &[&str]| with_data(&world, &data, &renamed.path, args);
    there(&["send", &painter, "Look again."]).ok();
    there(&["run"]);
    let log = there(&["log", &painter]).ok();
    assert!(log.contains("?? loose.txt") && !log.contains("recreated") && !log.contains("was missing"), "{log}");
}

#[test]
fn a_task_that_was_done_can_be_merged_after_the_move() {
    let world = World::new();
    let turns = json!([bash("echo work > file.txt && git add . && git commit -qm Work"), done("passed", "painted")]);
    play(&world, json!([root(json!([say("Here.")])), agent("Painter", turns)]));
    let project = world.project("app");
    let painter = project.new_task("Painter");
    project.run([]);
    let renamed = moved(&project, "renamed");
    let ran = renamed.mxd(["merge", &painter]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(fs::read_to_string(renamed.path.join("file.txt")).unwrap(), "work\n");
}

#[test]
fn what_an_earlier_version_left_of_a_project_is_enough_to_rebuild_its_entry() {
    let world = World::new();
    play(&world, json!([root(json!([say("Here.")])), agent("Painter", json!([say("What now?")]))]));
    let project = world.project("calc");
    project.run(["Begin."]);
    let task = project.new_task("Painter");
    project.run([]);
    let session = project.folder.session(project.id("orchestrator").parse().unwrap());
    let forget = || {
        fs::remove_file(world.home().projects()).unwrap();
        fs::remove_file(project.folder.entry()).unwrap();
        let _ = fs::remove_dir_all(project.path.join(".git/mxd"));
    };
    let is_back = |cwd: &Path| {
        assert_eq!(world.mxd(cwd, ["check", "--repair"]).code, 0);
        let rows = registered(&world);
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!((&rows[0]["path"], &rows[0]["base_branch"]), (&json!(project.path), &json!("main")));
        assert_eq!(project.id("Painter"), task);
    };
    // By the link of a worktree.
    forget();
    is_back(&world.root());
    // By what the root was told.
    fs::rename(project.folder.worktrees(), world.root().join("gone")).unwrap();
    forget();
    is_back(&world.root());
    // By the refs of its tasks, from inside of it.
    forget();
    let kept = fs::read_to_string(&session).unwrap();
    fs::write(&session, kept.replace("Working directory: ", "Working directory: /nowhere")).unwrap();
    let ran = world.mxd(&world.root(), ["check", "--repair"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    project.mxd(["run"]).refused(3, "does not list");
    is_back(&project.path);
}

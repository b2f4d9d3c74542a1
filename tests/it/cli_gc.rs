//! `mxd gc`: what it frees, what it leaves alone, and that nothing is lost that is nowhere else.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use mxd::base::TaskId;
use mxd::model::event::TaskChanged;
use mxd::model::{Status, Tree};
use mxd::store::disk::RealDisk;
use mxd::store::tree_file::TreeFile;
use serde_json::json;

use crate::cli_support::{Project, World};
use crate::engine_support::{agent, bash, play, root, say};

fn tree(project: &Project<'_>) -> Tree {
    TreeFile::new(std::sync::Arc::new(RealDisk), project.folder.tree()).load().unwrap().unwrap().tree
}

/// A project with a task whose agent has committed one file and written another, asleep.
fn with_work(world: &World) -> (Project<'_>, TaskId, PathBuf) {
    let work = "echo work > file.txt && git add . && git commit -qm Work && echo loose > loose.txt";
    play(world, json!([root(json!([])), agent("Painter", json!([bash(work), say("What now?")]))]));
    let project = world.project("app");
    let painter = project.new_task("Painter");
    project.run([]);
    project.mxd(["stop", &painter]).ok();
    let place = project.worktree("Painter");
    assert!(place.join("loose.txt").exists());
    (project, painter.parse().unwrap(), place)
}

/// Takes a task out of the tree as a crash in the middle of its deletion would leave it.
fn half_delete(project: &Project<'_>, task: TaskId) {
    project.append(task, vec![TaskChanged::Removed.into()]);
    let mut tree = tree(project);
    tree.remove(task).unwrap();
    project.save(&tree);
}

#[test]
fn there_is_nothing_to_free_where_everything_is_needed() {
    let world = World::new();
    let (project, _, place) = with_work(&world);
    assert_eq!(project.mxd(["gc", "--dry-run"]).ok(), "nothing to free\n");
    assert_eq!(project.mxd(["gc"]).ok(), "nothing to free\n");
    assert!(place.join("loose.txt").exists());
    assert_eq!(world.mxd(&world.root(), ["gc", "--all"]).ok(), "nothing to free\n");
}

#[test]
fn a_worktree_that_no_task_owns_is_archived_before_it_goes() {
    let world = World::new();
    let (project, task, place) = with_work(&world);
    half_delete(&project, task);
    let would = project.mxd(["gc", "--dry-run"]).ok();
    assert!(would.contains(&format!("would free: the worktree {}", place.display())), "{would}");
    assert!(place.join("loose.txt").exists());
    let out = project.mxd(["gc"]).ok();
    assert!(out.contains(&format!("freed: the worktree {}", place.display())), "{out}");
    assert!(!place.exists());
    let archive = format!("refs/mxd/archive/{task}");
    assert_eq!(world.git(&project.path, ["show", &format!("{archive}:loose.txt")]), "loose");
    assert_eq!(world.git(&project.path, ["show", &format!("{archive}:file.txt")]), "work");
    assert_eq!(world.git(&project.path, ["branch", "--list", "mxd/*"]), "");
    // What it says about the archive can be pasted.
    let said = out.split('`').nth(1).unwrap();
    assert!(world.paste(&project.path, said).ok().contains("Work"));
    assert_eq!(project.mxd(["gc"]).ok(), "nothing to free\n");
}

#[test]
fn what_a_session_remembers_is_left_alone_until_the_tree_is_mended() {
    let world = World::new();
    let (project, task, place) = with_work(&world);
    let mut lost = tree(&project);
    lost.remove(task).unwrap();
    project.save(&lost);
    let out = project.mxd(["gc"]).ok();
    assert!(out.contains("skipped: the worktree") && out.contains("`mxd check --repair`"), "{out}");
    assert!(place.join("loose.txt").exists());
    project.mxd(["check", "--repair"]);
    assert_eq!(project.mxd(["gc"]).ok(), "nothing to free\n");
    assert_eq!(project.worktree("Painter"), place);
}

#[test]
fn a_branch_alone_is_archived_and_folders_that_hold_anything_are_left_alone() {
    let world = World::new();
    let (project, task, place) = with_work(&world);
    let branch = project.node("Painter")["branch"].as_str().unwrap().to_owned();
    half_delete(&project, task);
    let tip = world.git(&project.path, ["rev-parse", &branch]);
    world.git(&project.path, ["worktree", "unlock", place.to_str().unwrap()]);
    world.git(&project.path, ["worktree", "remove", "-f", place.to_str().unwrap()]);
    let folder = project.folder.worktrees();
    for name in ["empty", "odd", ".aside/kept"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    fs::write(folder.join("odd/file"), "x").unwrap();
    let out = project.mxd(["gc"]).ok();
    assert!(out.contains(&format!("freed: the branch {branch}")), "{out}");
    assert_eq!(world.git(&project.path, ["rev-parse", &format!("refs/mxd/archive/{task}^1")]), tip);
    assert!(!folder.join("empty").exists() && folder.join("odd/file").exists() && folder.join(".aside/kept").exists());
}

#[test]
fn outputs_are_freed_only_if_nothing_refers_to_them() {
    let world = World::new();
    let (project, _, _) = with_work(&world);
    let store = project.store();
    let (used, unused) = (store.blobs().put(b"used").unwrap(), store.blobs().put(b"unused").unwrap());
    drop(store);
    let drafts = project.folder.root().join("drafts.json");
    fs::write(&drafts, json!({ "drafts": [["x", used.blob.as_str()]] }).to_string()).unwrap();
    let spilled = project.folder.root().join("spill/run.out");
    fs::create_dir_all(spilled.parent().unwrap()).unwrap();
    fs::write(&spilled, "half an output").unwrap();
    let log = project.folder.logs().join("server.log");
    fs::create_dir_all(project.folder.logs()).unwrap();
    let file = File::create(&log).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(30 * 86_400)).unwrap();
    let out = project.mxd(["gc"]).ok();
    assert!(out.contains("outputs and images that no session refers to (1 file)"), "{out}");
    assert!(project.folder.blob(&used.blob).exists() && !project.folder.blob(&unused.blob).exists());
    assert!(!spilled.exists() && !log.exists(), "{out}");
}

#[test]
fn sessions_of_closed_tasks_go_only_if_the_user_said_how_many_to_keep() {
    let world = World::new();
    play(&world, json!([]));
    let project = world.project("app");
    let tasks = ["One", "Two"].map(|title| project.mxd(["task", "new", title, "--later"]).ok());
    for task in &tasks {
        project.mxd(["task", "close", task.trim()]).ok();
    }
    let session = |at: usize| project.folder.session(tasks[at].trim().parse().unwrap());
    assert_eq!(project.mxd(["gc"]).ok(), "nothing to free\n");
    project.mxd(["config", "set", "--local", "sessionKeep", "1"]).ok();
    let out = project.mxd(["gc"]).ok();
    assert!(out.contains("sessions of closed tasks beyond sessionKeep (1 file)"), "{out}");
    assert!(!session(0).exists() && session(1).exists());
    // The tree still knows both, and everything else works.
    assert_eq!(tree(&project).all().filter(|node| node.status == Status::Closed).count(), 2);
    project.mxd(["check"]).ok();
    project.mxd(["tree"]).ok();
    project.mxd(["task", "new", "Three", "--later"]).ok();
}

#[test]
fn a_project_that_somebody_works_on_is_left_alone() {
    let world = World::new();
    play(&world, json!([root(json!([bash("sleep 300"), say("Over.")]))]));
    let project = world.project("app");
    let mut running = project.start(&["Wait."]);
    running.until_it_works();
    for args in [&["gc"][..], &["gc", "--dry-run"]] {
        let out = project.mxd(args).ok();
        assert!(out.contains("skipped: app: process"), "{out}");
    }
    running.kill();
    let out = project.mxd(["gc"]).ok();
    assert!(out.contains("of an earlier run, such as"), "{out}");
}

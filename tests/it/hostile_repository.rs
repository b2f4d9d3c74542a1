//! A repository whose `.mxd/` is not what it seems: devices, pipes and links that lead out. Every command ends, says which
//! file it did not use, and goes on with the rest; nothing is written outside.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::cli_support::{Project, Ran, World};
use crate::engine_support::{play, root, say};

/// Runs a command that must come to its end by itself, with little memory.
fn mxd(project: &Project<'_>, command: &str) -> Ran {
    project.world.paste(&project.path, &format!("ulimit -v 4000000; timeout 60 mxd {command}"))
}

fn pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn hostile(path: &Path, kind: &str) {
    let _ = fs::remove_file(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match kind {
        "pipe" => pipe(path),
        target => symlink(target, path).unwrap(),
    }
}

#[test]
fn settings_of_a_repository_that_are_no_file_are_ignored_with_a_warning() {
    let world = World::new();
    play(&world, json!([root(json!([say("Done.")]))]));
    let project = world.project("app");
    let config = project.path.join(".mxd/config.json");
    for kind in ["pipe", "/dev/zero", "/dev/stdin"] {
        hostile(&config, kind);
        for command in ["config list", "tree", "cost", "agents", "asks"] {
            let ran = mxd(&project, command);
            assert_eq!(ran.code, 0, "{kind}, {command}: {ran:?}");
        }
        let ran = mxd(&project, "config list");
        assert!(ran.err.contains(".mxd/config.json"), "{kind}: {ran:?}");
        let ran = mxd(&project, "check");
        assert!(ran.code == 1 && ran.out.contains(".mxd/config.json"), "{kind}: {ran:?}");
        let ran = mxd(&project, "doctor --offline");
        assert!(ran.out.contains(".mxd/config.json"), "{kind}: {ran:?}");
        let ran = mxd(&project, "config set --repo maxDepth 2");
        assert!(ran.code == 3 && ran.err.contains(".mxd/config.json"), "{kind}: {ran:?}");
    }
    let ran = mxd(&project, "run 'Look around.'");
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn plans_and_guides_that_are_no_files_are_passed_over_and_named() {
    let world = World::new();
    play(&world, json!([root(json!([say("Done."), say("Done."), say("Done.")]))]));
    let project = world.project("app");
    let plan = project.path.join(".mxd/tasks/01M7HJYCBSDKD4QHZY6Z12P697.json");
    for kind in ["pipe", "/dev/zero"] {
        hostile(&plan, kind);
        hostile(&project.path.join(".mxd/memory.md"), kind);
        hostile(&project.path.join("AGENTS.md"), kind);
        let ran = mxd(&project, "run 'Look around.'");
        assert_eq!(ran.code, 0, "{kind}: {ran:?}");
        let said = format!("{}{}", ran.out, ran.err);
        assert!(said.contains("01M7HJYCBSDKD4QHZY6Z12P697.json"), "{kind}: {said}");
    }
    let log = project.mxd(["log", &project.id("orchestrator"), "--json"]).ok();
    assert!(log.contains("cannot read AGENTS.md") && log.contains("cannot read .mxd/memory.md"), "{log}");
}

#[test]
fn a_recurring_task_is_not_written_or_removed_through_a_link_that_leads_out() {
    let world = World::new();
    let project = world.project("app");
    let outside = world.folder("outside");
    let task = project.mxd(["task", "new", "Sweep", "--recurring", "reset", "--every", "6h"]).ok().trim().to_owned();
    let file = format!("{task}.json");
    fs::copy(project.path.join(".mxd/tasks").join(&file), outside.join(&file)).unwrap();
    fs::remove_dir_all(project.path.join(".mxd/tasks")).unwrap();
    symlink(&outside, project.path.join(".mxd/tasks")).unwrap();
    let before = fs::read(outside.join(&file)).unwrap();
    let ran = project.mxd(["task", "edit", &task, "--title", "Polish"]);
    let made = project.mxd(["task", "new", "Mop", "--recurring", "reset", "--every", "6h"]);
    let gone = project.mxd(["task", "delete", &task]);
    let all = format!("{ran:?} {made:?} {gone:?}");
    assert_eq!(fs::read(outside.join(&file)).unwrap(), before, "{all}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "{all}");
}

#[test]
fn init_and_config_set_write_nothing_through_a_link_that_leads_out() {
    let world = World::new();
    let outside = world.folder("outside");
    let repo = world.repository("app");
    symlink(&outside, repo.join(".mxd")).unwrap();
    world.mxd(&repo, ["init"]).refused(3, "leads out of the repository");
    assert!(world.mxd(&repo, ["projects"]).err.contains("no repository"), "it is not registered");
    fs::remove_file(repo.join(".mxd")).unwrap();
    fs::create_dir(repo.join(".mxd")).unwrap();
    symlink("../../outside", repo.join(".mxd/hooks")).unwrap();
    world.mxd(&repo, ["init"]).refused(3, ".mxd/hooks");
    symlink(outside.join("config.json"), repo.join(".mxd/config.json")).unwrap();
    let ran = world.mxd(&repo, ["config", "set", "--repo", "maxDepth", "2"]);
    assert!(ran.code == 3 && ran.err.contains("leads out of the repository"), "{ran:?}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "nothing was written there");
    // Inside, a link is as good as a folder.
    fs::remove_dir_all(repo.join(".mxd")).unwrap();
    fs::create_dir_all(repo.join("tools/matrix")).unwrap();
    symlink("tools/matrix", repo.join(".mxd")).unwrap();
    world.mxd(&repo, ["init"]).ok();
    assert!(repo.join("tools/matrix/memory.md").is_file());
}

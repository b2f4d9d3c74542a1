//! What is said about repositories, branches, the machine and the terminal, done as it is said.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::json;

use super::{named, obey};
use crate::cli_support::World;
use crate::engine_support::{agent, bash, done, play, root, say};

#[test]
fn a_repository_that_is_not_registered_is_registered_by_what_is_said() {
    let world = World::new();
    let repository = world.repository("app");
    let ran = world.mxd(&repository, ["projects"]);
    let said = obey(&world, &repository, &ran.err, &[]);
    assert!(said[0].contains("is registered as"), "{said:?}");
    let stranger = world.repository("stranger");
    let out = world.mxd(&stranger, ["check"]).ok();
    obey(&world, &stranger, &out, &[]);
    assert!(!world.mxd(&stranger, ["check"]).ok().contains("not registered"));
    // What is said of new worktrees: the example is written by the same command.
    assert!(fs::read_dir(stranger.join(".mxd/hooks")).unwrap().count() > 0);
}

#[test]
fn what_is_no_repository_becomes_one_by_what_is_said() {
    let world = World::new();
    let folder = world.folder("plain");
    let err = world.mxd(&folder, ["init"]).refused(3, "not inside a git repository");
    obey(&world, &folder, &err, &[]);
    assert!(folder.join(".git").is_dir());
    world.paste(&folder, "git init").ok();
}

#[test]
fn a_project_whose_folder_was_moved_is_found_again_by_what_is_said() {
    let world = World::new();
    let project = world.project("app");
    let moved = world.root().join("moved");
    fs::rename(&project.path, &moved).unwrap();
    let ran = world.mxd(&world.root(), ["doctor", "--all", "--offline"]);
    let line = ran.out.lines().find(|line| line.contains("if you moved it")).unwrap_or_else(|| panic!("{ran:?}"));
    obey(&world, &world.root(), line, &[("PATH", moved.to_str().unwrap())]);
    assert!(world.mxd(&world.root(), ["projects"]).ok().contains(moved.to_str().unwrap()));
}

#[test]
fn a_base_branch_that_is_gone_or_left_is_named_anew_by_what_is_said() {
    let world = World::new();
    let work = agent("Painter", json!([done("passed", "painted")]));
    play(&world, json!([root(json!([say("Here."), say("There.")])), work]));
    let project = world.project("app");
    let here = &project.path;
    let err = project.mxd(["init", "--base", "nosuch"]).refused(3, "there is no branch \"nosuch\"");
    assert!(obey(&world, here, &err, &[])[0].contains("main"), "{err}");

    world.git(here, ["branch", "-m", "main", "trunk"]);
    let ran = project.mxd(["doctor", "--offline"]);
    let line = ran.out.lines().find(|line| line.contains("--base")).unwrap_or_else(|| panic!("{ran:?}"));
    assert!(line.contains("--base trunk"), "{line}");
    project.new_task("Painter");
    let ran = project.run([]);
    assert_eq!(ran.code, 2, "{ran:?}");
    let asked = project.asks()[0].clone();
    obey(&world, here, asked["detail"].as_str().unwrap(), &[("BRANCH", "trunk")]);
    project.mxd(["answer", asked["id"].as_str().unwrap(), "1"]).ok();
    assert_eq!(project.run([]).code, 0);
    assert_eq!(project.status("Painter"), "passed");

    world.git(here, ["switch", "-q", "-c", "side"]);
    let ran = project.run(["Where are you?"]);
    assert!(ran.err.contains("You are on side"), "{ran:?}");
    obey(&world, here, &ran.err, &[("BRANCH", "side")]);
    project.run(["And now?"]).ok();

    world.git(here, ["branch", "-m", "side", "other"]);
    let ran = project.mxd(["doctor", "--offline"]);
    let line = ran.out.lines().find(|line| line.contains("--base")).unwrap_or_else(|| panic!("{ran:?}"));
    obey(&world, here, line, &[]);
    let ran = project.mxd(["doctor", "--offline"]);
    assert!(!ran.out.contains("no branch"), "{ran:?}");
}

#[test]
fn branches_that_are_in_the_way_are_moved_by_what_is_said() {
    let world = World::new();
    let turns = json!([bash("echo a > a && git add a && git commit -qm a"), done("passed", "1"), done("passed", "2")]);
    play(&world, json!([root(json!([])), agent("Painter", turns)]));
    let project = world.project("app");
    let here = &project.path;
    world.git(here, ["branch", "mxd"]);
    let task = project.new_task("Painter");
    assert_eq!(project.run([]).code, 2);
    let ask = project.asks()[0].clone();
    let detail = ask["detail"].as_str().unwrap();
    obey(&world, here, detail, &[("git branch -m", "git branch -m mxd out-of-the-way")]);
    project.mxd(["answer", ask["id"].as_str().unwrap(), "1"]).ok();
    assert_eq!(project.run([]).code, 0);
    project.mxd(["task", "close", &task]).ok();

    let branch = world.git(here, ["branch", "--list", "mxd/*", "--format=%(refname:short)"]);
    let elsewhere = world.root().join("elsewhere");
    world.git(here, ["worktree", "add", "-q", elsewhere.to_str().unwrap(), &branch]);
    project.mxd(["send", &task, "Once more."]).ok();
    assert_eq!(project.run([]).code, 2);
    let ask = project.asks()[0].clone();
    let detail = ask["detail"].as_str().unwrap();
    obey(&world, &elsewhere, detail, &[("git switch", "git switch -q --detach")]);
    project.mxd(["answer", ask["id"].as_str().unwrap(), "1"]).ok();
    assert_eq!(project.run([]).code, 0);
    // What is said where git itself fails.
    world.paste(here, "git fsck --no-progress").ok();
}

#[test]
#[cfg(target_os = "linux")]
fn a_branch_whose_name_is_no_text_is_renamed_by_what_is_said() {
    let world = World::new();
    let repository = world.repository("app");
    let odd = std::ffi::OsStr::from_bytes(b"caf\xe9");
    world.git(&repository, [std::ffi::OsStr::new("branch"), std::ffi::OsStr::new("-m"), odd]);
    let err = world.mxd(&repository, ["init"]).refused(3, "");
    obey(&world, &repository, &err, &[("<name>", "cafe")]);
    assert!(world.mxd(&repository, ["init"]).ok().contains("base branch cafe"));
}

#[test]
fn a_repository_that_keeps_its_files_elsewhere_is_taken_once_it_does_not_as_is_said() {
    let world = World::new();
    let repository = world.repository("app");
    let elsewhere = world.repository("elsewhere");
    world.git(&repository, ["config", "core.worktree", elsewhere.to_str().unwrap()]);
    let err = world.mxd(&repository, ["init"]).refused(3, "core.worktree");
    assert!(!elsewhere.join(".mxd").exists());
    obey(&world, &repository, &err, &[]);
    world.mxd(&repository, ["init"]).ok();
}

#[test]
fn what_needs_no_screen_runs_without_one_by_what_is_said() {
    let world = World::new();
    let repository = world.repository("app");
    let err = world.mxd(&repository, ["demo"]).refused(1, "not a terminal");
    assert_eq!(named(&err), ["mxd demo --plain"]);
    let played = world.paste(&repository, &format!("{} --fast", named(&err)[0]));
    assert_eq!(played.code, 0, "{played:?}");
    let err = world.mxd(&repository, Vec::<&str>::new()).refused(1, "not a terminal");
    assert_eq!(named(&err), ["mxd --plain"]);
    let plain = world.paste(&repository, &named(&err)[0]);
    assert!(plain.code == 0 && plain.out.contains("Matrix on app"), "{plain:?}");
    // `mxd` alone is what all other sentences name; without a terminal it leads to the line above.
}

#[test]
fn what_doctor_says_of_the_machine_runs_in_any_shell() {
    let world = World::new();
    let project = world.project("app");
    let here = &project.path;
    for line in ["export LC_ALL=C.UTF-8", "export TERM=screen-256color", "export OPENAI_API_KEY=KEY"] {
        let ran = world.paste(here, &format!("{line}; mxd doctor --json --offline"));
        assert!(ran.err.is_empty() && !ran.out.is_empty(), "{ran:?}");
    }
    let ran = world.paste(here, "export OPENAI_API_KEY=KEY; mxd doctor --json --offline");
    assert!(ran.out.contains("env-openai") && !ran.out.contains("no model provider"), "{ran:?}");
    world.paste(here, "mxd gc --all").ok();
    let closed = world.folder("closed");
    fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o500)).unwrap();
    world.paste(here, &format!("chmod u+rwx {}", closed.display())).ok();
    let ran = world.paste(here, &format!("MXD_HOME={} mxd doctor --json --offline", closed.display()));
    assert!(!ran.out.contains("cannot be written"), "{ran:?}");
}

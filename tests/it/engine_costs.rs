//! What work costs, as counts of started programs: the same on every machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli_support::{Project, Ran, World};
use crate::engine_support::{agent, bash, done, play, root};

/// Most programs that may be started until an agent can work.
const MOST_AT_LAUNCH: usize = 3;

/// Puts a `git` before the real one that notes its arguments. Returns its folder and the notes.
fn noted_git(world: &World) -> (PathBuf, PathBuf) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let real = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.is_file()).unwrap();
    let (folder, notes) = (world.root().join("noted"), world.root().join("notes"));
    fs::create_dir_all(&folder).unwrap();
    let script = format!("#!/bin/sh\necho \"$*\" >> '{}'\nexec '{}' \"$@\"\n", notes.display(), real.display());
    fs::write(folder.join("git"), script).unwrap();
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    (folder, notes)
}

/// Runs the project with that `git`, in front of all others.
fn run(project: &Project<'_>, folder: &Path) -> Ran {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([folder.to_owned()].into_iter().chain(std::env::split_paths(&path))).unwrap();
    let mut command = project.world.mxd_command(&project.path);
    Ran::of(&command.arg("run").env("PATH", path).output().unwrap())
}

/// Lets one agent play `turns` between two marks, and returns which programs ran before the first and between them.
fn programs(turns: Vec<Value>) -> (Vec<String>, Vec<String>) {
    let world = World::new();
    let (folder, notes) = noted_git(&world);
    let mark = |word: &str| bash(&format!("echo {word} >> '{}'", notes.display()));
    let commit = bash("git add -A && git commit -q --allow-empty -m work");
    let turns = [mark("BEGIN")].into_iter().chain(turns).chain([mark("END"), commit, done("passed", "done")]);
    play(&world, json!([root(json!([])), agent("Worker", Value::Array(turns.collect()))]));
    let project = world.project("app");
    for number in 0..50 {
        fs::write(project.path.join(format!("{number}.txt")), "text").unwrap();
    }
    world.git(&project.path, ["add", "."]);
    world.git(&project.path, ["commit", "-q", "-m", "files"]);
    project.new_task("Worker");
    let ran = run(&project, &folder);
    assert_eq!((ran.code, project.status("Worker").as_str()), (0, "passed"), "{ran:?}");
    let noted = fs::read_to_string(notes).unwrap();
    let (before, rest) = noted.split_once("BEGIN\n").unwrap();
    let between = rest.split_once("END\n").unwrap().0;
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<String>>();
    (lines(before), lines(between))
}

#[test]
fn a_launch_starts_few_programs() {
    let (at_launch, _) = programs(Vec::new());
    assert!((1..=MOST_AT_LAUNCH).contains(&at_launch.len()), "{at_launch:#?}");
}

/// Measuring a worktree's difference for the tree view runs beside the turns and is not part of them.
#[cfg(target_os = "linux")]
#[test]
fn turns_of_the_shell_start_no_git_that_looks_at_every_file() {
    let mut turns: Vec<Value> = (0..10).map(|number| bash(&format!("true {number}"))).collect();
    turns.extend((0..5).map(|number| bash(&format!("echo {number} >> {number}.txt"))));
    let (_, between) = programs(turns);
    let is_of_snapshot =
        |line: &&String| ["ls-files", "update-index", "write-tree", "add"].iter().any(|call| line.starts_with(call));
    let looked: Vec<_> = between.iter().filter(is_of_snapshot).collect();
    assert!(looked.is_empty(), "{looked:#?}");
}

//! `kill -9` at every step of a snapshot, a merge, its undoing, a merge with conflicts solved by hand, a rewind, its redoing
//! and a fork. Not at times: the program passes named points between its steps (`src/git/step.rs`), and is ended at the
//! first, then at the second, until one run gets through. After each, the next start finishes or undoes what was begun.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;

use super::painted;
use crate::cli_support::{Project, World};
use crate::engine_support::{agent, bash, done, play, root};
use crate::git_support::{Kind, files};

/// Everything there is to a project that must not be lost, or half there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    base: BTreeMap<PathBuf, Kind>,
    worktree: BTreeMap<PathBuf, Kind>,
    /// Branches by the trees they are at, and what is staged: commits of a merge have times in them.
    branches: String,
    changed: String,
    turns: usize,
    tasks: usize,
}

struct Bench<'w> {
    project: Project<'w>,
    title: &'static str,
    id: String,
}

impl<'w> Bench<'w> {
    fn new(project: Project<'w>, title: &'static str) -> Self {
        let id = project.id(title);
        Self { project, title, id }
    }

    fn state(&self) -> State {
        let Self { project, title, .. } = self;
        let (world, worktree) = (project.world, project.worktree(title));
        let git = |folder: &Path, args: &[&str]| world.git(folder, args.iter().copied());
        State {
            base: files(&project.path),
            worktree: files(&worktree),
            branches: git(
                &project.path,
                &["for-each-ref", "--format=%(refname) %(tree)", "refs/heads/main", "refs/heads/mxd"],
            ),
            changed: git(&project.path, &["status", "--porcelain"]) + "|" + &git(&worktree, &["status", "--porcelain"]),
            turns: super::turns(project, title).len(),
            tasks: project.tasks().len(),
        }
    }

    /// Runs a command that is ended at its `number`-th step. Tells at which, or that it got through.
    fn run(&self, args: &[&str], number: usize) -> Option<String> {
        let passed = self.project.world.root().join("steps");
        let _ = fs::remove_file(&passed);
        let mut command = self.project.world.mxd_command(&self.project.path);
        command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
        command.env("MXD_TEST_STEPS", &passed).env("MXD_TEST_STEP", number.to_string());
        command.env("EDITOR", self.project.world.root().join("editor.sh"));
        let status = command.status().unwrap();
        let steps = fs::read_to_string(&passed).unwrap_or_default();
        if status.signal() == Some(9) {
            assert_eq!(steps.lines().count(), number);
            return Some(steps.lines().last().unwrap().to_owned());
        }
        assert_eq!(status.code(), Some(0), "{args:?} after {steps}");
        None
    }

    fn start_anew(&self) {
        self.project.mxd(["stop"]).ok();
    }

    fn sound(&self, at: &str) {
        let Project { world, path, .. } = &self.project;
        world.git(path, ["fsck", "--strict", "--no-dangling"]);
        assert_eq!(world.git(path, ["for-each-ref", "refs/mxd/pending"]), "", "nothing is left half done: {at}");
        for folder in [path, &self.project.worktree(self.title)] {
            let git_dir = PathBuf::from(world.git(folder, ["rev-parse", "--absolute-git-dir"]));
            assert!(!git_dir.join("index.lock").exists(), "{at}");
        }
    }

    /// Keeps everything as it is now, so that every kill finds the same.
    fn keep(&self) {
        let pristine = self.project.world.folder("pristine");
        fs::remove_dir_all(&pristine).unwrap();
        fs::create_dir(&pristine).unwrap();
        self.copy(&self.project.world.root(), &pristine);
    }

    fn restore(&self) {
        let root = self.project.world.root();
        for name in ["app", "data"] {
            fs::remove_dir_all(root.join(name)).unwrap();
        }
        self.copy(&root.join("pristine"), &root);
    }

    fn copy(&self, from: &Path, to: &Path) {
        let mut command = self.project.world.command("cp", from);
        assert!(command.args(["-a", "app", "data"]).arg(to).status().unwrap().success());
    }

    /// Ends `forth` at each of its steps. After each, things are as before or as after, and where they are as after, `back`
    /// takes them back. Returns the steps; `forth` has been done by then.
    fn at_each_step(&self, forth: &[&str], back: &[&str]) -> Vec<String> {
        self.keep();
        let before = self.state();
        assert_eq!(self.run(forth, usize::MAX), None);
        self.start_anew();
        let after = self.state();
        assert_ne!(before, after, "{forth:?} does something");
        let mut steps = Vec::new();
        let (mut undone, mut finished) = (0, 0);
        loop {
            self.restore();
            let Some(step) = self.run(forth, steps.len() + 1) else { break };
            steps.push(step);
            let at = format!("{forth:?} after {steps:?}");
            self.start_anew();
            self.sound(&at);
            let now = self.state();
            if now == before {
                undone += 1;
            } else {
                assert_eq!(now, after, "{at}: neither as before nor as after; before {before:#?}");
                finished += 1;
                self.project.mxd(back).ok();
                assert_eq!(self.state(), before, "{back:?}, {at}");
            }
        }
        self.start_anew();
        assert_eq!(self.state(), after, "{forth:?} gets through in the end");
        let name = [forth[0], forth[2..].first().copied().unwrap_or_default()].join(" ");
        println!("{name}: killed at {} steps; {undone} times undone, {finished} times finished", steps.len());
        steps
    }
}

#[test]
fn a_merge_and_its_undoing_are_finished_or_undone_at_every_step() {
    let world = World::new();
    let bench = Bench::new(painted(&world), "Painter");
    let id = bench.id.as_str();
    let merged = bench.at_each_step(&["merge", id], &["merge", id, "--undo"]);
    assert!(merged.iter().any(|step| step == "a checkout is about to follow"), "{merged:?}");
    // It is merged now; the way back is killed in the same way.
    let undone = bench.at_each_step(&["merge", id, "--undo"], &["merge", id]);
    assert!(undone.iter().any(|step| step == "a note is about to go"), "{undone:?}");
}

#[test]
fn a_rewind_and_its_redoing_are_finished_or_never_happened_at_every_step() {
    let world = World::new();
    let bench = Bench::new(painted(&world), "Painter");
    let id = bench.id.as_str();
    let rewound = bench.at_each_step(&["rewind", id, "--to", "1"], &["rewind", id, "--redo"]);
    for step in ["a rewind is announced", "a file is written and not yet in its place", "a branch is about to go back"]
    {
        assert!(rewound.iter().any(|passed| passed == step), "{step} in {rewound:?}");
    }
    bench.at_each_step(&["rewind", id, "--redo"], &["rewind", id, "--to", "1"]);
}

#[test]
fn a_merge_solved_by_hand_is_finished_or_undone_at_every_step() {
    let world = World::new();
    let turns = json!([bash("echo task > a.txt && git add -A && git commit -q -m task"), done("passed", "written")]);
    play(&world, json!([root(json!([])), agent("Writer", turns)]));
    let project = world.project("app");
    project.new_task("Writer");
    assert_eq!(project.run([]).code, 0);
    fs::write(project.path.join("a.txt"), "base\n").unwrap();
    world.git(&project.path, ["add", "a.txt"]);
    world.git(&project.path, ["commit", "-q", "-m", "base"]);
    let editor = world.root().join("editor.sh");
    fs::write(&editor, "#!/bin/sh\necho both > \"$1\"\n").unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let bench = Bench::new(project, "Writer");
    let worktree = bench.project.worktree("Writer");
    bench.keep();
    let clean = bench.state().changed;
    let mut steps = 0;
    loop {
        bench.restore();
        let Some(step) = bench.run(&["merge", &bench.id, "--edit"], steps + 1) else { break };
        steps += 1;
        bench.start_anew();
        bench.sound(&step);
        let now = bench.state();
        assert_eq!(now.changed, clean, "{step}");
        let file = |folder: &Path| fs::read_to_string(folder.join("a.txt")).unwrap();
        // The branch takes the base in first; the base follows when that is done, and never without it.
        match (file(&worktree).as_str(), file(&bench.project.path).as_str()) {
            ("task\n" | "both\n", "base\n") | ("both\n", "both\n") => {}
            other => panic!("{step}: {other:?}"),
        }
        // Whatever was done of it, it can be done.
        assert_eq!(bench.run(&["merge", &bench.id, "--edit"], usize::MAX), None);
        assert_eq!(file(&bench.project.path), "both\n", "{step}");
    }
    assert!(steps > 10, "{steps}");
    assert_eq!(fs::read_to_string(bench.project.path.join("a.txt")).unwrap(), "both\n");
    println!("merge --edit: killed at {steps} steps");
}

#[test]
fn a_fork_is_there_as_a_whole_or_not_at_all_at_every_step() {
    let world = World::new();
    let bench = Bench::new(painted(&world), "Painter");
    let fork = ["fork", &bench.id, "--at", "1", "--title", "Copy", "--later"];
    bench.keep();
    let before = bench.state();
    assert_eq!(bench.run(&fork, usize::MAX), None);
    let whole = (files(&bench.project.worktree("Copy")), super::turns(&bench.project, "Copy").len());
    let mut steps = Vec::new();
    loop {
        bench.restore();
        let Some(step) = bench.run(&fork, steps.len() + 1) else { break };
        steps.push(step);
        bench.start_anew();
        bench.sound(&format!("{steps:?}"));
        // Nobody was told that it is there, and nothing of it is.
        assert_eq!(bench.state(), before, "{steps:?}");
    }
    bench.start_anew();
    assert_eq!((files(&bench.project.worktree("Copy")), super::turns(&bench.project, "Copy").len()), whole);
    for step in ["a conversation is copied", "the worktree of a fork is made", "a fork is whole"] {
        assert!(steps.iter().any(|passed| passed == step), "{step} in {steps:?}");
    }
    println!("fork: killed at {} steps, {} times undone", steps.len(), steps.len());
}

#[test]
fn a_run_killed_at_every_step_of_its_snapshots_loses_nothing() {
    let world = World::new();
    let turns = json!([
        bash("echo one > a.txt; printf '\\377' > \"$(printf 'n\\377')\""),
        bash("rm a.txt; echo two > b.txt && git add -A && git commit -q -m painted"),
        done("passed", "painted it"),
    ]);
    play(&world, json!([root(json!([])), agent("Painter", turns)]));
    let project = world.project("app");
    project.new_task("Painter");
    let bench = Bench::new(project, "Painter");
    bench.keep();
    let mut steps = Vec::new();
    loop {
        bench.restore();
        let Some(step) = bench.run(&["run"], steps.len() + 1) else { break };
        let ran = bench.project.run([]);
        assert!(matches!(ran.code, 0 | 2), "{step}: {ran:?}");
        let worktree = bench.project.worktree("Painter");
        bench.sound(&step);
        assert_eq!(world.git(&worktree, ["stash", "list"]), "", "{step}");
        // What the session says of the files is true, and leads back and forth.
        let listed = super::turns(&bench.project, "Painter");
        for state in listed.iter().filter_map(|turn| turn["state"].as_str()) {
            world.git(&bench.project.path, ["cat-file", "-e", &format!("{state}^{{tree}}")]);
        }
        let now = (files(&worktree), world.git(&worktree, ["rev-parse", "HEAD"]));
        bench.project.mxd(["rewind", &bench.id, "--start"]).ok();
        assert!(!worktree.join("a.txt").exists() && !worktree.join("b.txt").exists(), "{step}");
        bench.project.mxd(["rewind", &bench.id, "--redo"]).ok();
        assert_eq!((files(&worktree), world.git(&worktree, ["rev-parse", "HEAD"])), now, "{step}");
        steps.push(step);
    }
    assert!(steps.iter().filter(|step| *step == "a snapshot is written").count() > 2, "{steps:?}");
    println!("snapshots of a run: killed at {} steps", steps.len());
}

//! `kill -9` at the steps of a snapshot, a merge, its undoing, a merge with conflicts solved by hand, a rewind, its redoing
//! and a fork. Not at times: the program passes named points between its steps (`src/git/crash_points.rs`), and is ended at one of
//! them. After each, the next start finishes or undoes what was begun. `cargo test` ends it at every fourth point; the proof at
//! the end of this file, which needs a debug build, at each of them.

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
use crate::support::dice::spread;

/// `cargo test` kills the program at one in this many steps.
const SOME: usize = 10;

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
            changed: self.changed(),
            turns: super::turns(project, title).len(),
            tasks: project.tasks().len(),
        }
    }

    /// Returns what is changed or staged in the base and in the worktree.
    fn changed(&self) -> String {
        let Project { world, path, .. } = &self.project;
        [path, &self.project.worktree(self.title)].map(|folder| world.git(folder, ["status", "--porcelain"])).join("|")
    }

    /// Runs a command to its end. Returns the steps that it passed.
    fn run_through(&self, args: &[&str]) -> Vec<String> {
        assert_eq!(self.run(args, usize::MAX), None);
        fs::read_to_string(self.passed()).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Restores what was kept and runs a command that is ended at its `number`-th step, of which it has as many. Returns its
    /// name.
    fn run_again(&self, args: &[&str], number: usize) -> String {
        self.restore();
        self.run(args, number).unwrap_or_else(|| panic!("{args:?} did not come to step {number}"))
    }

    /// Names the file with the steps that the last command passed.
    fn passed(&self) -> PathBuf {
        self.project.world.root().join("steps")
    }

    /// Runs a command that is ended at its `number`-th step. Tells at which, or that it got through.
    fn run(&self, args: &[&str], number: usize) -> Option<String> {
        let passed = self.passed();
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
            assert!(!git_dir(folder).join("index.lock").exists(), "{at}");
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

    /// Ends `forth` at one of `of` of its steps. After each, things are as before or as after, and where they are as after,
    /// `back` takes them back. Returns all steps; `forth` has been done by then.
    fn at_steps(&self, of: usize, forth: &[&str], back: &[&str]) -> Vec<String> {
        self.keep();
        let before = self.state();
        let steps = self.run_through(forth);
        self.start_anew();
        let after = self.state();
        assert_ne!(before, after, "{forth:?} does something");
        let (mut undone, mut finished) = (0, 0);
        for number in spread(steps.len(), of) {
            self.run_again(forth, number);
            let at = format!("{forth:?} after {:?}", &steps[..number]);
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
        self.restore();
        assert_eq!(self.run_through(forth), steps);
        self.start_anew();
        assert_eq!(self.state(), after, "{forth:?} gets through in the end");
        let name = [forth[0], forth[2..].first().copied().unwrap_or_default()].join(" ");
        let kills = undone + finished;
        println!(
            "{name}: killed at {kills} of {} steps; {undone} times undone, {finished} times finished",
            steps.len()
        );
        steps
    }
}

/// Returns the git folder of a worktree.
fn git_dir(worktree: &Path) -> PathBuf {
    let git = worktree.join(".git");
    let link = fs::read_to_string(&git).ok();
    link.map_or(git, |link| PathBuf::from(link.strip_prefix("gitdir: ").unwrap().trim_end()))
}

#[test]
fn a_merge_and_its_undoing_are_finished_or_undone_wherever_they_are_killed() {
    merge_and_undo(SOME);
}

fn merge_and_undo(of: usize) {
    let world = World::new();
    let bench = Bench::new(painted(&world), "Painter");
    let id = bench.id.as_str();
    let merged = bench.at_steps(of, &["merge", id], &["merge", id, "--undo"]);
    assert!(merged.iter().any(|step| step == "a checkout is about to follow"), "{merged:?}");
    // It is merged now; the way back is killed in the same way.
    let undone = bench.at_steps(of, &["merge", id, "--undo"], &["merge", id]);
    assert!(undone.iter().any(|step| step == "a note is about to go"), "{undone:?}");
}

#[test]
fn a_rewind_and_its_redoing_are_finished_or_never_happened_wherever_they_are_killed() {
    rewind_and_redo(SOME);
}

fn rewind_and_redo(of: usize) {
    let world = World::new();
    let bench = Bench::new(painted(&world), "Painter");
    let id = bench.id.as_str();
    let rewound = bench.at_steps(of, &["rewind", id, "--to", "1"], &["rewind", id, "--redo"]);
    for step in ["a rewind is announced", "a file is written and not yet in its place", "a branch is about to go back"]
    {
        assert!(rewound.iter().any(|passed| passed == step), "{step} in {rewound:?}");
    }
    bench.at_steps(of, &["rewind", id, "--redo"], &["rewind", id, "--to", "1"]);
}

#[test]
fn a_merge_solved_by_hand_is_finished_or_undone_wherever_it_is_killed() {
    merge_by_hand(SOME);
}

fn merge_by_hand(of: usize) {
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
    let clean = bench.changed();
    let merge = ["merge", bench.id.as_str(), "--edit"];
    let steps = bench.run_through(&merge).len();
    assert_eq!(fs::read_to_string(bench.project.path.join("a.txt")).unwrap(), "both\n");
    assert!(steps > 10, "{steps}");
    let numbers = spread(steps, of);
    for number in &numbers {
        let step = bench.run_again(&merge, *number);
        bench.start_anew();
        bench.sound(&step);
        assert_eq!(bench.changed(), clean, "{step}");
        let file = |folder: &Path| fs::read_to_string(folder.join("a.txt")).unwrap();
        // The branch takes the base in first; the base follows when that is done, and never without it.
        match (file(&worktree).as_str(), file(&bench.project.path).as_str()) {
            ("task\n" | "both\n", "base\n") | ("both\n", "both\n") => {}
            other => panic!("{step}: {other:?}"),
        }
        // Whatever was done of it, it can be done.
        bench.run_through(&merge);
        assert_eq!(file(&bench.project.path), "both\n", "{step}");
    }
    println!("merge --edit: killed at {} of {steps} steps", numbers.len());
}

#[test]
fn a_fork_is_there_as_a_whole_or_not_at_all_wherever_it_is_killed() {
    fork(SOME);
}

fn fork(of: usize) {
    let world = World::new();
    let bench = Bench::new(painted(&world), "Painter");
    let fork = ["fork", &bench.id, "--at", "1", "--title", "Copy", "--later"];
    bench.keep();
    let before = bench.state();
    let steps = bench.run_through(&fork);
    let whole = (files(&bench.project.worktree("Copy")), super::turns(&bench.project, "Copy").len());
    let numbers = spread(steps.len(), of);
    for number in &numbers {
        let step = bench.run_again(&fork, *number);
        bench.start_anew();
        bench.sound(&step);
        // Nobody was told that it is there, and nothing of it is.
        assert_eq!(bench.state(), before, "{step}");
    }
    bench.restore();
    bench.run_through(&fork);
    bench.start_anew();
    assert_eq!((files(&bench.project.worktree("Copy")), super::turns(&bench.project, "Copy").len()), whole);
    for step in ["a conversation is copied", "the worktree of a fork is made", "a fork is whole"] {
        assert!(steps.iter().any(|passed| passed == step), "{step} in {steps:?}");
    }
    println!("fork: killed at {} of {} steps, each time undone", numbers.len(), steps.len());
}

#[test]
fn a_run_killed_anywhere_in_its_snapshots_loses_nothing() {
    snapshots(SOME);
}

fn snapshots(of: usize) {
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
    let steps = bench.run_through(&["run"]);
    let mut kills = 0;
    for number in spread(steps.len(), of) {
        bench.restore();
        // How many steps a run has depends on when its snapshots are taken: it may be over before the last of them.
        let Some(step) = bench.run(&["run"], number) else { continue };
        kills += 1;
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
    }
    assert!(steps.iter().filter(|step| *step == "a snapshot is written").count() > 2, "{steps:?}");
    assert!(kills * of > steps.len() / 2, "killed only {kills} times");
    println!("snapshots of a run: killed at {kills} of {} steps", steps.len());
}

/// In a release build the program has no steps to be ended at.
#[test]
#[cfg(debug_assertions)]
#[ignore = "minutes; `cargo proof-steps`"]
fn proof_steps_all_of_them_are_finished_or_undone() {
    merge_and_undo(1);
    rewind_and_redo(1);
    merge_by_hand(1);
    fork(1);
    snapshots(1);
}

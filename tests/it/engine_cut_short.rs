//! What is cut short by a kill or by a disk without room. Deletes and imports that are killed at each of their calls to the disk: the next start finishes or undoes them, no session
//! is left that belongs to nobody, and a repair invents nothing.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::json;

use crate::cli_support::{Project, World};
use crate::engine_support::{agent, done, play, root, say};
use crate::support::meddler::{Call, Meddle, calls};

struct Bench<'w> {
    project: Project<'w>,
    args: Vec<String>,
    trace: PathBuf,
}

impl<'w> Bench<'w> {
    fn new(project: Project<'w>, args: &[&str]) -> Self {
        let trace = project.world.root().join("trace");
        Self { project, args: args.iter().map(|arg| (*arg).to_owned()).collect(), trace }
    }

    fn copy(&self, from: &str, to: &str) {
        let root = self.project.world.root();
        let _ = fs::remove_dir_all(root.join(to));
        let mut command = self.project.world.command("cp", &root);
        assert!(command.args(["-a", from, to]).status().unwrap().success());
    }

    /// Runs the command with a disk that is meddled with. Tells whether it was killed.
    fn run(&self, meddle: &Meddle) -> bool {
        let _ = fs::remove_file(&self.trace);
        let mut command = self.project.world.mxd_command(&self.project.path);
        command.args(&self.args).stdout(Stdio::null()).stderr(Stdio::null());
        meddle.with(&mut command, &self.trace).status().unwrap().signal() == Some(9)
    }

    /// Kills the command at each of its calls that change a session or the tree, before and in the middle. After the next start
    /// there are `before` or `after` tasks, and everything is in order. Returns how often it was killed.
    fn at_each_call(&self, before: usize, after: usize) -> usize {
        self.copy("data", "pristine");
        assert!(!self.run(&Meddle::Watch));
        let is_ours = |call: &Call| call.path.contains("/sessions") || call.path.contains("tree.json");
        let deadly: Vec<Call> = calls(&self.trace).into_iter().filter(is_ours).collect();
        assert!(deadly.len() > 3, "{deadly:?}");
        let mut killed = 0;
        for Call { number: call, name, .. } in deadly {
            // Only a write has a middle.
            for torn in [false, true].into_iter().take(if name == "write" { 2 } else { 1 }) {
                self.copy("pristine", "data");
                killed += usize::from(self.run(&Meddle::Die { call, torn }));
                let at = format!("{:?} {torn} {:?}", self.args, calls(&self.trace).last());
                self.project.mxd(["stop"]).ok();
                let tasks = self.project.tasks().len();
                assert!(tasks == before || tasks == after, "{tasks} tasks: {at}");
                // A torn end is healed by the next event; there is nothing else to mend.
                let ran = self.project.mxd(["check", "--repair"]);
                let others =
                    ran.out.lines().filter(|line| line.contains("[repaired]") && !line.contains("interrupted write"));
                assert_eq!(others.collect::<Vec<_>>(), [] as [&str; 0], "{at}: {ran:?}");
                assert_eq!(self.project.tasks().len(), tasks, "{at}: {ran:?}");
                assert_eq!(self.project.mxd(["check"]).code, 0, "{at}");
                let sessions = fs::read_dir(self.project.folder.sessions()).into_iter().flatten().flatten();
                assert!(sessions.map(|file| file.metadata().unwrap().len()).all(|len| len > 0), "an empty one: {at}");
            }
        }
        killed
    }
}

#[test]
fn a_killed_delete_is_finished_or_never_happened() {
    let world = World::new();
    let project = world.project("app");
    let task = project.mxd(["task", "new", "Never started", "--later"]).ok().trim().to_owned();
    let bench = Bench::new(project, &["task", "delete", &task]);
    assert!(bench.at_each_call(2, 1) > 5);
}

#[test]
fn a_killed_import_leaves_no_session_and_can_be_done_again() {
    let world = World::new();
    let project = world.project("app");
    project.mxd(["stop"]).ok();
    let folder = world.folder("foreign");
    let cwd = project.path.display();
    for (id, said) in [("5d0a2f5e", "Add division"), ("6d0a2f5e", "Add modulo")] {
        let line = format!(
            r#"{{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"{cwd}","sessionId":"{id}","version":"2.1.12","type":"user","message":{{"role":"user","content":"{said}"}},"uuid":"a","timestamp":"2026-05-26T07:27:40.079Z"}}"#
        );
        fs::write(folder.join(format!("{id}.jsonl")), line + "\n").unwrap();
    }
    let bench = Bench::new(project, &["import", folder.to_str().unwrap(), "--from", "claude"]);
    assert!(bench.at_each_call(1, 4) > 5);
    assert_eq!(bench.project.mxd(["import", folder.to_str().unwrap(), "--from", "claude"]).code, 0);
    assert_eq!(bench.project.tasks().len(), 4);
}

#[test]
fn an_empty_session_of_no_task_is_removed_and_no_task_is_made_of_it() {
    let world = World::new();
    let project = world.project("app");
    project.mxd(["stop"]).ok();
    let empty = project.folder.sessions().join("01M7HYB3000000000000000000.jsonl");
    fs::create_dir_all(project.folder.sessions()).unwrap();
    fs::write(&empty, "").unwrap();
    let ran = project.mxd(["check"]);
    assert!(ran.code == 1 && ran.out.contains("belongs to no task [repairable]"), "{ran:?}");
    assert_eq!(project.mxd(["check", "--repair"]).code, 0);
    assert!(!empty.exists());
    fs::write(&empty, "").unwrap();
    project.mxd(["stop"]).ok();
    assert!(!empty.exists() && project.tasks().len() == 1);
}

/// Runs a line of shell in a namespace of its own, with a file system of few inodes for the sessions. `None` where the
/// machine does not allow that.
fn with_few_inodes(world: &World, project: &Project<'_>, line: &str) -> Option<String> {
    let probe = world.command("unshare", &world.root()).args(["-rm", "true"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let script = format!("mount -t tmpfs -o nr_inodes=3 inodes {} && {line}", project.folder.sessions().display());
    let mut command = world.command("unshare", &project.path);
    command.env("MXD", env!("CARGO_BIN_EXE_mxd"));
    let output = command.args(["-rm", "sh", "-c", &script]).output().unwrap();
    Some(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}

#[test]
fn tasks_that_were_made_while_inodes_had_run_out_begin_when_there_are_some_again() {
    let world = World::new();
    let make = |title: &str| json!({ "tool": "create_task", "input": { "title": title, "description": "Paint." } });
    let made: Vec<_> = ["T1", "T2", "T3"].into_iter().map(make).collect();
    let painters = ["T1", "T2", "T3"].map(|title| agent(title, json!([done("passed", "painted")])));
    let turns = json!([{ "calls": made }, say("Made."), say("One."), say("Two."), say("Three.")]);
    play(&world, json!([root(turns), painters[0], painters[1], painters[2]]));
    let project = world.project("app");
    project.mxd(["stop"]).ok();
    fs::create_dir_all(project.folder.sessions()).unwrap();
    // Room for the sessions of the root and of one task; more comes when the second was refused.
    let sessions = project.folder.sessions();
    let grow = format!("mount -o remount,nr_inodes=100 {}", sessions.display());
    let line = format!(
        "$MXD run Go > out 2>&1 & run=$!; until grep -q 'retrying in' out || ! kill -0 $run; do sleep 0.05; done; {grow}; \
         wait $run; echo code $?; cat out; $MXD tree --json"
    );
    let Some(said) = with_few_inodes(&world, &project, &line) else { return };
    assert!(said.contains("code 0"), "{said}");
    assert_eq!(said.matches("\"description\":\"Paint.\",\"status\":\"passed\"").count(), 3, "{said}");
}

//! Commands of the shell that wait, follow and watch, and the restart of a server.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Instant;

use serde_json::{Value, json};

use super::{Servers, messages, patient_root, place, serving};
use crate::cli_support::{Project, World, json_lines};
use crate::engine_support::{PATIENCE, bash, call, play, root, say};

/// A command that prints lines until it is killed.
struct Following {
    child: Child,
    lines: Receiver<String>,
}

impl Following {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = mpsc::channel();
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        Self { child, lines }
    }

    fn of(project: &Project<'_>, args: &[&str]) -> Self {
        let mut command = project.world.mxd_command(&project.path);
        command.args(args);
        Self::start(command)
    }

    #[track_caller]
    fn until(&self, words: &str) {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            if line.contains(words) {
                return;
            }
            seen.push(line);
        }
        panic!("waited in vain for {words:?} in {seen:#?}");
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Stops the server in the background, if there is one.
struct Stopped<'p>(&'p Project<'p>);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.mxd(["serve", "stop"]);
    }
}

#[test]
fn a_message_that_waits_starts_an_engine_and_prints_the_reply() {
    let world = World::new();
    play(&world, json!([root(json!([say("Two and two is four."), bash("true"), say("Six.")]))]));
    let project = world.project("app");
    let _stopped = Stopped(&project);
    assert_eq!(project.mxd(["send", "--wait", "root", "How much is two and two?"]).ok(), "Two and two is four.\n");
    // The engine stays for a while, and the next message uses it.
    let server = serving(&project);
    let reply = project.mxd(["send", "root", "And", "four and two?", "--wait", "--json", "--mode", "next"]).ok();
    let reply: Value = serde_json::from_str(&reply).unwrap();
    assert_eq!((&reply["text"], &reply["stop"]), (&json!("Six."), &json!("end_turn")), "tool calls are waited for");
    assert_eq!(serving(&project), server);
    assert_eq!(messages(&project).len(), 2);
}

#[test]
fn a_message_that_waits_ends_with_the_question_or_the_time() {
    let world = World::new();
    let question = call("clarify", json!({"question": "Which colour?", "choices": ["red", "blue"], "block": true}));
    play(&world, json!([root(json!([question, bash("sleep 100"), say("Blue it is.")]))]));
    let project = world.project("app");
    let _stopped = Stopped(&project);
    let asked = project.mxd(["send", "--wait", "root", "Paint it."]);
    assert_eq!((asked.code, asked.out.as_str()), (2, "Which colour?\n  1. red\n  2. blue\n"), "{asked:?}");
    project.mxd(["answer", "root", "2"]).ok();
    let late = project.mxd(["send", "--wait", "--timeout", "1", "root", "Hurry."]);
    assert_eq!((late.code, late.out.as_str()), (1, ""), "{late:?}");
    assert!(late.err.contains("no reply within 1 s"), "{late:?}");
    assert_eq!(messages(&project).get("Hurry."), Some(&1));
    assert_eq!(project.mxd(["send", "root", "x", "--timeout", "1"]).code, 3, "it needs --wait");
}

#[test]
fn a_log_that_is_followed_shows_new_events_whoever_writes_them() {
    let world = World::new();
    play(&world, json!([root(json!([say("First."), say("Second."), say("Third.")]))]));
    let project = world.project("app");
    project.run(["Begin."]).ok();
    let followed = Following::of(&project, &["log", "root", "--follow"]);
    followed.until("First.");
    // An engine of another process writes.
    project.run(["Go on."]).ok();
    followed.until("Second.");
    let as_json = Following::of(&project, &["log", "root", "--follow", "--json", "-n", "1"]);
    project.run(["Go on."]).ok();
    as_json.until("Third.");
    followed.until("Third.");
}

#[test]
fn a_tree_that_is_watched_is_printed_again_when_it_changes() {
    let world = World::new();
    play(&world, patient_root());
    let project = world.project("app");
    project.run(["Begin."]).ok();
    let text = Following::of(&project, &["tree", "--watch"]);
    text.until("orchestrator");
    let as_json = Following::of(&project, &["tree", "--watch", "--json"]);
    as_json.until("orchestrator");
    project.mxd(["task", "new", "Write the docs"]).ok();
    text.until("Write the docs");
    as_json.until("Write the docs");
    let id = project.id("Write the docs");
    project.mxd(["task", "delete", &id]).ok();
    as_json.until(&format!("{{\"removed\":\"{id}\"}}"));
}

#[test]
fn a_restart_keeps_the_arguments_and_loses_nothing() {
    let world = World::new();
    let gate = "echo started >> ../started; until [ -e ../gate ]; do sleep 0.02; done; echo over";
    play(&world, json!([root(json!([bash(gate), say("The gate was open.")]))]));
    let project = world.project("app");
    let _stopped = Stopped(&project);
    let mut command = project.world.mxd_command(&project.path);
    let mut first = command.args(["serve", "--stay", "--http", "0"]).stdout(Stdio::null()).spawn().unwrap();
    let former = serving(&project);
    project.mxd(["send", "root", "Wait for the gate."]).ok();
    let deadline = Instant::now() + PATIENCE;
    while !world.root().join("started").exists() {
        assert!(Instant::now() < deadline, "the command was not started");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let restarting = Following::of(&project, &["serve", "restart"]);
    // The turn in progress is waited for.
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(serving(&project), former);
    std::fs::write(world.root().join("gate"), "").unwrap();
    restarting.until("serving process");
    assert_eq!(first.wait().unwrap().code(), Some(0));
    let deadline = Instant::now() + PATIENCE;
    let info = loop {
        let info = place(&project).info().unwrap();
        if info.pid != former && info.arguments.is_some() {
            break info;
        }
        assert!(Instant::now() < deadline, "{info:?}");
    };
    assert_eq!(info.arguments, Some(vec!["--stay".to_owned(), "--http".to_owned(), "0".to_owned()]));
    assert!(info.http.is_some());
    project.run([]).ok();
    assert!(project.log("orchestrator").contains("The gate was open."));
    assert_eq!(std::fs::read_to_string(world.root().join("started")).unwrap(), "started\n", "it ran once");
}

#[test]
fn a_restart_can_interrupt_and_needs_a_server() {
    let world = World::new();
    play(&world, json!([root(json!([bash("sleep 100"), say("Slept.")]))]));
    let project = world.project("app");
    let _stopped = Stopped(&project);
    project.mxd(["serve", "restart"]).refused(3, "no process serves this project");
    let servers = Servers::default();
    servers.starter(&project)().unwrap();
    let former = serving(&project);
    project.mxd(["send", "root", "Sleep."]).ok();
    let deadline = Instant::now() + PATIENCE;
    while !project.log("orchestrator").contains("sleep 100") {
        assert!(Instant::now() < deadline, "the command was not started");
    }
    let out = project.mxd(["serve", "restart", "--now"]).ok();
    assert!(out.starts_with("serving process "), "{out}");
    assert_ne!(serving(&project), former);
}

#[test]
fn the_status_lists_who_is_attached() {
    let world = World::new();
    play(&world, patient_root());
    let project = world.project("app");
    let servers = Servers::default();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let screen = runtime.block_on(super::join(&project, &servers));
    let status = project.mxd(["serve", "status"]).ok();
    assert!(status.contains("attached test, screen, since "), "{status}");
    let as_json: Value = serde_json::from_str(&project.mxd(["serve", "status", "--json"]).ok()).unwrap();
    assert_eq!(as_json["clients"][0]["name"], "test");
    runtime.block_on(screen.quit());
    let deadline = Instant::now() + PATIENCE;
    while project.mxd(["serve", "status"]).ok().contains("attached") {
        assert!(Instant::now() < deadline, "it is still listed");
    }
    servers.kill_all();
}

#[test]
fn projects_show_what_waits_for_the_user() {
    let world = World::new();
    let question = call("clarify", json!({"question": "Which colour?", "choices": ["red", "blue"], "block": true}));
    play(&world, json!([root(json!([question]))]));
    let project = world.project("app");
    project.run(["Paint it."]);
    let rows = json_lines(&project.mxd(["projects", "--json"]).ok());
    assert_eq!((&rows[0]["open"], &rows[0]["waiting"]), (&json!(false), &json!(1)));
    assert!(project.mxd(["projects"]).ok().contains("1 question"));
}

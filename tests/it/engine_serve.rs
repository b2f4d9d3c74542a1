//! Several processes on one engine: commands that join it, clients and engines that are killed, bridges that are cut.

mod commands;
#[cfg(target_os = "linux")]
mod hosts;
mod users;

use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mxd::base::ProjectId;
use mxd::config::paths::ProjectFolder;
use mxd::engine::Handle;
use mxd::engine::command::{Command, Outcome, Outgoing, StopScope};
use mxd::engine::update::Update;
use mxd::model::message::Delivery;
use mxd::process::environment::{GUARDED_MARKER, TASK_MARKER};
use mxd::serve::connector::{ProgramConnector, Starter};
use mxd::serve::protocol::ClientKind;
use mxd::serve::{Remote, ServerPlace, SocketConnector};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::cli_support::{Project, World};
use crate::engine_support::{PATIENCE, Running, bash, play, root, say};
use crate::support::dice::{Dice, fresh_seed, number};

/// A root that has an answer to everything.
fn patient_root() -> Value {
    json!([{ "name": "root", "when": { "first": "none: you are the root" }, "otherwise": { "text": "Noted." } }])
}

/// Servers in the background. Dropped, they are killed.
#[derive(Clone, Default)]
pub struct Servers(Arc<Mutex<Vec<Child>>>);

impl Servers {
    fn starter(&self, project: &Project<'_>) -> Starter {
        let mut command = project.world.mxd_command(&project.path);
        command.args(["serve", "--stay"]);
        self.starter_of(command)
    }

    /// Returns what starts a server with this command.
    pub fn starter_of(&self, mut command: std::process::Command) -> Starter {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let servers = self.clone();
        Box::new(move || {
            servers.0.lock().unwrap().push(command.spawn().unwrap());
            Ok(())
        })
    }

    pub fn kill_all(&self) {
        for mut server in self.0.lock().unwrap().drain(..) {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // The last owner kills: starters have clones.
        if Arc::strong_count(&self.0) == 1 {
            self.kill_all();
        }
    }
}

fn place(project: &Project<'_>) -> ServerPlace {
    let id: ProjectId = project.folder.root().file_name().unwrap().to_str().unwrap().parse().unwrap();
    ServerPlace::new(&project.folder, id)
}

/// Waits until a process serves the project, and returns its number.
fn serving(project: &Project<'_>) -> u32 {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(info) = place(project).info() {
            return info.pid;
        }
        assert!(Instant::now() < deadline, "nobody serves the project");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(pid: u32) {
    // It may be dead already.
    let _ = kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL);
}

async fn join(project: &Project<'_>, servers: &Servers) -> Handle {
    let connector = SocketConnector::new(place(project), project.folder.lock()).or_start(servers.starter(project));
    Handle::new(Remote::connect(connector, ClientKind::Screen, "test".to_owned()).await.unwrap())
}

async fn send(handle: &Handle, text: String) -> Outcome {
    let (snapshot, _) = handle.subscribe().await.unwrap();
    let message = Outgoing { text, ..Outgoing::default() };
    handle.command(Command::Send { task: snapshot.root, message, mode: Delivery::Next }).await.unwrap()
}

async fn until_quiet(handle: &Handle) {
    let quiet = async {
        loop {
            let (snapshot, mut watcher) = handle.subscribe().await.unwrap();
            if snapshot.quiet {
                return;
            }
            while !matches!(watcher.next().await, Update::Quiet | Update::Resync) {}
        }
    };
    tokio::time::timeout(PATIENCE, quiet).await.expect("the project comes to rest");
}

/// Returns how often each message of the user is in the session of the root.
fn messages(project: &Project<'_>) -> std::collections::BTreeMap<String, usize> {
    let session = project.folder.session(project.id("orchestrator").parse().unwrap());
    let text = std::fs::read_to_string(session).unwrap_or_default();
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut found = std::collections::BTreeMap::new();
    for event in events.filter(|event| event["type"] == "message" && event["body"]["from"]["source"] == "user") {
        *found.entry(event["body"]["body"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    found
}

#[test]
fn a_server_is_shown_joined_and_stopped() {
    let world = World::new();
    play(&world, patient_root());
    let project = world.project("app");
    assert_eq!(project.mxd(["serve", "status"]).code, 1);
    let mut command = world.mxd_command(&project.path);
    let mut server = command.args(["serve", "--stay"]).stdout(Stdio::null()).spawn().unwrap();
    assert_eq!(serving(&project), server.id());
    let status = project.mxd(["serve", "status"]).ok();
    assert!(status.starts_with(&format!("process {}, mxd ", server.id())), "{status}");
    let as_json: Value = serde_json::from_str(&project.mxd(["serve", "status", "--json"]).ok()).unwrap();
    assert_eq!((&as_json["pid"], &as_json["answers"]), (&json!(server.id()), &json!(true)));
    project.mxd(["serve"]).refused(3, "another process serves this project already");
    let root = project.id("orchestrator");
    assert_eq!(project.mxd(["send", &root, "Hello."]).ok(), "sent\n");
    assert_eq!(messages(&project).get("Hello."), Some(&1));
    assert!(project.mxd(["serve", "stop"]).ok().starts_with("stopped"));
    assert_eq!(server.wait().unwrap().code(), Some(0));
    assert!(place(&project).info().is_none());
    assert!(project.mxd(["serve", "stop"]).ok().starts_with("no process serves"));
    for unit in [project.mxd(["serve", "unit"]).ok(), project.mxd(["serve", "unit", "--launchd"]).ok()] {
        assert!(unit.contains("serve") && unit.contains(project.path.to_str().unwrap()), "{unit}");
    }
}

#[test]
fn a_project_that_is_attached_to_by_name_must_exist() {
    let world = World::new();
    let project = world.project("app");
    project.mxd(["attach", "nowhere"]).refused(3, "there is no project \"nowhere\"");
    project.mxd(["projects"]).ok();
    project.mxd(["attach", "ssh://-oProxyCommand=x/app"]).refused(3, "names no host");
}

/// Where the project is on which [`a_client_in_an_agents_process`] works.
const PROJECT: &str = "TEST_PROJECT_FOLDER";

#[test]
fn an_agents_process_that_connects_to_the_socket_may_only_read() {
    let world = World::new();
    play(&world, patient_root());
    let project = world.project("app");
    let servers = Servers::default();
    servers.starter(&project)().unwrap();
    serving(&project);
    // This program again, marked as the shell of an agent is.
    let mut client = std::process::Command::new(std::env::current_exe().unwrap());
    client.args(["--exact", "engine_serve::a_client_in_an_agents_process", "--ignored", "--nocapture"]);
    client.env(TASK_MARKER, project.id("orchestrator")).env(GUARDED_MARKER, world.data());
    let ran = client.env(PROJECT, project.folder.root()).output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && out.contains("1 passed"), "{out}");
    assert_eq!(messages(&project).len(), 0);
    servers.kill_all();
}

#[tokio::test]
#[ignore = "a part of the test above, in its own process"]
async fn a_client_in_an_agents_process() {
    let folder = ProjectFolder::at(Path::new(&std::env::var(PROJECT).unwrap()));
    let id: ProjectId = folder.root().file_name().unwrap().to_str().unwrap().parse().unwrap();
    let connector = SocketConnector::new(ServerPlace::new(&folder, id), folder.lock());
    let handle = Handle::new(Remote::connect(connector, ClientKind::Command, "agent".to_owned()).await.unwrap());
    let (snapshot, _) = handle.subscribe().await.unwrap();
    let message = Outgoing { text: "Approved.".to_owned(), ..Outgoing::default() };
    let send = Command::Send { task: snapshot.root, message, mode: Delivery::Steer };
    for command in [send, Command::Stop { scope: StopScope::All }] {
        let fault = handle.command(command).await.unwrap_err();
        assert!(fault.message.contains("an agent's process may not do that"), "{fault}");
    }
}

fn clients_are_killed(kills: u64, seed: u64) {
    let world = World::new();
    let gate = "echo started >> ../started; until [ -e ../gate ]; do sleep 0.02; done; echo over";
    play(&world, json!([root(json!([bash(gate), say("The gate was open.")]))]));
    let project = world.project("app");
    let mut command = world.mxd_command(&project.path);
    let mut server = command.args(["serve", "--stay"]).stdout(Stdio::null()).spawn().unwrap();
    serving(&project);
    let mut first = project.start(&["Wait for the gate."]);
    first.until_it_works();
    let mut dice = Dice::new(seed);
    for _ in 0..kills {
        let mut client = project.start(&[]);
        std::thread::sleep(Duration::from_millis(dice.below(60)));
        client.kill();
    }
    first.kill();
    let last = project.start(&[]);
    std::fs::write(world.root().join("gate"), "").unwrap();
    let ran = last.end();
    assert_eq!(ran.code, 0, "seed {seed}: {ran:?}");
    assert!(project.log("orchestrator").contains("The gate was open."));
    assert_eq!(std::fs::read_to_string(world.root().join("started")).unwrap(), "started\n", "seed {seed}");
    assert_eq!(serving(&project), server.id(), "seed {seed}: it is the same engine");
    project.mxd(["serve", "stop"]).ok();
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
fn clients_that_are_killed_leave_the_agents_at_work() {
    clients_are_killed(5, 1);
}

#[test]
#[ignore = "minutes; see docs/dev/testing.md"]
fn proof_clients_that_are_killed_leave_the_agents_at_work() {
    let seed = fresh_seed("clients");
    clients_are_killed(number("MXD_KILLS", 200), seed);
}

/// Three clients send messages while the engine is killed under them. Each message arrives once.
async fn the_engine_is_killed(kills: u64, seed: u64) {
    let world = World::new();
    play(&world, patient_root());
    let project = world.project("app");
    let servers = Servers::default();
    let mut senders = Vec::new();
    let over = Arc::new(std::sync::atomic::AtomicBool::new(false));
    for client in 0..3 {
        let (handle, over) = (join(&project, &servers).await, Arc::clone(&over));
        senders.push(tokio::spawn(async move {
            let mut sent = Vec::new();
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                let text = format!("client {client}, message {}", sent.len());
                let outcome = tokio::time::timeout(PATIENCE, send(&handle, text.clone())).await.expect("an outcome");
                assert!(matches!(outcome, Outcome::Sent { .. }), "{outcome:?}");
                sent.push(text);
            }
            sent
        }));
    }
    let (mut dice, mut slowest) = (Dice::new(seed), Duration::ZERO);
    for _ in 0..kills {
        tokio::time::sleep(Duration::from_millis(dice.below(150))).await;
        let victim = serving(&project);
        kill(victim);
        let killed = Instant::now();
        // Everybody is back when another process serves.
        while place(&project).info().is_none_or(|info| info.pid == victim) {
            assert!(killed.elapsed() < PATIENCE, "seed {seed}: nobody took over");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        slowest = slowest.max(killed.elapsed());
    }
    over.store(true, std::sync::atomic::Ordering::Relaxed);
    let mut wanted = std::collections::BTreeMap::new();
    for sender in senders {
        wanted.extend(sender.await.unwrap().into_iter().map(|text| (text, 1)));
    }
    let last = join(&project, &servers).await;
    until_quiet(&last).await;
    assert_eq!(messages(&project), wanted, "seed {seed}");
    assert_eq!(project.node("orchestrator")["pending_messages"], 0, "seed {seed}");
    println!("{} messages, {kills} kills, back after {slowest:?} at most", wanted.len());
    drop(last);
    servers.kill_all();
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_arrive_once_although_the_engine_is_killed_under_its_clients() {
    the_engine_is_killed(3, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes; see docs/dev/testing.md"]
async fn proof_messages_arrive_once_although_the_engine_is_killed_under_its_clients() {
    let seed = fresh_seed("engines");
    the_engine_is_killed(number("MXD_KILLS", 100), seed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_over_stdin_and_stdout_is_an_engine_and_is_replaced_when_it_is_cut() {
    let world = World::new();
    play(&world, patient_root());
    let project = world.project("app");
    let servers = Servers::default();
    let near = join(&project, &servers).await;
    // As ssh does it, with the environment of the other machine.
    let variables = [("MXD_HOME", world.data()), ("HOME", world.home_folder())];
    let mut arguments: Vec<String> =
        variables.iter().map(|(name, path)| format!("{name}={}", path.display())).collect();
    let pid_file = world.root().join("bridge");
    let script = format!("echo $$ > {}; exec {} attach --stdio", pid_file.display(), env!("CARGO_BIN_EXE_mxd"));
    arguments.extend(["sh".to_owned(), "-c".to_owned(), format!("cd {}; {script}", project.path.display())]);
    let connector = ProgramConnector::new("env", arguments, Vec::new());
    let far = Handle::new(Remote::connect(connector, ClientKind::Screen, "far".to_owned()).await.unwrap());
    let (_, mut watcher) = far.subscribe().await.unwrap();
    for round in 0..3 {
        assert!(matches!(send(&far, format!("round {round}")).await, Outcome::Sent { .. }));
        until_quiet(&near).await;
        while watcher.next().await != Update::Quiet {}
        kill(std::fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap());
    }
    let wanted: Vec<String> = (0..3).map(|round| format!("round {round}")).collect();
    assert_eq!(messages(&project).into_keys().collect::<Vec<_>>(), wanted);
    far.quit().await;
    assert!(near.subscribe().await.is_ok(), "the engine stays");
    drop(near);
    servers.kill_all();
}

/// Running a goal through the engine of another process prints what it would print alone.
#[test]
fn a_goal_that_joins_streams_and_ends_with_its_exit_code() {
    let world = World::new();
    play(&world, json!([root(json!([say("First."), say("Second.")]))]));
    let project = world.project("app");
    let mut server = Running::start({
        let mut command = world.mxd_command(&project.path);
        command.args(["serve", "--stay"]);
        command
    });
    serving(&project);
    let ran = project.run(["Begin."]);
    assert!(ran.out.contains("First."), "{ran:?}");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(project.run(["Again."]).ok().contains("Second."));
    server.kill();
}

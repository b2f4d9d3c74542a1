//! A second backend, with no model behind it: the seam between the engine and an agent holds. A whole tree of tasks is
//! worked on, killed again and again, and comes to the same; what a backend cannot do is refused, with its name.

mod clerk;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mxd::base::{IdSource, SystemClock, TaskId};
use mxd::config::paths::Home;
use mxd::config::{Environment, merge};
use mxd::engine::backend::{Backend, Capabilities};
use mxd::engine::command::{Command, Outcome, Outgoing, TaskDraft, TaskStart};
use mxd::engine::models::CommandLineChoice;
use mxd::engine::snapshot::Snapshot;
use mxd::engine::{EngineOptions, Handle};
use mxd::model::message::{Delivery, MessageSource};
use mxd::model::task::Status;
use mxd::model::{AskKind, Body};
use mxd::store::RealDisk;
use mxd::store::registry::Registry;

use crate::cli_support::World;
use crate::engine_support::PATIENCE;
use clerk::{Clerk, Steps};

const REPOSITORY: &str = "MXD_TEST_BACKEND_REPOSITORY";
const HOME: &str = "MXD_TEST_BACKEND_HOME";
const STEPS: &str = "MXD_TEST_BACKEND_STEPS";

async fn open(home: Home, repository: &Path, capabilities: Capabilities, steps: u32) -> Handle {
    let registry = Registry::new(Arc::new(RealDisk), home.projects());
    let clock = Arc::new(SystemClock);
    let backend: Arc<dyn Backend> = Arc::new(Clerk { capabilities, steps: Arc::new(Steps(steps.into())) });
    let options = EngineOptions {
        project: registry.find_path(repository).unwrap().unwrap(),
        home,
        merged: merge(&Environment::new(|_| None), &[]).unwrap(),
        choice: CommandLineChoice::default(),
        budget: None,
        mode: None,
        hold: false,
        scripted: None,
        backend: Some(backend),
        ids: IdSource::new(clock.clone()),
        clock,
    };
    mxd::engine::open(options).await.unwrap()
}

async fn until(handle: &Handle, what: &str, holds: impl Fn(&Snapshot) -> bool) -> Snapshot {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (snapshot, _) = handle.subscribe().await.unwrap();
        if holds(&snapshot) {
            return snapshot;
        }
        assert!(Instant::now() < deadline, "{what} never came: {snapshot:#?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn say(task: TaskId, mode: Delivery) -> Command {
    Command::Send { task, message: Outgoing { text: "Go.".to_owned(), ..Outgoing::default() }, mode }
}

/// Not a test of its own: the process that is killed. Does nothing unless told where to work.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn helper_that_works_on_a_tree_until_it_is_killed() {
    let Some(repository) = std::env::var_os(REPOSITORY).map(PathBuf::from) else { return };
    let home = Home::locate(std::env::var_os(HOME).as_deref(), None, None).unwrap();
    let steps = std::env::var(STEPS).unwrap().parse().unwrap();
    let handle = open(home, &repository, Capabilities::ALL, steps).await;
    let (snapshot, _) = handle.subscribe().await.unwrap();
    if snapshot.task(snapshot.root).unwrap().node.status == Status::Pending {
        handle.command(say(snapshot.root, Delivery::Steer)).await.unwrap();
    }
    until(&handle, "the end of the work", |now| now.task(now.root).unwrap().node.status == Status::Passed && now.quiet)
        .await;
    handle.quit().await;
}

#[test]
fn a_tree_of_tasks_on_another_backend_is_killed_at_every_step_and_comes_to_the_same() {
    let world = World::new();
    let project = world.project("app");
    let mut kills = 0;
    // Each life is a little longer than the last, so that every step is the last one of some life.
    for steps in 3.. {
        let helper = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "engine_backend::helper_that_works_on_a_tree_until_it_is_killed"])
            .env(REPOSITORY, &project.path)
            .env(HOME, world.data())
            .env(STEPS, steps.to_string())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        if helper.status.success() {
            break;
        }
        let said = String::from_utf8_lossy(&helper.stdout);
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&helper.status), Some(9), "life {steps}: {said}");
        kills += 1;
        assert!(kills < 60, "it gets nowhere");
    }
    println!("killed {kills} times");
    assert!(kills >= 5, "it was killed only {kills} times");

    let tasks = project.tasks();
    let titles: Vec<_> = tasks.iter().map(|task| task["title"].as_str().unwrap()).collect();
    assert_eq!(titles.len(), 7, "each task once: {titles:?}");
    assert!(tasks.iter().all(|task| task["status"] == "passed"), "{tasks:#?}");
    for leaf in ["11", "12", "21", "22"] {
        let commits = world.git(&project.worktree(leaf), ["log", "--format=%s", "main..HEAD"]);
        assert_eq!(commits.trim(), leaf, "one commit, however often it was killed");
    }
    for above in ["1", "2", "orchestrator"] {
        let id: TaskId = project.id(above).parse().unwrap();
        let events = project.store().sessions().active(id).unwrap().events;
        let told = events.iter().filter_map(|event| match &event.body {
            Body::Message(message) => match &message.from {
                MessageSource::TaskComplete { title, .. } => Some(title.clone()),
                _ => None,
            },
            _ => None,
        });
        let mut told: Vec<_> = told.collect();
        told.sort();
        assert_eq!(told.len(), 2, "{above} hears of each half once: {told:?}");
    }
    project.mxd(["check"]).ok();
}

#[tokio::test]
async fn what_a_backend_cannot_do_is_refused_with_its_name() {
    let nothing = Capabilities {
        steer: false,
        interrupt: false,
        resume: false,
        fork: false,
        compact: false,
        cost: false,
        our_tools: false,
    };
    let world = World::new();
    let project = world.project("app");
    let handle = open(world.home(), &project.path, nothing, 0).await;
    let (snapshot, _) = handle.subscribe().await.unwrap();
    let task = snapshot.root;
    let draft = || TaskDraft { title: "copy".to_owned(), ..TaskDraft::default() };
    for (command, refusal) in [
        (Command::Interrupt { task }, "clerk cannot be interrupted"),
        (Command::Compact { task }, "clerk cannot be told to compact"),
        (Command::Kill { task, process: "1".to_owned() }, "clerk cannot expose its processes"),
        (Command::Redo { task }, "clerk cannot rewind"),
        (
            Command::Fork { task, at: None, draft: draft(), start: TaskStart::Later },
            "clerk cannot continue a copied conversation",
        ),
    ] {
        let fault = handle.command(command).await.unwrap_err();
        assert!(fault.message.contains(refusal), "{fault:?}");
        assert!(!fault.hints.is_empty(), "it says what to do instead: {fault:?}");
    }

    // A budget that nobody can hold stops the launch, and says so.
    let budget =
        TaskDraft { title: "11".to_owned(), budget: Some(mxd::base::MicroUsd(1_000_000)), ..TaskDraft::default() };
    let create = Command::Create { parent: task, before: None, draft: budget, start: TaskStart::Now };
    let Ok(Outcome::Created { task: limited, .. }) = handle.command(create).await else { panic!("not created") };
    let shown = until(&handle, "the question", |now| !now.task(limited).unwrap().asks.is_empty()).await;
    let ask = &shown.task(limited).unwrap().asks[0];
    assert_eq!(ask.kind(), AskKind::LaunchFailed);
    assert!(ask.detail.contains("clerk does not report costs"), "{ask:?}");
    assert!(ask.detail.contains("`mxd task edit TASK --budget 0`"), "{ask:?}");
    handle.quit().await;
    project.mxd(["task", "edit", &limited.to_string(), "--budget", "0"]).ok();
    assert!(project.node("11")["budget"].is_null(), "{}", project.node("11"));
}

#[tokio::test]
async fn a_backend_that_refuses_a_task_before_the_start_leaves_no_worktree() {
    let world = World::new();
    let project = world.project("app");
    let handle = open(world.home(), &project.path, Capabilities::ALL, 0).await;
    let (snapshot, _) = handle.subscribe().await.unwrap();
    let draft = TaskDraft { title: "refused".to_owned(), ..TaskDraft::default() };
    let create = Command::Create { parent: snapshot.root, before: None, draft, start: TaskStart::Now };
    let Ok(Outcome::Created { task, .. }) = handle.command(create).await else { panic!("not created") };
    let shown = until(&handle, "the question", |now| !now.task(task).unwrap().asks.is_empty()).await;
    let view = shown.task(task).unwrap();
    assert!(view.asks[0].detail.contains("the clerk does not do that"), "{:?}", view.asks[0]);
    assert!(!view.node.worktree.as_ref().unwrap().exists(), "nothing was made for it");
    handle.quit().await;
}

//! Merges into a checkout in which an agent is at work: they wait for its pause, also across a crash and a restart, and can
//! be cancelled. The engine runs in this process, because only its own process can give it a command while it works.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mxd::base::{IdSource, SystemClock, TaskId};
use mxd::config::{Environment, merge};
use mxd::engine::command::{Command, OnConflict, Outcome, Outgoing};
use mxd::engine::models::CommandLineChoice;
use mxd::engine::review::{MergeStrategy, MergeTarget};
use mxd::engine::snapshot::TaskView;
use mxd::engine::{EngineOptions, Handle};
use mxd::model::message::Delivery;
use mxd::provider::scripted::ScriptedProvider;
use mxd::store::RealDisk;
use mxd::store::registry::Registry;
use serde_json::json;
use tokio::runtime::Runtime;

use super::{painter, read};
use crate::cli_support::{Project, World};
use crate::engine_support::{PATIENCE, bash, play, root, say};

/// A project in which a painter has painted, and a root that works in its checkout once it is spoken to.
struct Busy<'w> {
    project: Project<'w>,
    painter: TaskId,
    started: PathBuf,
    gate: PathBuf,
}

impl<'w> Busy<'w> {
    fn new(world: &'w World) -> Self {
        let (started, gate) = (world.root().join("started"), world.root().join("gate"));
        let wait = format!("touch {}; until test -e {}; do sleep 0.05; done", started.display(), gate.display());
        let look = bash("cp a.txt seen.txt; echo looked");
        play(world, json!([root(json!([say("Noted."), bash(&wait), look, say("I rest.")])), painter()]));
        let project = world.project("app");
        let painter = project.new_task("Painter").parse().unwrap();
        assert_eq!(project.run([]).code, 0);
        Self { project, painter, started, gate }
    }

    async fn open(&self) -> Handle {
        let registry = Registry::new(Arc::new(RealDisk), self.project.world.home().projects());
        let script = self.project.world.root().join("scenario.json");
        let clock = Arc::new(SystemClock);
        let options = EngineOptions {
            home: self.project.world.home(),
            project: registry.find_path(&self.project.path).unwrap().unwrap(),
            merged: merge(&Environment::new(|_| None), &[]).unwrap(),
            choice: CommandLineChoice::default(),
            budget: None,
            mode: None,
            hold: false,
            backend: None,
            scripted: Some(Arc::new(ScriptedProvider::load(&script, 1.0).unwrap())),
            ids: IdSource::new(clock.clone()),
            clock,
        };
        mxd::engine::open(options).await.unwrap()
    }

    /// Lets the root work, and asks for a merge into its checkout meanwhile.
    async fn queue(&self) -> Handle {
        let handle = self.open().await;
        let (snapshot, _) = handle.subscribe().await.unwrap();
        let message = Outgoing { text: "Work.".to_owned(), ..Outgoing::default() };
        handle.command(Command::Send { task: snapshot.root, message, mode: Delivery::Steer }).await.unwrap();
        let started = &self.started;
        until("the root is at work", async || started.exists()).await;
        let (into, how, conflicts) = (MergeTarget::Parent, MergeStrategy::Squash, OnConflict::Refuse);
        let outcome = handle.command(Command::Merge { task: self.painter, into, how, conflicts }).await.unwrap();
        let host = snapshot.root;
        assert!(matches!(&outcome, Outcome::MergeQueued { host: of, .. } if *of == host), "{outcome:?}");
        assert!(!self.painted().exists());
        handle
    }

    async fn view(&self, handle: &Handle) -> TaskView {
        handle.subscribe().await.unwrap().0.task(self.painter).unwrap().clone()
    }

    fn painted(&self) -> PathBuf {
        self.project.path.join("a.txt")
    }
}

async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < deadline, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn a_merge_into_a_checkout_where_an_agent_works_is_made_when_it_rests() {
    let world = World::new();
    let busy = Busy::new(&world);
    Runtime::new().unwrap().block_on(async {
        let handle = busy.queue().await;
        assert!(busy.view(&handle).await.queued_merge.is_some());
        fs::write(&busy.gate, "").unwrap();
        until("the merge", async || busy.view(&handle).await.last_merge.is_some()).await;
        assert_eq!(busy.view(&handle).await.queued_merge, None);
        assert_eq!(read(&busy.painted()), "one\ntwo\n");
        // The root looked at its files before the merge came in.
        assert!(!busy.project.path.join("seen.txt").exists());
        handle.quit().await;
    });
    assert_eq!(world.git(&busy.project.path, ["status", "--porcelain", "--untracked-files=no"]), "");
}

#[test]
fn a_queued_merge_survives_a_crash_and_comes_before_the_agent_goes_on() {
    let world = World::new();
    let busy = Busy::new(&world);
    let runtime = Runtime::new().unwrap();
    let handle = runtime.block_on(busy.queue());
    // Nothing of the engine is told that it ends.
    drop(handle);
    runtime.shutdown_timeout(PATIENCE);
    let task = busy.project.node("Painter");
    assert_eq!((&task["queued_merge"]["target"], &task["queued_merge"]["how"]), (&json!("main"), &json!("squash")));
    assert!(busy.project.mxd(["tree"]).ok().contains("merge waits for orchestrator"));
    assert!(!busy.painted().exists(), "whoever only looks merges nothing");
    assert_eq!(busy.project.run([]).code, 0);
    assert_eq!(read(&busy.project.path.join("seen.txt")), "one\ntwo\n", "the root found it in its checkout");
    assert_eq!(busy.project.node("Painter").get("queued_merge"), None);
    let merges = world.git(&busy.project.path, ["log", "--oneline", "--grep", "Task-Id:", "main"]);
    assert_eq!(merges.lines().count(), 1, "{merges}");
}

#[test]
fn a_queued_merge_is_kept_by_a_quit_and_cancelled_by_what_is_said() {
    let world = World::new();
    let busy = Busy::new(&world);
    Runtime::new().unwrap().block_on(async { busy.queue().await.quit().await });
    let command = format!("mxd merge {} --cancel", busy.painter.short());
    assert_eq!(world.paste(&busy.project.path, &command).ok(), "cancelled the queued merge into main\n");
    assert_eq!(busy.project.node("Painter").get("queued_merge"), None);
    assert!(busy.project.log("Painter").contains("queued merge dropped: cancelled"));
    fs::write(&busy.gate, "").unwrap();
    busy.project.run([]);
    assert!(!busy.painted().exists());
}

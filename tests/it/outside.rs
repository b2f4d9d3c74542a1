//! Outside programs as backends, played by a scripted agent: what it says becomes events and Asks, whatever it does.

#![allow(clippy::needless_pass_by_value, reason = "values are written where they are needed")]

mod agent;
mod behaviours;
mod mixed;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mxd::base::{IdSource, SystemClock, TaskId};
use mxd::config::{Environment, Layer, LayerFile, merge};
use mxd::engine::command::{Command, Outgoing};
use mxd::engine::models::CommandLineChoice;
use mxd::engine::snapshot::Snapshot;
use mxd::engine::{EngineOptions, Handle};
use mxd::model::message::Delivery;
use mxd::model::{Ask, Body, Event};
use mxd::store::RealDisk;
use mxd::store::registry::Registry;
use serde_json::{Value, json};

use crate::cli_support::{Project, World};
use crate::engine_support::PATIENCE;

/// A project whose tasks are done by a scripted agent, and the folder in which the agent writes down what it was told.
struct Stage<'w> {
    world: &'w World,
    project: Project<'w>,
    folder: PathBuf,
}

impl<'w> Stage<'w> {
    fn new(world: &'w World, scenario: &Value) -> Self {
        Self::with(world, scenario, json!({}))
    }

    /// As `new`, with more settings of the backend.
    fn with(world: &'w World, scenario: &Value, more: Value) -> Self {
        mxd::process::set_host_program(env!("CARGO_BIN_EXE_mxd").into());
        let project = world.project("app");
        let folder = world.root().join("agent");
        std::fs::create_dir_all(&folder).unwrap();
        let mut entry = entry(&folder, scenario);
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let config = json!({"backend": "scripted", "backends": {"scripted": entry}});
        std::fs::create_dir_all(world.data()).unwrap();
        std::fs::write(world.data().join("config.json"), config.to_string()).unwrap();
        Self { world, project, folder }
    }

    /// Adds a setting.
    fn set(&self, key: &str, value: Value) {
        let path = self.world.data().join("config.json");
        let mut config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        config[key] = value;
        std::fs::write(path, config.to_string()).unwrap();
    }

    async fn open(&self) -> Handle {
        open(self.world, &self.project.path).await
    }

    /// Lets the root work on a message until nothing happens any more.
    async fn run(&self) -> Seen {
        let handle = self.open().await;
        let root = send(&handle, "Go.").await;
        let snapshot = settle(&handle).await;
        let seen = self.seen(root, &snapshot);
        handle.quit().await;
        seen
    }

    fn seen(&self, task: TaskId, snapshot: &Snapshot) -> Seen {
        let view = snapshot.task(task).unwrap();
        Seen {
            events: self.project.store().sessions().active(task).unwrap().events,
            asks: view.asks.clone(),
            status: view.node.status.to_string(),
            received: lines(&self.folder.join("received.jsonl")),
            outcomes: lines(&self.folder.join("outcomes")),
            prompts: lines(&self.folder.join("turns")),
        }
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }
}

fn entry(folder: &Path, scenario: &Value) -> Value {
    json!({
        "command": std::env::current_exe().unwrap(),
        "args": ["--exact", "outside::agent::helper_that_is_an_agent", "--nocapture"],
        "env": {agent::SCENARIO: scenario.to_string(), agent::FOLDER: folder},
    })
}

async fn open(world: &World, repository: &Path) -> Handle {
    let config = world.data().join("config.json");
    let file = LayerFile::read(Layer::Global, &config, &std::fs::read(&config).unwrap());
    assert_eq!(file.problems(), []);
    let registry = Registry::new(Arc::new(RealDisk), world.home().projects());
    let clock = Arc::new(SystemClock);
    let options = EngineOptions {
        project: registry.find_path(repository).unwrap().unwrap(),
        home: world.home(),
        merged: merge(&Environment::new(|_| None), &[file]).unwrap(),
        choice: CommandLineChoice::default(),
        budget: None,
        mode: None,
        hold: false,
        scripted: None,
        backend: None,
        ids: IdSource::new(clock.clone()),
        clock,
    };
    mxd::engine::open(options).await.unwrap()
}

/// Sends a message to the root. Returns its id.
async fn send(handle: &Handle, text: &str) -> TaskId {
    let (snapshot, _) = handle.subscribe().await.unwrap();
    say(handle, snapshot.root, text, Delivery::Steer).await;
    snapshot.root
}

async fn say(handle: &Handle, task: TaskId, text: &str, mode: Delivery) {
    let message = Outgoing { text: text.to_owned(), ..Outgoing::default() };
    handle.command(Command::Send { task, message, mode }).await.unwrap();
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

async fn settle(handle: &Handle) -> Snapshot {
    until(handle, "the end of the work", |now| now.quiet).await
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| json!(line))).collect()
}

/// What came of a scenario.
#[derive(Debug)]
struct Seen {
    events: Vec<Event>,
    asks: Vec<Ask>,
    status: String,
    /// What the agent was told.
    received: Vec<Value>,
    /// What it was answered.
    outcomes: Vec<Value>,
    /// The prompts that it got.
    prompts: Vec<Value>,
}

impl Seen {
    fn kinds(&self) -> Vec<&str> {
        self.events.iter().map(|event| event.body.kind()).collect()
    }

    /// Returns what the agent said.
    fn said(&self) -> Vec<&str> {
        let text = |event: &'_ Event| matches!(event.body, Body::AssistantText(_));
        let texts = self.events.iter().filter(|event| text(event));
        texts
            .map(|event| match &event.body {
                Body::AssistantText(said) => said.text.as_str(),
                _ => unreachable!(),
            })
            .collect()
    }

    fn count(&self, kind: &str) -> usize {
        self.kinds().iter().filter(|found| **found == kind).count()
    }

    fn bodies<'a, T>(&'a self, pick: impl Fn(&'a Body) -> Option<T>) -> Vec<T> {
        self.events.iter().filter_map(|event| pick(&event.body)).collect()
    }
}

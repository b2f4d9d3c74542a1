//! A pool of scripted servers around a bench of tools.

#![allow(clippy::unwrap_used, reason = "a helper of tests may fail like a test")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mxd::base::{IdSource, SystemClock};
use mxd::config::{Environment, Layer, LayerFile, Server, merge};
use mxd::process::table;
use mxd::tools::mcp::{Limits, MissingTools, Options, Pool, ServerHealth};
use mxd::tools::{Registry, Reply};
use serde_json::{Value, json};

use crate::mcp_server::{MODE, NOTES, arguments};
use crate::tools_support::Bench;

/// Returns an entry that starts the scripted server.
pub fn scripted(mode: &str, notes: &std::path::Path) -> Value {
    json!({
        "command": std::env::current_exe().unwrap(),
        "args": arguments(),
        "env": {MODE: mode, NOTES: notes, "SOME_TOKEN": "opensesame-42"},
        "timeoutMs": 60_000,
    })
}

/// Returns the servers as the settings of a user would give them.
pub fn servers(entries: &Value) -> Vec<Server> {
    let text = json!({"mcpServers": entries}).to_string();
    let file = LayerFile::read(Layer::Global, "config.json".as_ref(), text.as_bytes());
    let merged = merge(&Environment::default(), &[file]).unwrap();
    assert_eq!(merged.fault(), None);
    merged.servers
}

pub struct Servers {
    pub bench: Bench,
    pub pool: Pool,
    pub missing: Vec<MissingTools>,
}

impl Servers {
    /// One server called "box" that behaves as it should.
    pub async fn one() -> Self {
        Self::new(|notes| json!({"box": scripted("normal", notes)}), |_| {}).await
    }

    pub async fn new(entries: impl FnOnce(&std::path::Path) -> Value, adjust: impl FnOnce(&mut Options)) -> Self {
        let bench = Bench::new();
        let mut options = Options {
            root: bench.root.clone(),
            logs: Some(bench.data.join("logs")),
            records: Some(bench.data.join("running")),
            environment: mxd::process::Environment::new(),
            ids: IdSource::new(Arc::new(SystemClock)),
            limits: Limits { wait: Duration::from_secs(60), ..Limits::default() },
            tool_lists: None,
        };
        adjust(&mut options);
        let pool = Pool::new(servers(&entries(&bench.data)), options);
        let mut this = Self { bench, pool, missing: Vec::new() };
        this.offer().await;
        this
    }

    /// Puts what the pool offers now into the registry.
    pub async fn offer(&mut self) {
        let (tools, missing) = self.pool.tools().await;
        let mut registry = Registry::builtin();
        tools.into_iter().for_each(|tool| registry.add(tool).unwrap());
        self.bench.context.registry = Arc::new(registry);
        self.missing = missing;
    }

    pub async fn call(&self, tool: &str, input: Value) -> Reply {
        self.bench.call(&format!("mcp__box__{tool}"), input).await
    }

    /// Returns what the servers noted.
    pub fn notes(&self) -> Vec<String> {
        let notes = std::fs::read_to_string(self.bench.data.join("notes")).unwrap_or_default();
        notes.lines().map(str::to_owned).collect()
    }

    pub fn starts(&self) -> usize {
        self.notes().iter().filter(|line| line.starts_with("start ")).count()
    }

    pub fn health(&self, server: &str) -> ServerHealth {
        self.pool.status().into_iter().find(|status| status.server == server).unwrap().health
    }

    pub fn pid(&self) -> i32 {
        match self.health("box") {
            ServerHealth::Ready { pid: Some(pid), .. } => pid,
            other => panic!("not ready: {other:?}"),
        }
    }

    pub fn log(&self) -> PathBuf {
        self.bench.data.join("logs").join("mcp-box.log")
    }

    /// Returns everything that these servers started and that still runs.
    pub fn alive(&self) -> Vec<i32> {
        let notes = self.bench.data.to_string_lossy().into_owned();
        let ours = |entry: &table::ProcessInfo| !entry.zombie && table::has_marker(entry.pid, NOTES, &notes);
        table::all().into_iter().filter(ours).map(|entry| entry.pid).collect()
    }

    /// Returns the records of running processes.
    pub fn records(&self) -> usize {
        let is_note = |entry: &std::io::Result<std::fs::DirEntry>| {
            entry.as_ref().is_ok_and(|entry| entry.path().extension() == Some("json".as_ref()))
        };
        std::fs::read_dir(self.bench.data.join("running")).map_or(0, |entries| entries.filter(is_note).count())
    }
}

//! What the tests of these tools share: an agent's surroundings, and an engine that is the test itself.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::base::{AskId, Fault, IdSource, Json, MessageId, SystemClock, TaskId};
use crate::engine::agent_port::{AgentCall, AgentPort, AgentRequest};
use crate::engine::command::{Begun, Command, Outcome, SetAside, Start};
use crate::engine::query::{TaskCard, TaskHits, TaskRef, TreeAnswer, TreeQuery};
use crate::engine::tools::{Access, Finish, ProjectEntry, Projects, add};
use crate::model::conversation::ToolUse;
use crate::model::{BlobRef, Live, TaskNode};
use crate::process::Environment;
use crate::tools::{
    BlobSink, Context, Cwd, Fence, Folders, Foreground, Jobs, Limits, Open, ReadTracker, Registry, Reply, Tokens,
    execute, names,
};

pub(super) fn ids() -> IdSource {
    IdSource::seeded(Arc::new(SystemClock), 5)
}

/// A port, and the side of it where the engine stands.
pub(super) fn port() -> (AgentPort, mpsc::UnboundedReceiver<AgentRequest>) {
    let (requests, waiting) = mpsc::unbounded_channel();
    (AgentPort::new(TaskId::fresh(&ids()), requests), waiting)
}

/// The id that begins with `name`.
pub(super) fn id(name: &str) -> TaskId {
    format!("{name:0<26}").parse().unwrap()
}

/// What a command comes to when all goes well.
fn outcome_of(command: &Command) -> Outcome {
    match command {
        Command::Create { draft, start, .. } => {
            let start = if *start == Start::Now { Begun::Yes } else { Begun::No };
            Outcome::Created { task: id("01NEW"), title: draft.title.clone(), start }
        }
        Command::Close { task } => Outcome::Closed { task: *task, recurs: false, set_aside: SetAside::default() },
        Command::Reset { .. } => Outcome::Reset { recurs: false },
        Command::Stop { .. } => Outcome::Stopped { agents: 2 },
        Command::Message { .. } => Outcome::Sent { message: MessageId::fresh(&ids()), wakes: true },
        Command::Ask { .. } => Outcome::Asked(AskId::fresh(&ids())),
        Command::ForkContext { .. } => Outcome::Copied { events: 7 },
        _ => Outcome::Done,
    }
}

/// The answer of an engine that has every task that is asked for, called "Task" and its own parent's only child.
fn answer_of(query: &TreeQuery, parent: TaskId) -> TreeAnswer {
    match query {
        TreeQuery::Find { name } => {
            TreeAnswer::Find(TaskRef { id: id(name), title: "Task".to_owned(), parent: Some(parent) })
        }
        TreeQuery::Rows { .. } => TreeAnswer::Rows(Vec::new()),
        TreeQuery::Task { task } => {
            let node = TaskNode::new(*task, "Task", "engineer", crate::base::Timestamp::EPOCH);
            TreeAnswer::Task(Box::new(TaskCard { node, parent: None, cost: crate::base::MicroUsd::ZERO }))
        }
        TreeQuery::Search { .. } => TreeAnswer::Search(TaskHits::default()),
        TreeQuery::MayFinish { .. } => TreeAnswer::MayFinish(None),
    }
}

/// Something that a tool asked of the engine, apart from the ids that it looked up.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Asked {
    Command(Command),
    Query(TreeQuery),
}

/// Everything the root of a project may have.
pub(super) fn access(port: AgentPort) -> Access {
    let finish = Arc::new(Finish::new(port.clone(), None));
    Access { port, is_root: true, may_delegate: true, finish, projects: Some(Arc::new(Neighbours)) }
}

/// Two other projects, one of which takes messages.
pub(super) struct Neighbours;

impl Projects for Neighbours {
    fn list(&self) -> Vec<ProjectEntry> {
        let entry = |id: &str, name: &str, is_open| ProjectEntry {
            id: id.parse().unwrap(),
            name: name.to_owned(),
            path: format!("/src/{name}").into(),
            is_open,
        };
        vec![entry("01JZ8Q4W3M5N0000000000000A", "web", true), entry("01JZ8Q4W3M5N0000000000000B", "docs", false)]
    }

    fn send<'a>(&'a self, project: &'a str, message: &'a str) -> BoxFuture<'a, Result<String, String>> {
        let answer = match project {
            "web" => Ok(format!("web has: {message}")),
            other => Err(format!("there is no project {other}")),
        };
        std::future::ready(answer).boxed()
    }
}

struct NoBlobs;

impl BlobSink for NoBlobs {
    fn put(&self, _: Vec<u8>) -> BoxFuture<'_, io::Result<BlobRef>> {
        std::future::ready(Err(io::Error::other("no blobs here"))).boxed()
    }

    fn put_file(&self, _: PathBuf) -> BoxFuture<'_, io::Result<BlobRef>> {
        std::future::ready(Err(io::Error::other("no blobs here"))).boxed()
    }

    fn path(&self, _: &BlobRef) -> PathBuf {
        PathBuf::new()
    }
}

/// An agent with all tools.
pub(super) struct Scene {
    _folder: tempfile::TempDir,
    pub(super) context: Context,
    pub(super) own: TaskId,
    pub(super) requests: mpsc::UnboundedReceiver<AgentRequest>,
    /// Why the engine refuses everything.
    pub(super) refusal: Option<Fault>,
    /// What the next command comes to, if it is not the usual.
    pub(super) outcome: Option<Outcome>,
}

impl Scene {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (port, requests) = port();
        let own = port.task();
        let mut registry = Registry::default();
        add(&mut registry, access(port)).unwrap();
        let blobs: Arc<dyn BlobSink> = Arc::new(NoBlobs);
        let limits = Limits::default();
        let context = Context {
            registry: Arc::new(registry),
            gate: Arc::new(Open),
            fence: Arc::new(Fence::new(&root).unwrap()),
            cwd: Arc::new(Cwd::new(root.clone())),
            reads: Arc::new(ReadTracker::default()),
            jobs: Jobs::new(mpsc::unbounded_channel().0, Arc::clone(&blobs), limits.output_bytes),
            foreground: Arc::new(Foreground::default()),
            tokens: Tokens::default(),
            live: Arc::new(|_: Live| {}),
            blobs,
            environment: Environment::new(),
            folders: Folders { spill: root.join("spill"), records: root.join("running") },
            ids: ids(),
            limits,
        };
        Self { _folder: folder, context, own, requests, refusal: None, outcome: None }
    }

    /// Calls a tool as a run does, and answers everything that it asks.
    pub(super) async fn call(&mut self, name: &str, input: Value) -> (Vec<Asked>, Reply) {
        let input = Json::of(&input).unwrap();
        let call = ToolUse { call: "call-1".to_owned(), name: names::wire(name), input, malformed: None };
        let context = self.context.clone();
        let running = execute(&call, &context);
        tokio::pin!(running);
        let mut asked = Vec::new();
        loop {
            tokio::select! {
                reply = &mut running => return (asked, reply),
                Some(request) = self.requests.recv() => {
                    assert_eq!(request.task, self.own);
                    asked.extend(self.answer(request.call));
                }
            }
        }
    }

    fn answer(&mut self, call: AgentCall) -> Option<Asked> {
        match call {
            AgentCall::Command { command, answer } => {
                let outcome = self.outcome.take().unwrap_or_else(|| outcome_of(&command));
                answer.send(self.refusal.clone().map_or(Ok(outcome), Err)).unwrap();
                Some(Asked::Command(command))
            }
            AgentCall::Query { query, answer } => {
                answer.send(self.refusal.clone().map_or_else(|| Ok(answer_of(&query, self.own)), Err)).unwrap();
                (!matches!(query, TreeQuery::Find { .. })).then_some(Asked::Query(query))
            }
        }
    }
}

/// Returns the one command that a call gives, and what the model reads.
pub(super) async fn commanded(name: &str, input: Value) -> (Command, String) {
    let (mut asked, reply) = Scene::new().call(name, input).await;
    assert!(!reply.is_error, "{reply:?}");
    assert_eq!(asked.len(), 1, "{asked:?}");
    match asked.remove(0) {
        Asked::Command(command) => (command, reply.text),
        other @ Asked::Query(_) => panic!("{other:?}"),
    }
}

/// Returns the one query that a call puts to the engine.
pub(super) async fn queried(name: &str, input: Value) -> TreeQuery {
    let (mut asked, reply) = Scene::new().call(name, input).await;
    assert!(!reply.is_error, "{reply:?}");
    assert_eq!(asked.len(), 1, "{asked:?}");
    match asked.remove(0) {
        Asked::Query(query) => query,
        other @ Asked::Command(_) => panic!("{other:?}"),
    }
}

/// Returns what the model reads if a command comes to `outcome`.
pub(super) async fn said(name: &str, input: Value, outcome: Outcome) -> String {
    let mut scene = Scene::new();
    scene.outcome = Some(outcome);
    let (_, reply) = scene.call(name, input).await;
    assert!(!reply.is_error, "{reply:?}");
    reply.text
}

/// Returns why a call does not even reach the engine.
pub(super) async fn refused(name: &str, input: Value) -> String {
    let (asked, reply) = Scene::new().call(name, input).await;
    assert!(reply.is_error && asked.is_empty(), "{reply:?} {asked:?}");
    reply.text
}

//! Fixtures for the tests of these tools: an agent with all tools, and an engine that the test plays.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::base::{AskId, Fault, IdSource, Json, MessageId, SystemClock, TaskId};
use crate::engine::agent_port::{AgentCall, AgentPort, AgentRequest};
use crate::engine::command::{ArchivedWork, Command, Outcome, StartOutcome, TaskStart};
use crate::engine::query::{TaskCard, TaskHits, TaskRef, TreeAnswer, TreeQuery};
use crate::engine::tools::{Access, EngineDoneCheck, OpenGate, OtherProject, Projects, add};
use crate::model::conversation::ToolUse;
use crate::model::{BlobRef, Live, TaskNode};
use crate::process::Environment;
use crate::tools::{
    AllowAll, BackgroundJobs, BlobSink, CancelTokens, Cwd, Folders, Foreground, Limits, PathPolicy, ReadTracker,
    Registry, Reply, ToolContext, execute, names,
};

pub(super) fn ids() -> IdSource {
    IdSource::seeded(Arc::new(SystemClock), 5)
}

/// Returns a port and the engine's end of it.
pub(super) fn port() -> (AgentPort, mpsc::UnboundedReceiver<AgentRequest>) {
    let (requests, waiting) = mpsc::unbounded_channel();
    (AgentPort::new(TaskId::fresh(&ids()), requests), waiting)
}

/// Returns the id that starts with `name`.
pub(super) fn id(name: &str) -> TaskId {
    format!("{name:0<26}").parse().unwrap()
}

/// Returns the outcome of a successful command.
fn outcome_of(command: &Command) -> Outcome {
    match command {
        Command::Create { draft, start, .. } => {
            let start = if *start == TaskStart::Now { StartOutcome::Yes } else { StartOutcome::No };
            Outcome::Created { task: id("01NEW"), title: draft.title.clone(), start }
        }
        Command::Close { task } => Outcome::Closed { task: *task, recurs: false, set_aside: ArchivedWork::default() },
        Command::Reset { .. } => Outcome::Reset { recurs: false },
        Command::Stop { .. } => Outcome::Stopped { agents: 2 },
        Command::Message { .. } => Outcome::Sent { message: MessageId::fresh(&ids()), wakes: true },
        Command::Ask { .. } => Outcome::Asked(AskId::fresh(&ids())),
        Command::ForkContext { .. } => Outcome::Copied { events: 7 },
        _ => Outcome::Done,
    }
}

/// Answers like an engine in which every requested task exists, is called "Task" and is a child of `parent`.
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

/// A request of a tool to the engine, except for id lookups.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Request {
    Command(Command),
    Query(TreeQuery),
}

/// Returns the access of a root.
pub(super) fn access(port: AgentPort) -> Access {
    let finish = Arc::new(EngineDoneCheck::new(port.clone(), None, Arc::new(OpenGate)));
    let skills = Arc::new([]);
    Access { port, is_root: true, may_delegate: true, finish, skills, projects: Some(Arc::new(FakeProjects)) }
}

/// Two other projects, of which one accepts messages.
pub(super) struct FakeProjects;

impl Projects for FakeProjects {
    fn list(&self) -> Vec<OtherProject> {
        let entry = |id: &str, name: &str, is_open| OtherProject {
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
pub(super) struct Fixture {
    _folder: tempfile::TempDir,
    pub(super) context: ToolContext,
    pub(super) own: TaskId,
    pub(super) requests: mpsc::UnboundedReceiver<AgentRequest>,
    /// Makes the engine refuse everything.
    pub(super) refusal: Option<Fault>,
    /// The outcome of the next command, if not the default.
    pub(super) outcome: Option<Outcome>,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (port, requests) = port();
        let own = port.task();
        let mut registry = Registry::default();
        add(&mut registry, access(port)).unwrap();
        let blobs: Arc<dyn BlobSink> = Arc::new(NoBlobs);
        let limits = Limits::default();
        let context = ToolContext {
            registry: Arc::new(registry),
            gate: Arc::new(AllowAll),
            consent: None,
            hooks: crate::hooks::TaskHooks::none(ids()),
            path_policy: Arc::new(PathPolicy::new(&root).unwrap()),
            cwd: Arc::new(Cwd::new(root.clone())),
            reads: Arc::new(ReadTracker::default()),
            jobs: BackgroundJobs::new(mpsc::unbounded_channel().0, Arc::clone(&blobs), limits.output_bytes),
            foreground: Arc::new(Foreground::default()),
            tokens: CancelTokens::default(),
            live: Arc::new(|_: Live| {}),
            blobs,
            environment: Environment::new(),
            folders: Folders { spill: root.join("spill"), records: root.join("running") },
            ids: ids(),
            limits,
        };
        Self { _folder: folder, context, own, requests, refusal: None, outcome: None }
    }

    /// Calls a tool like a run does, and answers its requests.
    pub(super) async fn call(&mut self, name: &str, input: Value) -> (Vec<Request>, Reply) {
        let input = Json::of(&input).unwrap();
        let call = ToolUse { call: "call-1".to_owned(), name: names::wire(name), input, malformed: None };
        let context = self.context.clone();
        let running = execute(&call, &context);
        tokio::pin!(running);
        let mut requests = Vec::new();
        loop {
            tokio::select! {
                reply = &mut running => return (requests, reply),
                Some(request) = self.requests.recv() => {
                    assert_eq!(request.task, self.own);
                    requests.extend(self.answer(request.call));
                }
            }
        }
    }

    fn answer(&mut self, call: AgentCall) -> Option<Request> {
        match call {
            AgentCall::Command { command, answer } => {
                let outcome = self.outcome.take().unwrap_or_else(|| outcome_of(&command));
                answer.send(self.refusal.clone().map_or(Ok(outcome), Err)).unwrap();
                Some(Request::Command(command))
            }
            AgentCall::Query { query, answer } => {
                answer.send(self.refusal.clone().map_or_else(|| Ok(answer_of(&query, self.own)), Err)).unwrap();
                (!matches!(query, TreeQuery::Find { .. })).then_some(Request::Query(query))
            }
        }
    }
}

/// Returns the only command that a call sends, and the reply.
pub(super) async fn command_of(name: &str, input: Value) -> (Command, String) {
    let (mut requests, reply) = Fixture::new().call(name, input).await;
    assert!(!reply.is_error, "{reply:?}");
    assert_eq!(requests.len(), 1, "{requests:?}");
    match requests.remove(0) {
        Request::Command(command) => (command, reply.text),
        other @ Request::Query(_) => panic!("{other:?}"),
    }
}

/// Returns the only query that a call sends.
pub(super) async fn query_of(name: &str, input: Value) -> TreeQuery {
    let (mut requests, reply) = Fixture::new().call(name, input).await;
    assert!(!reply.is_error, "{reply:?}");
    assert_eq!(requests.len(), 1, "{requests:?}");
    match requests.remove(0) {
        Request::Query(query) => query,
        other @ Request::Command(_) => panic!("{other:?}"),
    }
}

/// Returns the reply of a call whose command has this outcome.
pub(super) async fn reply_to(name: &str, input: Value, outcome: Outcome) -> String {
    let mut fixture = Fixture::new();
    fixture.outcome = Some(outcome);
    let (_, reply) = fixture.call(name, input).await;
    assert!(!reply.is_error, "{reply:?}");
    reply.text
}

/// Returns the reply of a call that is rejected before it reaches the engine.
pub(super) async fn rejection_of(name: &str, input: Value) -> String {
    let (requests, reply) = Fixture::new().call(name, input).await;
    assert!(reply.is_error && requests.is_empty(), "{reply:?} {requests:?}");
    reply.text
}

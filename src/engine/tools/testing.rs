//! What the tests of these tools share: an agent's surroundings, and an engine that is the test itself.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::base::{IdSource, Json, SystemClock, TaskId};
use crate::engine::door::{Door, Knock};
use crate::engine::request::Request;
use crate::engine::tools::{Access, Finish, ProjectEntry, Projects, add};
use crate::model::conversation::ToolUse;
use crate::model::{BlobRef, Live};
use crate::process::Environment;
use crate::tools::{
    BlobSink, Context, Cwd, Fence, Folders, Foreground, Jobs, Limits, Open, ReadTracker, Registry, Reply, Tokens,
    execute, names,
};

pub(super) fn ids() -> IdSource {
    IdSource::seeded(Arc::new(SystemClock), 5)
}

/// A door, and the side of it where the engine stands.
pub(super) fn door() -> (Door, mpsc::UnboundedReceiver<Knock>) {
    let (knocks, waiting) = mpsc::unbounded_channel();
    (Door::new(TaskId::fresh(&ids()), knocks), waiting)
}

/// Everything the root of a project may have.
pub(super) fn access(door: Door) -> Access {
    let finish = Arc::new(Finish::new(door.clone(), None));
    Access { door, is_root: true, may_delegate: true, finish, projects: Some(Arc::new(Neighbours)) }
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
    pub(super) knocks: mpsc::UnboundedReceiver<Knock>,
}

impl Scene {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (door, knocks) = door();
        let own = door.task();
        let mut registry = Registry::default();
        add(&mut registry, access(door)).unwrap();
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
        Self { _folder: folder, context, own, knocks }
    }

    /// Calls a tool as a run does, and answers every request that comes of it.
    pub(super) async fn call(&mut self, name: &str, input: Value, answer: Result<&str, &str>) -> (Vec<Request>, Reply) {
        let input = Json::of(&input).unwrap();
        let call = ToolUse { call: "call-1".to_owned(), name: names::wire(name), input, malformed: None };
        let running = execute(&call, &self.context);
        tokio::pin!(running);
        let mut asked = Vec::new();
        loop {
            tokio::select! {
                reply = &mut running => return (asked, reply),
                Some(knock) = self.knocks.recv() => {
                    assert_eq!(knock.task, self.own);
                    asked.push(knock.request);
                    knock.answer.send(answer.map(str::to_owned).map_err(str::to_owned)).unwrap();
                }
            }
        }
    }
}

/// Returns the one request that a call puts to the engine.
pub(super) async fn asked(name: &str, input: Value) -> Request {
    let (mut requests, reply) = Scene::new().call(name, input, Ok("As you wish.")).await;
    assert_eq!((reply.text.as_str(), reply.is_error), ("As you wish.", false));
    assert_eq!(requests.len(), 1, "{requests:?}");
    requests.remove(0)
}

/// Returns why a call does not even reach the engine.
pub(super) async fn refused(name: &str, input: Value) -> String {
    let (requests, reply) = Scene::new().call(name, input, Ok("As you wish.")).await;
    assert!(reply.is_error && requests.is_empty(), "{reply:?} {requests:?}");
    reply.text
}

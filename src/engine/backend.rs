//! Who carries out a task's work: the seam between the engine and an agent.
//!
//! The engine decides when a task runs, makes its worktree ready, keeps its session and its snapshots, and ends whatever its
//! processes left. A [`Backend`] takes the session up and works: it appends what happens, hears what is said to it, and says
//! how it ended. Everything that it needs comes with the [`RunRequest`]; what it cannot do, its [`Capabilities`] say, and the
//! engine refuses or changes what is asked of such a task.

mod native;

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::mpsc;

pub(in crate::engine) use native::Native;

use crate::base::{Clock, Fault, IdSource, RunId, TaskId};
use crate::engine::agent_port::AgentPort;
use crate::engine::driver::Snapshots;
use crate::engine::machine::{LaunchFailure, LaunchOrder};
use crate::engine::profiles::Usable;
use crate::engine::tools::control::DoneCheck;
use crate::model::event::{Body, Event};
use crate::model::run::{Ending, RunCommand};
use crate::provider::purse::Purse;
use crate::store::{Store, StoreError};
use crate::tools::LiveSink;

/// A way to have tasks worked on.
pub trait Backend: Send + Sync {
    /// Returns what it is called where something is said about it.
    fn name(&self) -> &str;

    fn capabilities(&self) -> Capabilities;

    /// Finds out whether a run can be had, before anything is made for it.
    fn preflight(&self, assignment: Arc<Assignment>) -> BoxFuture<'static, Result<Box<dyn Preflight>, Fault>>;
}

/// A run that can be had, and for which nothing has been made yet.
pub trait Preflight: Send {
    /// Makes the run ready in its worktree.
    fn start(self: Box<Self>, request: RunRequest) -> BoxFuture<'static, Result<Started, LaunchFailure>>;
}

/// What the runs of a backend can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a yes or no of its own, and all combinations exist")]
pub struct Capabilities {
    /// It takes in messages in the middle of a turn. Otherwise they wait for the end of the turn.
    pub steer: bool,
    /// A turn can be cut short without ending the run.
    pub interrupt: bool,
    /// It goes on from any point of its session. Otherwise a conversation cannot be rewound.
    pub resume: bool,
    /// It goes on from a copy of another task's session.
    pub fork: bool,
    /// It can summarise its conversation.
    pub compact: bool,
    /// It says what its requests cost. Otherwise no budget can be held.
    pub cost: bool,
    /// Its tools run through ours. Otherwise its processes are its own business.
    pub our_tools: bool,
}

impl Capabilities {
    pub const ALL: Self =
        Self { steer: true, interrupt: true, resume: true, fork: true, compact: true, cost: true, our_tools: true };
}

/// A task that is to be worked on, and by whom.
#[derive(Clone, Debug)]
pub struct Assignment {
    pub order: LaunchOrder,
    pub profile: Usable,
}

impl Assignment {
    pub fn task(&self) -> TaskId {
        self.order.node.id
    }

    /// Returns true if the agent may make sub tasks.
    pub fn may_delegate(&self) -> bool {
        self.order.may_delegate && self.profile.tools.allows_delegation()
    }
}

/// Everything that a run works with.
pub struct RunRequest {
    pub run: RunId,
    pub assignment: Arc<Assignment>,
    /// The folder to work in. It is ready.
    pub worktree: PathBuf,
    /// What has happened to the folder, for an agent that knows it, too.
    pub news: Vec<String>,
    /// What an agent is told when it begins.
    pub notes: Vec<String>,
    /// What its requests are paid from.
    pub purse: Purse,
    /// What is said to the run. Closed: nobody can reach it any more, so nobody can want it to go on.
    pub inbox: mpsc::UnboundedReceiver<RunCommand>,
    pub session: RunSession,
    /// Where it shows what is not kept.
    pub live: Arc<dyn LiveSink>,
    /// The way to the engine, in the agent's name.
    pub port: AgentPort,
    /// Whether the task may be declared done.
    pub done_check: Arc<dyn DoneCheck>,
    pub snapshots: Arc<Snapshots>,
    pub ids: IdSource,
    pub clock: Arc<dyn Clock>,
}

/// A run that is about to begin.
pub struct Started {
    /// The model that answers, as the user knows it.
    pub model: String,
    /// The run itself. A fault: its session could not be read or written.
    pub run: BoxFuture<'static, Result<Ending, Fault>>,
}

/// The session of one run.
#[derive(Clone)]
pub struct RunSession {
    store: Store,
    task: TaskId,
    run: RunId,
}

impl RunSession {
    pub(in crate::engine) fn new(store: Store, task: TaskId, run: RunId) -> Self {
        Self { store, task, run }
    }

    /// Appends events, all of them or none. They are on the disk when this returns.
    pub async fn append(&self, bodies: Vec<Body>) -> Result<Vec<Arc<Event>>, StoreError> {
        self.store.append_batch(self.task, Some(self.run), bodies).await
    }

    /// Reads the conversation as it stands, after putting a torn end in order.
    pub async fn events(&self) -> Result<Vec<Event>, StoreError> {
        self.store.mend(self.task).await?;
        let (sessions, task) = (self.store.sessions().clone(), self.task);
        let read = tokio::task::spawn_blocking(move || sessions.active(task));
        Ok(read.await.map_err(|_| StoreError::Closed)??.events)
    }
}

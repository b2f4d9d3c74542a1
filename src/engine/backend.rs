//! The interface between the engine and an agent implementation.
//!
//! The engine schedules runs, prepares worktrees, stores sessions and snapshots, and kills leftover processes. A
//! [`Backend`] runs the agent: it continues the session, appends events, reads commands from its inbox and returns how
//! the run ended. A run gets everything it needs in its [`RunRequest`]. [`Capabilities`] lists what a backend
//! supports; the engine refuses or adapts requests that need more.

mod native;
pub mod outside;
pub mod registry;

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::mpsc;

pub(in crate::engine) use native::{Native, prompts};
pub(in crate::engine) use registry::Backends;

use crate::base::{Clock, Fault, IdSource, RunId, TaskId};
use crate::engine::agent_port::AgentPort;
use crate::engine::driver::TurnSnapshotter;
use crate::engine::machine::{LaunchFailure, LaunchOrder};
use crate::engine::profiles::UsableProfile;
use crate::engine::skills::Skill;
use crate::engine::tools::control::DoneCheck;
use crate::model::event::{Body, Event};
use crate::model::run::{Ending, RunCommand};
use crate::provider::budget::Budget;
use crate::store::{Store, StoreError};
use crate::tools::LiveSink;

/// A way to run agents.
pub trait Backend: Send + Sync {
    /// Returns the name that messages about the backend use.
    fn name(&self) -> &str;

    fn capabilities(&self) -> Capabilities;

    /// Checks whether a run can start, before the engine prepares anything for it.
    fn preflight(&self, assignment: Arc<Assignment>) -> BoxFuture<'static, Result<Box<dyn Preflight>, Fault>>;

    /// Returns models that could take the place of the chosen one, if a run cannot start because that is unknown.
    fn replacements(&self, _assignment: Arc<Assignment>) -> BoxFuture<'static, Vec<String>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

/// A run that passed the checks. Nothing has been prepared for it yet.
pub trait Preflight: Send {
    /// Prepares the run in its worktree.
    fn start(self: Box<Self>, request: RunRequest) -> BoxFuture<'static, Result<PreparedRun, LaunchFailure>>;
}

/// The features that the runs of a backend support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags in any combination")]
pub struct Capabilities {
    /// Reads messages during a turn. Without it, they wait for the end of the turn.
    pub steer: bool,
    /// Can interrupt a turn without ending the run.
    pub interrupt: bool,
    /// Can resume from any point of the session. Without it, a conversation cannot be rewound.
    pub resume: bool,
    /// Can resume from a copy of another task's session.
    pub fork: bool,
    /// Can compact the conversation.
    pub compact: bool,
    /// Reports the cost of requests. Without it, a budget cannot be enforced.
    pub cost: bool,
    /// Runs its tools through Matrix. Without it, the engine does not manage its processes.
    pub our_tools: bool,
}

impl Capabilities {
    pub const ALL: Self =
        Self { steer: true, interrupt: true, resume: true, fork: true, compact: true, cost: true, our_tools: true };
}

/// A task to run, and the profile that runs it.
#[derive(Clone, Debug)]
pub struct Assignment {
    pub order: LaunchOrder,
    pub profile: UsableProfile,
}

impl Assignment {
    pub fn task(&self) -> TaskId {
        self.order.node.id
    }

    /// Returns true if the agent may create sub tasks.
    pub fn may_delegate(&self) -> bool {
        self.order.may_delegate && self.profile.tools.allows_delegation()
    }
}

/// The inputs of a run.
pub struct RunRequest {
    pub run: RunId,
    pub assignment: Arc<Assignment>,
    /// The working directory, fully set up.
    pub worktree: PathBuf,
    /// Changes to the worktree that an agent with an existing conversation should know.
    pub worktree_notes: Vec<String>,
    /// Notes for an agent whose conversation starts now.
    pub startup_notes: Vec<String>,
    /// The usable profiles, each with its auth group.
    pub groups: Vec<(String, Option<String>)>,
    /// The skills that the agent may read.
    pub skills: Arc<[Skill]>,
    /// The budget that pays for the requests.
    pub budget: Budget,
    /// Commands to the run. If it is closed, the run ends: nothing can send to it any more.
    pub inbox: mpsc::UnboundedReceiver<RunCommand>,
    pub session: RunSession,
    /// Receives streamed output, which is not stored.
    pub live: Arc<dyn LiveSink>,
    pub port: AgentPort,
    /// Decides whether the task may be declared done.
    pub done_check: Arc<dyn DoneCheck>,
    pub snapshots: Arc<TurnSnapshotter>,
    pub ids: IdSource,
    pub clock: Arc<dyn Clock>,
}

/// A run that is ready to start.
pub struct PreparedRun {
    /// The display name of the model.
    pub model: String,
    /// The run. It fails if its session cannot be read or written.
    pub run: BoxFuture<'static, Result<Ending, Fault>>,
}

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

    /// Appends events, all or none. They are on disk when this returns.
    pub async fn append(&self, bodies: Vec<Body>) -> Result<Vec<Arc<Event>>, StoreError> {
        self.store.append_batch(self.task, Some(self.run), bodies).await
    }

    /// Repairs a torn end of the session file, then returns the events of the active conversation.
    pub async fn events(&self) -> Result<Vec<Event>, StoreError> {
        self.store.repair(self.task).await?;
        let (sessions, task) = (self.store.sessions().clone(), self.task);
        let read = tokio::task::spawn_blocking(move || sessions.active(task));
        Ok(read.await.map_err(|_| StoreError::Closed)??.events)
    }
}

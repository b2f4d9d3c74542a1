//! The one writer of all sessions: stamps, writes, saves, acknowledges, in that order.
//!
//! A thread of its own takes everything that arrived since it last looked, writes it with one call per session, saves
//! each touched file once, and only then answers. Under load the cost of saving is shared by everybody who waits;
//! idle, it sleeps. Invariant: an answer means that the events are in the file, behind everything answered before.

mod actor;
mod group;
mod save;

use std::path::PathBuf;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::sync::oneshot;

use crate::base::{Clock, EventId, IdSource, RunId, TaskId};
use crate::model::event::{Body, Event};
use crate::store::disk::Disk;
use crate::store::session::Sessions;
use crate::store::{Blobs, StoreError};

/// What an acknowledgement promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// It survives a loss of power.
    #[default]
    Sync,
    /// It survives a crash of the program. The disk is told to save soon after.
    Os,
}

/// A handle to the writer. Clones share it; the last one to go ends it.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    commands: mpsc::Sender<Command>,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
    sessions: Sessions,
    blobs: Blobs,
}

/// What the writer can be asked.
enum Command {
    Append {
        session: TaskId,
        run: Option<RunId>,
        bodies: Vec<Body>,
        answer: Answer,
    },
    /// A conversation copied from another session, closed by `bodies`.
    Copy {
        from: TaskId,
        to: TaskId,
        /// The last event that is copied. Nothing: the head.
        at: Option<EventId>,
        copy: Box<dyn CopyPlan>,
        answer: Answer,
    },
    /// Take what was never acknowledged out of a file that a failed write left in disorder.
    Mend {
        session: TaskId,
        answer: oneshot::Sender<Result<(), StoreError>>,
    },
    Quit,
}

/// Is shown what was acknowledged.
type Watch = Box<dyn Fn(TaskId, &[Arc<Event>]) + Send>;

type Answer = oneshot::Sender<Result<Vec<Arc<Event>>, StoreError>>;

/// Decides what closes a copied conversation: answers to its open calls, and the marker that says whose it is now.
pub trait CopyPlan: Send {
    fn closing(&self, copied: &[Event]) -> Vec<Body>;
}

impl<F: Fn(&[Event]) -> Vec<Body> + Send> CopyPlan for F {
    fn closing(&self, copied: &[Event]) -> Vec<Body> {
        self(copied)
    }
}

/// Everything the writer needs to know of the world.
pub struct Options {
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
    pub ids: IdSource,
    pub sessions: PathBuf,
    pub blobs: PathBuf,
    pub durability: Durability,
}

impl Store {
    /// Starts the writer. The caller holds the project's lock.
    pub fn start(options: Options) -> Result<Self, StoreError> {
        Self::start_watched(options, |_, _| {})
    }

    /// As [`Store::start`]. `watch` is shown everything that is acknowledged, in the order of the disk, before whoever
    /// asked for it is answered. It is called on the writer's thread and must not block.
    pub fn start_watched(
        options: Options,
        watch: impl Fn(TaskId, &[Arc<Event>]) + Send + 'static,
    ) -> Result<Self, StoreError> {
        let sessions = Sessions::new(options.disk.clone(), &options.sessions);
        let blobs = Blobs::new(options.disk.clone(), &options.blobs);
        let (commands, inbox) = mpsc::channel();
        let actor = actor::Actor::new(options, sessions.clone(), Box::new(watch));
        let thread = thread::Builder::new()
            .name("mxd-store".to_owned())
            .spawn(move || actor.run(&inbox))
            .map_err(StoreError::io("start the writer for", sessions.folder()))?;
        let inner = Inner { commands, thread: Mutex::new(Some(thread)), sessions, blobs };
        Ok(Self { inner: Arc::new(inner) })
    }

    pub fn sessions(&self) -> &Sessions {
        &self.inner.sessions
    }

    pub fn blobs(&self) -> &Blobs {
        &self.inner.blobs
    }

    /// Appends one event. Returns it as it stands in the file, once it does.
    pub async fn append(
        &self,
        session: TaskId,
        run: Option<RunId>,
        body: impl Into<Body>,
    ) -> Result<Arc<Event>, StoreError> {
        let mut events = self.append_batch(session, run, vec![body.into()]).await?;
        events.pop().ok_or(StoreError::Closed)
    }

    /// Appends several events that count together or not at all.
    pub async fn append_batch(
        &self,
        session: TaskId,
        run: Option<RunId>,
        bodies: Vec<Body>,
    ) -> Result<Vec<Arc<Event>>, StoreError> {
        if bodies.is_empty() {
            return Ok(Vec::new());
        }
        self.ask(|answer| Command::Append { session, run, bodies, answer }).await
    }

    /// As [`Store::append_batch`], asked for at once: what is asked for first stands first, whoever waits for it first.
    pub fn submit(
        &self,
        session: TaskId,
        run: Option<RunId>,
        bodies: Vec<Body>,
    ) -> impl Future<Output = Result<Vec<Arc<Event>>, StoreError>> + Send + 'static {
        let (answer, result) = oneshot::channel();
        let sent = self.inner.commands.send(Command::Append { session, run, bodies, answer });
        async move {
            sent.map_err(|_| StoreError::Closed)?;
            result.await.map_err(|_| StoreError::Closed)?
        }
    }

    /// Copies the active conversation of one session into another that has none, closed by what `plan` says.
    pub async fn copy_session(
        &self,
        from: TaskId,
        to: TaskId,
        plan: impl CopyPlan + 'static,
    ) -> Result<Vec<Arc<Event>>, StoreError> {
        self.ask(|answer| Command::Copy { from, to, at: None, copy: Box::new(plan), answer }).await
    }

    /// As [`Store::copy_session`], with the conversation as it was when `at` was its head.
    pub async fn copy_session_at(
        &self,
        from: TaskId,
        to: TaskId,
        at: EventId,
        plan: impl CopyPlan + 'static,
    ) -> Result<Vec<Arc<Event>>, StoreError> {
        self.ask(|answer| Command::Copy { from, to, at: Some(at), copy: Box::new(plan), answer }).await
    }

    /// Returns when the session's file holds what was acknowledged and nothing else, so that it can be read. Where the disk
    /// refused a write and could not take it back either, a line is left that nobody was told of; a reader must not meet it.
    pub async fn mend(&self, session: TaskId) -> Result<(), StoreError> {
        let (answer, done) = oneshot::channel();
        self.inner.commands.send(Command::Mend { session, answer }).map_err(|_| StoreError::Closed)?;
        done.await.map_err(|_| StoreError::Closed)?
    }

    /// Ends the writer after everything that was asked before. Later requests are refused.
    pub fn close(&self) {
        let thread = self.inner.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // Both fail only if the writer is gone already.
            let _ = self.inner.commands.send(Command::Quit);
            let _ = thread.join();
        }
    }

    async fn ask(&self, command: impl FnOnce(Answer) -> Command) -> Result<Vec<Arc<Event>>, StoreError> {
        let (answer, result) = oneshot::channel();
        self.inner.commands.send(command(answer)).map_err(|_| StoreError::Closed)?;
        result.await.map_err(|_| StoreError::Closed)?
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = self.commands.send(Command::Quit);
            let _ = thread.join();
        }
    }
}

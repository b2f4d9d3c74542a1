//! The writer of all sessions: stamps, writes, syncs and acknowledges events, in that order.
//!
//! Its thread takes all commands that have arrived, writes them with one call per session, syncs each file once, and
//! only then answers. Under load all waiting callers share the cost of a sync; when idle, the thread sleeps.
//! Invariant: an answer means that the events are in the file, after all events answered before.

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

/// The guarantee of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// It survives a power loss.
    #[default]
    Sync,
    /// It survives a crash of the program. The disk syncs soon after.
    Os,
}

/// A handle to the writer. Clones share it; dropping the last one stops it.
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

/// A command to the writer.
enum Command {
    Append {
        session: TaskId,
        run: Option<RunId>,
        bodies: Vec<Body>,
        answer: Answer,
    },
    /// A conversation copied from another session, followed by `bodies`.
    Copy {
        from: TaskId,
        to: TaskId,
        /// The last event to copy. `None` for the head.
        at: Option<EventId>,
        copy: Box<dyn CopyPlan>,
        answer: Answer,
    },
    /// Restores the acknowledged content of a file after a failed write.
    Repair {
        session: TaskId,
        answer: oneshot::Sender<Result<(), StoreError>>,
    },
    Quit,
}

/// A callback for acknowledged events.
type Watch = Box<dyn Fn(TaskId, &[Arc<Event>]) + Send>;

type Answer = oneshot::Sender<Result<Vec<Arc<Event>>, StoreError>>;

/// Returns the events that close a copied conversation: results for its open calls, and the fork marker.
pub trait CopyPlan: Send {
    fn closing(&self, copied: &[Event]) -> Vec<Body>;
}

impl<F: Fn(&[Event]) -> Vec<Body> + Send> CopyPlan for F {
    fn closing(&self, copied: &[Event]) -> Vec<Body> {
        self(copied)
    }
}

/// The configuration of the writer.
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

    /// Like [`Store::start`]. `watch` is called with all acknowledged events, in file order, before the caller gets
    /// its answer. It runs on the writer's thread and must not block.
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

    /// Appends one event. Returns it once it is stored.
    pub async fn append(
        &self,
        session: TaskId,
        run: Option<RunId>,
        body: impl Into<Body>,
    ) -> Result<Arc<Event>, StoreError> {
        let mut events = self.append_batch(session, run, vec![body.into()]).await?;
        events.pop().ok_or(StoreError::Closed)
    }

    /// Appends several events atomically.
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

    /// Like [`Store::append_batch`], but queued immediately: the order of calls is the order in the file, whichever
    /// future is polled first.
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

    /// Copies the active conversation of one session into an empty one, closed by the events of `plan`.
    pub async fn copy_session(
        &self,
        from: TaskId,
        to: TaskId,
        plan: impl CopyPlan + 'static,
    ) -> Result<Vec<Arc<Event>>, StoreError> {
        self.ask(|answer| Command::Copy { from, to, at: None, copy: Box::new(plan), answer }).await
    }

    /// Like [`Store::copy_session`], with the conversation as it was when `at` was its head.
    pub async fn copy_session_at(
        &self,
        from: TaskId,
        to: TaskId,
        at: EventId,
        plan: impl CopyPlan + 'static,
    ) -> Result<Vec<Arc<Event>>, StoreError> {
        self.ask(|answer| Command::Copy { from, to, at: Some(at), copy: Box::new(plan), answer }).await
    }

    /// Returns when the session's file holds exactly the acknowledged events, so that it can be read. After a failed
    /// write that could not be undone, the file may end with unacknowledged lines; readers must not see them.
    pub async fn repair(&self, session: TaskId) -> Result<(), StoreError> {
        let (answer, done) = oneshot::channel();
        self.inner.commands.send(Command::Repair { session, answer }).map_err(|_| StoreError::Closed)?;
        done.await.map_err(|_| StoreError::Closed)?
    }

    /// Stops the writer after all earlier commands. Later commands are refused.
    pub fn close(&self) {
        let thread = self.inner.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // Both fail only if the writer has already stopped.
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

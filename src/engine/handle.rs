//! The way to an engine: commands in, a snapshot and its updates out, transcripts to read.

use tokio::sync::{mpsc, oneshot, watch};

use crate::base::{Fault, TaskId, TurnId};
use crate::engine::command::{Command, Outcome};
use crate::engine::driver::Incoming;
use crate::engine::feed::Watcher;
use crate::engine::reading::{Reader, Spot};
use crate::engine::review::{DiffWish, Extent, Goal, MergePreview, RewindPreview, Seen, Solving, TaskDiff, TurnView};
use crate::engine::snapshot::Snapshot;
use crate::store::{Blobs, Sessions};

/// A running engine, as a front end has it. Clones reach the same one.
#[derive(Clone)]
pub struct Handle {
    pub(in crate::engine) incoming: mpsc::UnboundedSender<Incoming>,
    pub(in crate::engine) sessions: Sessions,
    pub(in crate::engine) blobs: Blobs,
    pub(in crate::engine) reader: Reader,
    pub(in crate::engine) over: watch::Receiver<bool>,
}

impl Handle {
    /// Carries out a command. The answer says what it came to, or why nothing was done.
    pub async fn command(&self, command: Command) -> Result<Outcome, Fault> {
        let (answer, result) = oneshot::channel();
        self.incoming.send(Incoming::Command { command, answer }).map_err(|_| over())?;
        result.await.unwrap_or_else(|_| Err(over()))
    }

    /// Returns what there is to see, and everything that changes from then on.
    pub async fn look(&self) -> Result<(Snapshot, Watcher), Fault> {
        let (answer, result) = oneshot::channel();
        self.incoming.send(Incoming::Look { answer }).map_err(|_| over())?;
        result.await.map_err(|_| over())
    }

    /// Returns the sessions, for reading.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    pub fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    /// Returns where a task works and where its work goes.
    pub async fn spot(&self, task: TaskId) -> Result<Spot, Fault> {
        let (answer, result) = oneshot::channel();
        self.incoming.send(Incoming::Spot { task, answer }).map_err(|_| over())?;
        result.await.unwrap_or_else(|_| Err(over()))
    }

    /// Returns what a task changed.
    pub async fn diff(&self, task: TaskId, wish: DiffWish) -> Result<TaskDiff, Fault> {
        self.reader.diff(&self.spot(task).await?, wish).await
    }

    /// Returns the turns of a task's conversation, oldest first.
    pub async fn turns(&self, task: TaskId) -> Result<Vec<TurnView>, Fault> {
        self.reader.turns(task).await
    }

    /// Finds out what bringing a task's work into another branch would do.
    pub async fn merge_preview(&self, task: TaskId, goal: Goal) -> Result<MergePreview, Fault> {
        self.reader.merge_preview(&self.spot(task).await?, goal).await
    }

    /// Writes drafts of what a task's work conflicts about, for the person to solve, and says where. Then
    /// [`crate::engine::command::OnConflict::Solved`] merges.
    pub async fn prepare_solving(&self, task: TaskId, goal: Goal) -> Result<Solving, Fault> {
        self.reader.prepare_solving(&self.spot(task).await?, goal).await
    }

    /// Finds out what going back to after a turn would undo, and what not. Nothing: to before the first one.
    pub async fn rewind_preview(
        &self,
        task: TaskId,
        to: Option<TurnId>,
        extent: Extent,
    ) -> Result<RewindPreview, Fault> {
        self.reader.rewind_preview(&self.spot(task).await?, to, extent).await
    }

    /// Returns what the person has seen of a task's work.
    pub async fn seen(&self, task: TaskId) -> Result<Seen, Fault> {
        self.reader.seen(task).await
    }

    /// Remembers what the person has seen of a task's work.
    pub async fn mark_seen(&self, task: TaskId, seen: Seen) -> Result<(), Fault> {
        self.reader.mark_seen(task, seen).await
    }

    /// Stops everything, keeps everything, and waits until it is so.
    pub async fn quit(&self) {
        // An engine that is over already has nothing to say to this.
        let _ = self.command(Command::Quit).await;
        self.ended().await;
    }

    /// Waits until the engine is over.
    pub async fn ended(&self) {
        let mut over = self.over.clone();
        let _ = over.wait_for(|over| *over).await;
    }
}

fn over() -> Fault {
    Fault::environment("the engine has ended")
}

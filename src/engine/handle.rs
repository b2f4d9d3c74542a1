//! The way to an engine: commands in, a snapshot and its updates out, transcripts to read.

use tokio::sync::{mpsc, oneshot, watch};

use crate::base::Fault;
use crate::engine::command::{Command, Outcome};
use crate::engine::driver::Incoming;
use crate::engine::feed::Watcher;
use crate::engine::snapshot::Snapshot;
use crate::store::{Blobs, Sessions};

/// A running engine, as a front end has it. Clones reach the same one.
#[derive(Clone)]
pub struct Handle {
    pub(in crate::engine) incoming: mpsc::UnboundedSender<Incoming>,
    pub(in crate::engine) sessions: Sessions,
    pub(in crate::engine) blobs: Blobs,
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

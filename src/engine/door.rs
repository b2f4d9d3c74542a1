//! The way from an agent's tools to the engine: a request goes in, what the model reads comes back.

use tokio::sync::{mpsc, oneshot};

use crate::base::TaskId;
use crate::engine::request::Request;

/// A request on its way, and where its answer goes.
#[derive(Debug)]
pub struct Knock {
    pub task: TaskId,
    pub request: Request,
    pub answer: oneshot::Sender<Result<String, String>>,
}

/// The door of one task.
#[derive(Clone, Debug)]
pub struct Door {
    task: TaskId,
    knocks: mpsc::UnboundedSender<Knock>,
}

impl Door {
    pub fn new(task: TaskId, knocks: mpsc::UnboundedSender<Knock>) -> Self {
        Self { task, knocks }
    }

    pub fn task(&self) -> TaskId {
        self.task
    }

    /// Asks, and waits for the answer.
    pub async fn ask(&self, request: Request) -> Result<String, String> {
        let (answer, result) = oneshot::channel();
        let gone = || "Not done: Matrix is shutting down.".to_owned();
        self.knocks.send(Knock { task: self.task, request, answer }).map_err(|_| gone())?;
        result.await.unwrap_or_else(|_| Err(gone()))
    }
}

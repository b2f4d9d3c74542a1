//! The port through which an agent's tools reach the engine. It carries the same commands and queries that a front end
//! sends, with the agent as the actor.
//!
//! A model may write any address of a task, such as `#12` or a prefix of its id. The port resolves it, so the code behind it only sees complete ids.

use tokio::sync::{mpsc, oneshot};

use crate::base::{Fault, TaskId};
use crate::engine::command::{Command, Outcome};
use crate::engine::query::{TaskCard, TaskHits, TaskRef, TreeAnswer, TreeQuery, TreeRow, Unfinished};
use crate::model::event::Verdict;

/// A request of an agent, with the channel for the answer.
#[derive(Debug)]
pub struct AgentRequest {
    pub task: TaskId,
    pub call: AgentCall,
}

#[derive(Debug)]
pub enum AgentCall {
    Command { command: Command, answer: oneshot::Sender<Result<Outcome, Fault>> },
    Query { query: TreeQuery, answer: oneshot::Sender<Result<TreeAnswer, Fault>> },
}

#[derive(Clone, Debug)]
pub struct AgentPort {
    task: TaskId,
    requests: mpsc::UnboundedSender<AgentRequest>,
}

/// Returns the payload of an answer, or a fault if it is the answer to another query.
macro_rules! expect_tree_answer {
    ($answer:expr, $name:ident) => {
        match $answer {
            TreeAnswer::$name(data) => Ok(data),
            other => Err(Fault::internal(format!("the engine answered a {} query with {other:?}", stringify!($name)))),
        }
    };
}

impl AgentPort {
    pub fn new(task: TaskId, requests: mpsc::UnboundedSender<AgentRequest>) -> Self {
        Self { task, requests }
    }

    pub fn task(&self) -> TaskId {
        self.task
    }

    /// Sends a command and waits for its outcome.
    pub async fn command(&self, command: Command) -> Result<Outcome, Fault> {
        self.ask(|answer| AgentCall::Command { command, answer }).await
    }

    pub async fn query(&self, query: TreeQuery) -> Result<TreeAnswer, Fault> {
        self.ask(|answer| AgentCall::Query { query, answer }).await
    }

    async fn ask<T>(&self, call: impl FnOnce(oneshot::Sender<Result<T, Fault>>) -> AgentCall) -> Result<T, Fault> {
        let (answer, result) = oneshot::channel();
        let gone = || Fault::environment("Not done: Matrix is shutting down.");
        self.requests.send(AgentRequest { task: self.task, call: call(answer) }).map_err(|_| gone())?;
        result.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Returns the task that the address `name` names.
    pub async fn find(&self, name: &str) -> Result<TaskRef, Fault> {
        let found = self.query(TreeQuery::Find { name: name.to_owned() }).await;
        let found = found.map_err(|fault| fault.hint("get_tree lists the tasks with their ids"))?;
        expect_tree_answer!(found, Find)
    }

    /// Returns the id of the task that `name` identifies, or the agent's own task if `name` is `None`.
    pub async fn id_or_own(&self, name: Option<&str>) -> Result<TaskId, Fault> {
        match name {
            Some(name) => Ok(self.find(name).await?.id),
            None => Ok(self.task),
        }
    }

    pub async fn rows(&self, below: Option<TaskId>) -> Result<Vec<TreeRow>, Fault> {
        expect_tree_answer!(self.query(TreeQuery::Rows { below }).await?, Rows)
    }

    pub async fn card(&self, task: TaskId) -> Result<TaskCard, Fault> {
        expect_tree_answer!(self.query(TreeQuery::Task { task }).await?, Task).map(|card| *card)
    }

    pub async fn search(&self, words: String, limit: usize) -> Result<TaskHits, Fault> {
        expect_tree_answer!(self.query(TreeQuery::Search { words, limit }).await?, Search)
    }

    /// Returns what blocks the agent's own task from being done, or `None`.
    pub async fn unfinished(&self, verdict: Verdict) -> Result<Option<Unfinished>, Fault> {
        expect_tree_answer!(self.query(TreeQuery::MayFinish { task: self.task, verdict }).await?, MayFinish)
    }
}

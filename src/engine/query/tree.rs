//! Queries about the current tree. The engine's loop answers them from memory, in order with commands.

use serde::{Deserialize, Serialize};

use crate::base::{MicroUsd, TaskId};
use crate::model::TaskNode;
use crate::model::event::Verdict;
use crate::model::task::{Recurring, Status, TaskNumber};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum TreeQuery {
    /// The task that an address names: see [`crate::model::address`].
    Find { name: String },
    /// A task and everything below it, in tree order. `None` starts at the root.
    Rows { below: Option<TaskId> },
    /// The details of a task.
    Task { task: TaskId },
    /// The tasks that match the words best, including closed ones.
    Search { words: String, limit: usize },
    /// Whether a task may be declared done.
    MayFinish { task: TaskId, verdict: Verdict },
}

/// The answer to the [`TreeQuery`] of the same name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "about", content = "data", rename_all = "snake_case")]
pub enum TreeAnswer {
    Find(TaskRef),
    Rows(Vec<TreeRow>),
    Task(Box<TaskCard>),
    Search(TaskHits),
    /// The reason why the task cannot be done yet, or `None`.
    MayFinish(Option<Unfinished>),
}

/// The id, title and parent of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TaskRef {
    pub id: TaskId,
    pub title: String,
    pub parent: Option<TaskId>,
}

impl TaskRef {
    pub fn of(node: &TaskNode) -> Self {
        Self { id: node.id, title: node.title.clone(), parent: node.parent }
    }
}

/// A row of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TreeRow {
    pub id: TaskId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<TaskNumber>,
    /// The depth below the first row.
    pub depth: usize,
    pub status: Status,
    pub title: String,
    pub working: bool,
    /// The number of open questions to the user.
    pub asks: usize,
    pub recurring: Recurring,
}

/// The details of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TaskCard {
    /// With the effective budget.
    pub node: TaskNode,
    pub parent: Option<TaskRef>,
    pub cost: MicroUsd,
}

/// The tasks that match a search, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TaskHits {
    pub hits: Vec<TaskHit>,
    /// The number of matches, including those not in `hits`.
    pub total: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TaskHit {
    pub id: TaskId,
    pub status: Status,
    pub title: String,
    /// A matching line of its results or its description.
    pub excerpt: Option<String>,
}

/// Why a task cannot be declared done yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unfinished {
    /// These sub tasks are in progress.
    SubTasks(Vec<TaskRef>),
    /// The number of open questions to the user.
    Questions(usize),
}

//! Queries about the tree as it is at this moment: the engine's loop answers them from memory, in the order in which commands
//! and queries come in.

use serde::{Deserialize, Serialize};

use crate::base::{MicroUsd, TaskId};
use crate::model::TaskNode;
use crate::model::event::Verdict;
use crate::model::task::{Recurring, Status};

/// A question about the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum TreeQuery {
    /// The task with this id, or the only one whose id begins with it.
    Find { name: String },
    /// A task and everything below it, in the order of the tree. `None` for the root.
    Rows { below: Option<TaskId> },
    /// Everything about one task.
    Task { task: TaskId },
    /// The tasks that mention words best, closed ones included.
    Search { words: String, limit: usize },
    /// Whether a task may be declared done.
    MayFinish { task: TaskId, verdict: Verdict },
}

/// The answer to the [`TreeQuery`] of the same name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "about", content = "data", rename_all = "snake_case")]
pub enum TreeAnswer {
    Find(TaskRef),
    Rows(Vec<TreeRow>),
    Task(Box<TaskCard>),
    Search(TaskHits),
    /// What has to happen first. `None` if nothing has.
    MayFinish(Option<Unfinished>),
}

/// A task, as far as its name goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// A line of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeRow {
    pub id: TaskId,
    /// How far below the first row it is.
    pub depth: usize,
    pub status: Status,
    pub title: String,
    pub working: bool,
    /// How many questions wait for the user.
    pub asks: usize,
    pub recurring: Recurring,
}

/// Everything about one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskCard {
    /// With the budget that applies to it.
    pub node: TaskNode,
    pub parent: Option<TaskRef>,
    pub cost: MicroUsd,
}

/// The tasks that match a search, the best first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskHits {
    pub hits: Vec<TaskHit>,
    /// How many match, shown or not.
    pub total: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskHit {
    pub id: TaskId,
    pub status: Status,
    pub title: String,
    /// A line of its results or its description that matches.
    pub excerpt: Option<String>,
}

/// Why a task cannot be declared done yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unfinished {
    /// These sub tasks are in progress.
    SubTasks(Vec<TaskRef>),
    /// So many of its questions wait for the user.
    Questions(usize),
}

//! Lists over the tasks of a project as the disk has them, so that they can be made beside an engine at work.

use serde::{Deserialize, Serialize};

use crate::base::{MicroUsd, TaskId};
use crate::model::usage::Tokens;
use crate::model::work::QueuedMerge;
use crate::model::{Ask, TaskNode};

/// A list, and what could not be read for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct List<T> {
    pub rows: Vec<T>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A task of the tree with the totals of its session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskRow {
    #[serde(flatten)]
    pub node: TaskNode,
    pub depth: usize,
    pub cost: MicroUsd,
    /// The price of a response is not known: the cost is at least this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpriced: bool,
    pub tokens: u64,
    pub turns: u64,
    pub pending_messages: usize,
    pub asks: usize,
    /// The merge that waits for a pause of another task's agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_merge: Option<QueuedMerge>,
    /// When a recurring task runs, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
}

/// A question that waits for the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskRow {
    pub task: TaskId,
    pub title: String,
    #[serde(flatten)]
    pub ask: Ask,
}

/// One task, which may have been deleted, with the totals of its session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSummary {
    pub project: String,
    pub task: TaskId,
    /// `None` if the task is not in the tree any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<TaskNode>,
    pub cost: MicroUsd,
    pub tokens: u64,
}

/// What costs are added up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostsBy {
    Task,
    Model,
    Day,
}

/// What one task, model or day cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostRow {
    /// The task's title, the model or the day. Empty for a deleted task.
    pub name: String,
    /// The task, where costs are added up by task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    pub responses: u64,
    pub tokens: u64,
    pub cost: MicroUsd,
    /// How many responses have no known price: the cost is a lower bound.
    pub unpriced: u64,
}

impl CostRow {
    pub fn add(&mut self, tokens: &Tokens, cost: Option<MicroUsd>) {
        self.responses += 1;
        self.tokens = self.tokens.saturating_add(tokens.total());
        match cost {
            Some(cost) => self.cost += cost,
            None => self.unpriced += 1,
        }
    }
}

//! Rows of lists over a project's tasks. They are read from the disk, so they need no running engine.

use serde::{Deserialize, Serialize};

use crate::base::{MicroUsd, TaskId};
use crate::model::usage::Tokens;
use crate::model::work::QueuedMerge;
use crate::model::{Ask, TaskNode};

/// A list, with warnings about data that could not be read.
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
    /// The price of some responses is unknown, so the cost is a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpriced: bool,
    pub tokens: u64,
    pub turns: u64,
    pub pending_messages: usize,
    pub asks: usize,
    /// A merge that waits until another task's agent pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_merge: Option<QueuedMerge>,
    /// When a recurring task runs, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
}

/// An open question to the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskRow {
    pub task: TaskId,
    pub title: String,
    #[serde(flatten)]
    pub ask: Ask,
}

/// A task, deleted or not, with the totals of its session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSummary {
    pub project: String,
    pub task: TaskId,
    /// `None` if the task is no longer in the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<TaskNode>,
    pub cost: MicroUsd,
    pub tokens: u64,
}

/// How costs are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostsBy {
    Task,
    Model,
    Day,
}

/// The cost of one task, model or day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostRow {
    /// The task's title, the model or the day. Empty for a deleted task.
    pub name: String,
    /// Set if costs are grouped by task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    pub responses: u64,
    pub tokens: u64,
    pub cost: MicroUsd,
    /// How many responses have no known price. If not 0, the cost is a lower bound.
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

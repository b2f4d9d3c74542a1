//! Rows of lists over a project's tasks. They are read from the disk, so they need no running engine.

use serde::{Deserialize, Serialize};

use crate::base::{MicroUsd, TaskId};
use crate::engine::snapshot::{TaskState, TaskView};
use crate::model::usage::Tokens;
use crate::model::work::QueuedMerge;
use crate::model::{Ask, TaskNode, TaskNumber};

/// A list, with warnings about data that could not be read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct List<T> {
    pub rows: Vec<T>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A task of the tree with the totals of its session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TaskRow {
    #[serde(flatten)]
    pub node: TaskNode,
    pub depth: usize,
    /// Its status, and while it is in progress what it does or waits for.
    pub state: TaskState,
    #[serde(rename = "cost_micro_usd", alias = "cost")]
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

impl TaskRow {
    /// Returns the row of a task whose session is empty.
    pub fn of(node: TaskNode) -> Self {
        Self {
            state: TaskView::of(node.clone()).state(),
            node,
            depth: 0,
            cost: MicroUsd::ZERO,
            unpriced: false,
            tokens: 0,
            turns: 0,
            pending_messages: 0,
            asks: 0,
            queued_merge: None,
            schedule: None,
        }
    }
}

/// An open question to the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AskRow {
    pub task: TaskId,
    pub title: String,
    #[serde(flatten)]
    pub ask: Ask,
    /// Other tasks with the same problem. The answer counts for them, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<TaskId>,
}

impl AskRow {
    /// Joins questions about the failure of one auth group. The oldest stands for them.
    pub fn joined(rows: Vec<Self>) -> Vec<Self> {
        let mut joined: Vec<Self> = Vec::with_capacity(rows.len());
        for mut row in rows {
            let group = row.ask.failed_group();
            match joined.iter_mut().find(|known| group.is_some() && known.ask.failed_group() == group) {
                Some(known) => {
                    if row.ask.id < known.ask.id {
                        row.also = std::mem::take(&mut known.also);
                        std::mem::swap(known, &mut row);
                    }
                    known.also.push(row.task);
                }
                None => joined.push(row),
            }
        }
        joined
    }
}

/// A task, deleted or not, with the totals of its session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TaskSummary {
    pub project: String,
    pub task: TaskId,
    /// `None` if the task is no longer in the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<TaskNode>,
    #[serde(rename = "cost_micro_usd", alias = "cost")]
    pub cost: MicroUsd,
    pub tokens: u64,
}

/// How costs are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CostsBy {
    Task,
    Model,
    Day,
}

/// The cost of one task, model or day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CostRow {
    /// The task's title, the model or the day. Empty for a deleted task.
    pub name: String,
    /// Set if costs are grouped by task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Set if costs are grouped by task and the task is in the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<TaskNumber>,
    pub responses: u64,
    pub tokens: u64,
    #[serde(rename = "cost_micro_usd", alias = "cost")]
    pub cost: MicroUsd,
    /// How many responses have no known price. If not 0, the cost is a lower bound.
    #[serde(rename = "unpriced_responses", alias = "unpriced")]
    pub unpriced: u64,
    /// Tool calls, and how many of them asked for permission.
    #[serde(default)]
    pub calls: u64,
    #[serde(default)]
    pub asked: u64,
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

    /// Adds the numbers of another row.
    pub fn merge(&mut self, other: &Self) {
        self.responses += other.responses;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost += other.cost;
        self.unpriced += other.unpriced;
        self.calls += other.calls;
        self.asked += other.asked;
    }
}

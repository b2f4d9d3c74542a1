//! Answers queries about the tree, as data.

use crate::base::{Fault, TaskId};
use crate::engine::machine::Machine;
use crate::engine::query::{TaskCard, TaskRef, TreeAnswer, TreeQuery, TreeRow, Unfinished};
use crate::engine::task_search;
use crate::model::event::Verdict;
use crate::model::task::{Status, TaskNode};
use crate::model::{Ask, AskKind};

impl Machine {
    pub fn query(&self, query: &TreeQuery) -> Result<TreeAnswer, Fault> {
        Ok(match query {
            TreeQuery::Find { name } => {
                let found = self.tree.find(name).map_err(|error| Fault::user(error.to_string()))?;
                TreeAnswer::Find(TaskRef::of(found))
            }
            TreeQuery::Rows { below } => TreeAnswer::Rows(self.rows(below.unwrap_or(self.tree.root_id()))),
            TreeQuery::Task { task } => {
                let node = self.node(*task)?;
                TreeAnswer::Task(Box::new(TaskCard {
                    node: TaskNode { budget: self.budget_of(node), ..node.clone() },
                    parent: node.parent.and_then(|above| self.tree.get(above)).map(TaskRef::of),
                    cost: self.facts(*task).cost,
                }))
            }
            TreeQuery::Search { words, limit } => TreeAnswer::Search(task_search::search(&self.tree, words, *limit)),
            TreeQuery::MayFinish { task, verdict } => TreeAnswer::MayFinish(self.unfinished(*task, *verdict)),
        })
    }

    fn rows(&self, top: TaskId) -> Vec<TreeRow> {
        let base = self.tree.depth(top);
        let row = |node: &TaskNode| {
            let facts = self.facts(node.id);
            TreeRow {
                id: node.id,
                number: node.number,
                depth: self.tree.depth(node.id) - base,
                status: node.status,
                title: node.title.clone(),
                working: facts.working,
                asks: facts.asks,
                recurring: node.recurring,
            }
        };
        self.tree.walk(top).map(row).collect()
    }

    /// Returns why a task may not finish yet.
    fn unfinished(&self, task: TaskId, verdict: Verdict) -> Option<Unfinished> {
        let in_progress = |node: &&TaskNode| node.status == Status::InProgress && !self.is_known_to_parent(node.id);
        let running: Vec<TaskRef> = self.tree.walk(task).skip(1).filter(in_progress).map(TaskRef::of).collect();
        if !running.is_empty() {
            return Some(Unfinished::SubTasks(running));
        }
        // Approvals are not questions of the agent.
        let own = |ask: &&Ask| !matches!(ask.kind(), AskKind::McpApproval | AskKind::Approval);
        let asks = self.runtimes.get(&task).map_or(0, |runtime| runtime.state.asks.iter().filter(own).count());
        (asks > 0 && verdict == Verdict::Passed).then_some(Unfinished::Questions(asks))
    }
}

//! The mirror of the project as the engine last reported it: all tasks, subtree sums and open Asks.
//!
//! The panes read it and never change it. Sums are updated along the ancestors of a changed task, so an update does
//! not depend on the number of tasks.

use std::collections::BTreeMap;

use crate::base::{AskId, TaskId};
use crate::engine::snapshot::{ProjectView, Snapshot, TaskView};
use crate::model::tree::{Attention, Facts, RollUp};
use crate::model::{Ask, TaskNode};

#[derive(Clone, Debug)]
pub struct ProjectState {
    pub info: ProjectView,
    root: TaskId,
    tasks: BTreeMap<TaskId, TaskView>,
    sums: BTreeMap<TaskId, RollUp>,
    tokens: u64,
    /// The number of tasks whose label changes with time alone: a retry or a deadline.
    timed: usize,
    /// Counts changes that affect a task list: positions, titles, states.
    revision: u64,
    /// Counts changes of the tree structure.
    shape: u64,
    /// Counts changes of the open Asks.
    asks: u64,
}

impl ProjectState {
    pub fn new(snapshot: Snapshot) -> Self {
        let mut state = Self {
            info: snapshot.project,
            root: snapshot.root,
            tasks: snapshot.tasks.into_iter().map(|task| (task.node.id, task)).collect(),
            sums: BTreeMap::new(),
            tokens: 0,
            timed: 0,
            revision: 0,
            shape: 0,
            asks: 0,
        };
        state.tokens = state.tasks.values().map(tokens).sum();
        state.timed = state.tasks.values().filter(|task| is_timed(task)).count();
        let order: Vec<_> = state.walk(state.root).collect();
        order.iter().rev().for_each(|id| state.update_sum(*id));
        state
    }

    /// Replaces the state with a newer one, or with another project, and keeps the counters increasing.
    pub fn replace(&mut self, snapshot: Snapshot) {
        let (revision, shape, asks) = (self.revision + 1, self.shape + 1, self.asks + 1);
        *self = Self { revision, shape, asks, ..Self::new(snapshot) };
    }

    pub fn root(&self) -> TaskId {
        self.root
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub fn shape(&self) -> u64 {
        self.shape
    }

    pub fn asks_revision(&self) -> u64 {
        self.asks
    }

    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Always false: there is a root. Clippy wants it beside `len`.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    pub fn task(&self, id: TaskId) -> Option<&TaskView> {
        self.tasks.get(&id)
    }

    /// Returns true if the task is known and its parent lists it. The two updates arrive one after the other.
    pub fn is_in_tree(&self, id: TaskId) -> bool {
        self.node(id).is_some_and(|node| match node.parent {
            Some(parent) => self.node(parent).is_some_and(|parent| parent.children.contains(&id)),
            None => true,
        })
    }

    pub fn node(&self, id: TaskId) -> Option<&TaskNode> {
        self.tasks.get(&id).map(|task| &task.node)
    }

    pub fn tasks(&self) -> impl Iterator<Item = &TaskView> {
        self.tasks.values()
    }

    pub fn title(&self, id: TaskId) -> String {
        self.node(id).map_or_else(|| id.short(), |node| crate::base::sanitize::line(&node.title).into_owned())
    }

    /// Returns the sum over a task and its subtree.
    pub fn sum(&self, id: TaskId) -> RollUp {
        self.sums.get(&id).copied().unwrap_or_default()
    }

    /// Returns the sum over all tasks.
    pub fn total(&self) -> RollUp {
        self.sum(self.root)
    }

    /// Returns true if something on the screen changes with time alone.
    pub fn changes_with_time(&self) -> bool {
        self.total().working > 0 || self.timed > 0
    }

    /// Returns the number of background processes.
    pub fn running_processes(&self) -> usize {
        self.tasks.values().map(|task| task.processes.len()).sum()
    }

    pub fn total_tokens(&self) -> u64 {
        self.tokens
    }

    /// Returns the highest attention of the subtasks of `id`.
    pub fn attention_below(&self, id: TaskId) -> Attention {
        let children = self.node(id).map(|node| node.children.as_slice()).unwrap_or_default();
        children.iter().map(|child| self.sum(*child).attention).max().unwrap_or_default()
    }

    /// Returns `id` and its subtree in display order.
    pub fn walk(&self, id: TaskId) -> impl Iterator<Item = TaskId> {
        let mut stack: Vec<_> = self.tasks.get(&id).map(|task| task.node.id).into_iter().collect();
        // Guards against a cycle written by another process: no walk is longer than the tree.
        let mut left = self.tasks.len();
        std::iter::from_fn(move || {
            let id = stack.pop().filter(|_| left > 0)?;
            left -= 1;
            let children = self.tasks.get(&id).map(|task| task.node.children.as_slice()).unwrap_or_default();
            stack.extend(children.iter().rev().filter(|child| self.tasks.contains_key(child)));
            Some(id)
        })
    }

    /// Returns the ancestors of `id`, nearest first.
    pub fn ancestors(&self, id: TaskId) -> impl Iterator<Item = TaskId> {
        let parent = |id: TaskId| self.tasks.get(&id).and_then(|task| task.node.parent);
        std::iter::successors(parent(id), move |id| parent(*id)).take(self.tasks.len())
    }

    /// Returns all open Asks in tree order, oldest first within a task.
    pub fn pending_asks(&self) -> Vec<(TaskId, &Ask)> {
        let asking = self.walk(self.root).filter_map(|id| self.tasks.get(&id));
        asking.flat_map(|task| task.asks.iter().map(|ask| (task.node.id, ask))).collect()
    }

    pub fn ask(&self, id: AskId) -> Option<(TaskId, &Ask)> {
        self.tasks.values().find_map(|task| task.asks.iter().find(|ask| ask.id == id).map(|ask| (task.node.id, ask)))
    }

    /// Adds or replaces a task. Returns true if something changed.
    pub fn put(&mut self, task: TaskView) -> bool {
        let id = task.node.id;
        if self.tasks.get(&id) == Some(&task) {
            return false;
        }
        self.tokens = self.tokens.saturating_add(tokens(&task));
        self.timed += usize::from(is_timed(&task));
        let before = self.tasks.insert(id, task);
        let after = &self.tasks[&id];
        let Some(before) = before else {
            self.shape += 1;
            self.asks += u64::from(!after.asks.is_empty());
            self.on_changed(id, None);
            return true;
        };
        self.tokens = self.tokens.saturating_sub(tokens(&before));
        self.timed -= usize::from(is_timed(&before));
        if before.node.children != after.node.children || before.node.parent != after.node.parent {
            self.shape += 1;
        }
        if before.asks != after.asks || before.node.title != after.node.title {
            self.asks += 1;
        }
        self.on_changed(id, before.node.parent);
        true
    }

    /// Removes a task and its subtree.
    pub fn remove(&mut self, id: TaskId) {
        let gone: Vec<_> = self.walk(id).collect();
        let parent = self.node(id).and_then(|node| node.parent);
        for id in gone {
            if let Some(task) = self.tasks.remove(&id) {
                self.tokens = self.tokens.saturating_sub(tokens(&task));
                self.timed -= usize::from(is_timed(&task));
            }
            self.sums.remove(&id);
        }
        if let Some(task) = parent.and_then(|parent| self.tasks.get_mut(&parent)) {
            task.node.children.retain(|child| *child != id);
        }
        self.shape += 1;
        self.asks += 1;
        if let Some(parent) = parent {
            self.on_changed(parent, None);
        }
    }

    /// Sets the activity of a task without a new view of it.
    pub fn set_activity(&mut self, id: TaskId, activity: crate::model::live::Activity) {
        if let Some(task) = self.tasks.get_mut(&id).filter(|task| task.activity != activity) {
            task.activity = activity;
            self.on_changed(id, None);
        }
    }

    fn on_changed(&mut self, id: TaskId, old_parent: Option<TaskId>) {
        self.revision += 1;
        self.update_sum(id);
        let above: Vec<_> = self.ancestors(id).collect();
        above.into_iter().for_each(|id| self.update_sum(id));
        let parent = self.node(id).and_then(|node| node.parent);
        if let Some(old) = old_parent.filter(|old| Some(*old) != parent && self.tasks.contains_key(old)) {
            self.update_sum(old);
            let above: Vec<_> = self.ancestors(old).collect();
            above.into_iter().for_each(|id| self.update_sum(id));
        }
    }

    fn update_sum(&mut self, id: TaskId) {
        let Some(task) = self.tasks.get(&id) else { return };
        let facts = Facts {
            cost: task.usage.cost(),
            asks: task.asks.len(),
            working: task.is_working(),
            stuck: task.is_stuck(),
        };
        let mut sum = RollUp::of(&task.node, facts);
        for child in &task.node.children {
            if let Some(below) = self.sums.get(child) {
                sum += *below;
            }
        }
        self.sums.insert(id, sum);
    }
}

fn is_timed(task: &TaskView) -> bool {
    task.retry.is_some() || task.asks.iter().any(|ask| ask.deadline.is_some())
}

fn tokens(task: &TaskView) -> u64 {
    task.usage.tokens().total()
}

#[cfg(test)]
#[path = "project_state_tests.rs"]
mod tests;

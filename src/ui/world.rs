//! The project as the engine last told it: every task, what lies below it, and what waits for the person.
//!
//! The panes read it and never change it. Every sum is kept up to date along the chain of tasks above a change, so
//! that thousands of tasks cost nothing while one of them works.

use std::collections::BTreeMap;

use crate::base::{AskId, TaskId};
use crate::engine::snapshot::{ProjectView, Snapshot, TaskView};
use crate::model::tree::{Attention, Facts, RollUp};
use crate::model::{Ask, TaskNode};

/// The mirror of a project.
#[derive(Clone, Debug)]
pub struct World {
    pub project: ProjectView,
    root: TaskId,
    tasks: BTreeMap<TaskId, TaskView>,
    sums: BTreeMap<TaskId, RollUp>,
    tokens: u64,
    /// How many tasks say something that changes with time alone: a retry or a deadline.
    timed: usize,
    /// Counts changes of what a list of tasks depends on: places, titles, states.
    revision: u64,
    /// Counts changes of places alone.
    shape: u64,
    /// Counts changes of what waits for the person.
    asks: u64,
}

impl World {
    pub fn new(snapshot: Snapshot) -> Self {
        let mut world = Self {
            project: snapshot.project,
            root: snapshot.root,
            tasks: snapshot.tasks.into_iter().map(|task| (task.node.id, task)).collect(),
            sums: BTreeMap::new(),
            tokens: 0,
            timed: 0,
            revision: 0,
            shape: 0,
            asks: 0,
        };
        world.tokens = world.tasks.values().map(tokens).sum();
        world.timed = world.tasks.values().filter(|task| is_timed(task)).count();
        let order: Vec<_> = world.walk(world.root).collect();
        order.iter().rev().for_each(|id| world.sum_up(*id));
        world
    }

    /// Takes a newer state of the same project, or another project, and keeps the counters going.
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

    /// Never: there is a root. Here because a length without it looks wrong.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    pub fn task(&self, id: TaskId) -> Option<&TaskView> {
        self.tasks.get(&id)
    }

    /// Returns true if the task is known and the task above it lists it: of two updates one arrives first.
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

    /// Returns the title of a task, for sentences about it.
    pub fn title(&self, id: TaskId) -> String {
        self.node(id).map_or_else(|| id.short(), |node| crate::base::sanitize::line(&node.title).into_owned())
    }

    /// Returns the sum over a task and everything below it.
    pub fn sum(&self, id: TaskId) -> RollUp {
        self.sums.get(&id).copied().unwrap_or_default()
    }

    /// Returns the sum over everything.
    pub fn total(&self) -> RollUp {
        self.sum(self.root)
    }

    /// Tells whether something that is said changes with time alone.
    pub fn is_counting(&self) -> bool {
        self.total().working > 0 || self.timed > 0
    }

    pub fn total_tokens(&self) -> u64 {
        self.tokens
    }

    /// Returns how much the tasks below `id`, without itself, need to be looked at.
    pub fn attention_below(&self, id: TaskId) -> Attention {
        let children = self.node(id).map(|node| node.children.as_slice()).unwrap_or_default();
        children.iter().map(|child| self.sum(*child).attention).max().unwrap_or_default()
    }

    /// Returns `id` and everything below it, in the order the person sees.
    pub fn walk(&self, id: TaskId) -> impl Iterator<Item = TaskId> {
        let mut stack: Vec<_> = self.tasks.get(&id).map(|task| task.node.id).into_iter().collect();
        // Guards against a cycle in what another process wrote: no walk is longer than the tree.
        let mut left = self.tasks.len();
        std::iter::from_fn(move || {
            let id = stack.pop().filter(|_| left > 0)?;
            left -= 1;
            let children = self.tasks.get(&id).map(|task| task.node.children.as_slice()).unwrap_or_default();
            stack.extend(children.iter().rev().filter(|child| self.tasks.contains_key(child)));
            Some(id)
        })
    }

    /// Returns the tasks above `id`, nearest first.
    pub fn above(&self, id: TaskId) -> impl Iterator<Item = TaskId> {
        let parent = |id: TaskId| self.tasks.get(&id).and_then(|task| task.node.parent);
        std::iter::successors(parent(id), move |id| parent(*id)).take(self.tasks.len())
    }

    /// Returns everything that waits for the person, in the order of the tree, oldest first within a task.
    pub fn pending_asks(&self) -> Vec<(TaskId, &Ask)> {
        let asking = self.walk(self.root).filter_map(|id| self.tasks.get(&id));
        asking.flat_map(|task| task.asks.iter().map(|ask| (task.node.id, ask))).collect()
    }

    pub fn ask(&self, id: AskId) -> Option<(TaskId, &Ask)> {
        self.tasks.values().find_map(|task| task.asks.iter().find(|ask| ask.id == id).map(|ask| (task.node.id, ask)))
    }

    /// Takes in a task that is new or different. Tells whether it is.
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
            self.touched(id, None);
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
        self.touched(id, before.node.parent);
        true
    }

    /// Takes a task out, with what lies below it.
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
            self.touched(parent, None);
        }
    }

    /// Says what a task does without a new view of it.
    pub fn set_activity(&mut self, id: TaskId, activity: crate::model::live::Activity) {
        if let Some(task) = self.tasks.get_mut(&id).filter(|task| task.activity != activity) {
            task.activity = activity;
            self.touched(id, None);
        }
    }

    fn touched(&mut self, id: TaskId, old_parent: Option<TaskId>) {
        self.revision += 1;
        self.sum_up(id);
        let above: Vec<_> = self.above(id).collect();
        above.into_iter().for_each(|id| self.sum_up(id));
        let parent = self.node(id).and_then(|node| node.parent);
        if let Some(old) = old_parent.filter(|old| Some(*old) != parent && self.tasks.contains_key(old)) {
            self.sum_up(old);
            let above: Vec<_> = self.above(old).collect();
            above.into_iter().for_each(|id| self.sum_up(id));
        }
    }

    fn sum_up(&mut self, id: TaskId) {
        let Some(task) = self.tasks.get(&id) else { return };
        let facts = Facts { cost: task.usage.cost(), asks: task.asks.len(), working: task.is_working() };
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
#[path = "world_tests.rs"]
mod tests;

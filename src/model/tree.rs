//! The tree of tasks and the pure operations on it.
//!
//! Invariants of every operation: there is exactly one root; every other node has a parent that lists it exactly
//! once; there is no cycle. Every node has a number of its own. An operation that would violate one is refused and
//! changes nothing.

mod rebuild;
mod roll_up;

use std::collections::{BTreeMap, BTreeSet};

pub use rebuild::RebuiltTree;
pub use roll_up::{Attention, Facts, RollUp};

use crate::base::TaskId;
use crate::model::task::{TaskNode, TaskNumber};

#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    root: TaskId,
    nodes: BTreeMap<TaskId, TaskNode>,
    /// The highest number ever given, also to tasks that are gone.
    last_number: TaskNumber,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    #[error("there is no task {0}")]
    Missing(TaskId),
    #[error("task {0} is already in the tree")]
    Duplicate(TaskId),
    #[error("task {0} is new and must not have sub tasks")]
    NotALeaf(TaskId),
    #[error("the root cannot be {0}")]
    Root(&'static str),
    #[error("Cannot move task {task} under {below}: that is the task itself or one of its descendants")]
    Cycle { task: TaskId, below: TaskId },
    #[error(
        "the new order must name each of the {expected} sub tasks exactly once; \
         missing: {}; not a sub task, or named twice: {}", list(.missing), list(.surplus)
    )]
    NotAPermutation { expected: usize, missing: Vec<TaskId>, surplus: Vec<TaskId> },
    #[error("task {task} has {count} sub tasks; move or remove them first")]
    HasChildren { task: TaskId, count: usize },
}

fn list(ids: &[TaskId]) -> String {
    if ids.is_empty() {
        return "none".to_owned();
    }
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl Tree {
    /// Returns a tree with only a root.
    pub fn new(mut root: TaskNode) -> Self {
        root.parent = None;
        root.children.clear();
        let last_number = *root.number.get_or_insert(TaskNumber::FIRST);
        Self { root: root.id, nodes: BTreeMap::from([(root.id, root)]), last_number }
    }

    /// Returns the highest number ever given.
    pub fn last_number(&self) -> TaskNumber {
        self.last_number
    }

    /// Makes sure that no number up to `last` is given again.
    pub fn reserve_numbers(&mut self, last: TaskNumber) {
        self.last_number = self.last_number.max(last);
    }

    /// Returns the task with this number.
    pub fn numbered(&self, number: TaskNumber) -> Option<&TaskNode> {
        self.nodes.values().find(|node| node.number == Some(number))
    }

    /// Returns the number for a task that enters the tree: its own if no other task has it, else a new one.
    fn number_for(&mut self, own: Option<TaskNumber>) -> TaskNumber {
        let number = own.filter(|own| self.numbered(*own).is_none()).unwrap_or_else(|| self.last_number.next());
        self.reserve_numbers(number);
        number
    }

    pub fn root(&self) -> &TaskNode {
        &self.nodes[&self.root]
    }

    pub fn root_id(&self) -> TaskId {
        self.root
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Always false: a tree has a root. Required by clippy beside `len`.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn get(&self, id: TaskId) -> Option<&TaskNode> {
        self.nodes.get(&id)
    }

    /// Changes a node. Its number and its position in the tree are restored if the change touched them.
    pub fn edit(&mut self, id: TaskId, change: impl FnOnce(&mut TaskNode)) -> Result<&TaskNode, TreeError> {
        let node = self.nodes.get_mut(&id).ok_or(TreeError::Missing(id))?;
        let (number, parent, children) = (node.number, node.parent, node.children.clone());
        change(node);
        (node.id, node.number, node.parent, node.children) = (id, number, parent, children);
        Ok(node)
    }

    /// Adds `node` as the last sub task of `parent`, with a number of its own.
    pub fn insert(&mut self, mut node: TaskNode, parent: TaskId) -> Result<(), TreeError> {
        if self.nodes.contains_key(&node.id) {
            return Err(TreeError::Duplicate(node.id));
        }
        if !node.children.is_empty() {
            return Err(TreeError::NotALeaf(node.id));
        }
        self.nodes.get_mut(&parent).ok_or(TreeError::Missing(parent))?.children.push(node.id);
        node.parent = Some(parent);
        node.number = Some(self.number_for(node.number));
        self.nodes.insert(node.id, node);
        Ok(())
    }

    /// Moves a task with its descendants to the end of another task's sub tasks.
    pub fn reparent(&mut self, id: TaskId, parent: TaskId) -> Result<(), TreeError> {
        let node = self.nodes.get(&id).ok_or(TreeError::Missing(id))?;
        let old = node.parent.ok_or(TreeError::Root("moved"))?;
        if !self.nodes.contains_key(&parent) {
            return Err(TreeError::Missing(parent));
        }
        if parent == id || self.ancestors(parent).any(|above| above.id == id) {
            return Err(TreeError::Cycle { task: id, below: parent });
        }
        if let Some(old) = self.nodes.get_mut(&old) {
            old.children.retain(|child| *child != id);
        }
        if let Some(new) = self.nodes.get_mut(&parent) {
            new.children.push(id);
        }
        if let Some(node) = self.nodes.get_mut(&id) {
            node.parent = Some(parent);
        }
        Ok(())
    }

    /// Reorders the sub tasks of `parent`. The order must name each of them exactly once.
    pub fn reorder(&mut self, parent: TaskId, order: Vec<TaskId>) -> Result<(), TreeError> {
        let node = self.nodes.get_mut(&parent).ok_or(TreeError::Missing(parent))?;
        let current: BTreeSet<_> = node.children.iter().copied().collect();
        let mut left = current.clone();
        let surplus: Vec<_> = order.iter().copied().filter(|id| !left.remove(id)).collect();
        if !surplus.is_empty() || !left.is_empty() {
            let missing = left.into_iter().collect();
            return Err(TreeError::NotAPermutation { expected: current.len(), missing, surplus });
        }
        node.children = order;
        Ok(())
    }

    /// Removes a task without sub tasks from the tree.
    pub fn remove(&mut self, id: TaskId) -> Result<TaskNode, TreeError> {
        let node = self.nodes.get(&id).ok_or(TreeError::Missing(id))?;
        let parent = node.parent.ok_or(TreeError::Root("removed"))?;
        if !node.children.is_empty() {
            return Err(TreeError::HasChildren { task: id, count: node.children.len() });
        }
        if let Some(parent) = self.nodes.get_mut(&parent) {
            parent.children.retain(|child| *child != id);
        }
        self.nodes.remove(&id).ok_or(TreeError::Missing(id))
    }

    /// Returns the ancestors of `id`, nearest first.
    pub fn ancestors(&self, id: TaskId) -> impl Iterator<Item = &TaskNode> {
        let parent = move |node: &TaskNode| node.parent.and_then(|above| self.nodes.get(&above));
        std::iter::successors(self.nodes.get(&id).and_then(parent), move |node| parent(node))
    }

    /// Returns the number of ancestors of `id`: the root is at depth 0.
    pub fn depth(&self, id: TaskId) -> usize {
        self.ancestors(id).count()
    }

    /// Returns `id` and its descendants, parents before children, in display order.
    pub fn walk(&self, id: TaskId) -> impl Iterator<Item = &TaskNode> {
        let mut stack: Vec<_> = self.nodes.get(&id).into_iter().collect();
        std::iter::from_fn(move || {
            let node = stack.pop()?;
            stack.extend(node.children.iter().rev().filter_map(|child| self.nodes.get(child)));
            Some(node)
        })
    }

    pub fn all(&self) -> impl Iterator<Item = &TaskNode> {
        self.walk(self.root)
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;

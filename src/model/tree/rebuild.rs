//! Builds a tree from nodes that may be inconsistent: read from a file, or collected from sessions after a loss.
//!
//! Nothing is dropped. A node without a valid parent is moved under the root, with a note. A node without a number gets
//! one: in a tree of an earlier version all of them, in order of creation.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::TaskId;
use crate::model::task::{TaskNode, TaskNumber};
use crate::model::tree::Tree;

/// A tree, and notes about the changes that were necessary.
#[derive(Clone, Debug, PartialEq)]
pub struct RebuiltTree {
    pub tree: Tree,
    pub notes: Vec<String>,
    /// The tasks that had no number of their own.
    pub numbered: Vec<TaskId>,
}

impl Tree {
    /// Returns the tree of `nodes`, or `None` if no node can be its root.
    pub fn from_nodes(root: Option<TaskId>, nodes: impl IntoIterator<Item = TaskNode>) -> Option<RebuiltTree> {
        Self::from_nodes_after(None, root, nodes)
    }

    /// Like [`Tree::from_nodes`], for a project that has already given the numbers up to `last`.
    pub fn from_nodes_after(
        last: Option<TaskNumber>,
        root: Option<TaskId>,
        nodes: impl IntoIterator<Item = TaskNode>,
    ) -> Option<RebuiltTree> {
        let mut nodes: BTreeMap<_, _> = nodes.into_iter().map(|node| (node.id, node)).collect();
        let named = root.filter(|id| nodes.contains_key(id));
        // Ids are in order of creation, and the root is created first.
        let root = named.or_else(|| nodes.values().find(|node| node.parent.is_none()).map(|node| node.id));
        let root = root.or_else(|| nodes.keys().next().copied())?;

        let mut remarks = Vec::new();
        let parents = resolve_parents(&nodes, root, &mut remarks);
        let mut children = ordered_children(&nodes, &parents);
        for (id, node) in &mut nodes {
            node.parent = parents.get(id).copied();
            node.children = children.remove(id).unwrap_or_default();
        }
        let (last_number, numbered) = assign_numbers(&mut nodes, root, last);
        Some(RebuiltTree { tree: Self { root, nodes, last_number }, notes: remarks, numbered })
    }
}

/// Gives a number to each node without one, the root first, then by id, which is the order of creation. Of two nodes
/// with the same number the older keeps it. Returns the highest number, and the nodes that got one.
fn assign_numbers(
    nodes: &mut BTreeMap<TaskId, TaskNode>,
    root: TaskId,
    last: Option<TaskNumber>,
) -> (TaskNumber, Vec<TaskId>) {
    let mut taken = BTreeSet::new();
    let mut missing = Vec::new();
    let order: Vec<TaskId> = std::iter::once(root).chain(nodes.keys().copied().filter(|id| *id != root)).collect();
    for id in order {
        match nodes.get(&id).and_then(|node| node.number) {
            Some(number) if taken.insert(number) => {}
            Some(_) | None => missing.push(id),
        }
    }
    let is_first_free = taken.insert(TaskNumber::FIRST);
    let mut last = last.max(taken.last().copied()).unwrap_or(TaskNumber::FIRST);
    for id in &missing {
        let number = if *id == root && is_first_free { TaskNumber::FIRST } else { last.next() };
        last = last.max(number);
        if let Some(node) = nodes.get_mut(id) {
            node.number = Some(number);
        }
    }
    (last, missing)
}

/// Returns each node's parent: the one it names, or the root if that one is missing or part of a cycle.
fn resolve_parents(
    nodes: &BTreeMap<TaskId, TaskNode>,
    root: TaskId,
    remarks: &mut Vec<String>,
) -> BTreeMap<TaskId, TaskId> {
    let mut parents: BTreeMap<TaskId, TaskId> = BTreeMap::new();
    for (&id, node) in nodes.iter().filter(|(id, _)| **id != root) {
        let parent = match node.parent {
            Some(parent) if nodes.contains_key(&parent) => parent,
            Some(parent) => {
                remarks.push(format!(
                    "task {id} (\"{}\") names {parent} as its parent, which does not exist; moved under the root",
                    node.title
                ));
                root
            }
            None => {
                remarks.push(format!("task {id} (\"{}\") names no parent; moved under the root", node.title));
                root
            }
        };
        parents.insert(id, parent);
    }
    for (&id, node) in nodes.iter().filter(|(id, _)| **id != root) {
        let mut seen = BTreeSet::new();
        let mut at = id;
        while let Some(&above) = parents.get(&at) {
            // A cycle further up is resolved when one of its own nodes is visited.
            if above != id && !seen.insert(above) {
                break;
            }
            if above == id {
                remarks.push(format!("task {id} (\"{}\") was its own ancestor; moved under the root", node.title));
                parents.insert(id, root);
                break;
            }
            at = above;
        }
    }
    parents
}

/// Returns each node's children: in the order of its own list, then the unlisted ones, oldest first.
fn ordered_children(
    nodes: &BTreeMap<TaskId, TaskNode>,
    parents: &BTreeMap<TaskId, TaskId>,
) -> BTreeMap<TaskId, Vec<TaskId>> {
    let mut children: BTreeMap<TaskId, Vec<TaskId>> = BTreeMap::new();
    let mut placed = BTreeSet::new();
    for (&id, node) in nodes {
        let listed = node.children.iter().copied();
        let own = listed.filter(|child| parents.get(child) == Some(&id) && placed.insert(*child)).collect();
        children.insert(id, own);
    }
    for (&id, &parent) in parents {
        if placed.insert(id) {
            children.entry(parent).or_default().push(id);
        }
    }
    children
}

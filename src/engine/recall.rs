//! Deleted tasks, as their sessions remember them: a session outlives its task, and the last change to the node is in it.
//! Reads, and decides nothing.

use std::collections::BTreeSet;

use crate::base::TaskId;
use crate::model::TaskNode;
use crate::model::event::{Body, TaskChanged};
use crate::model::fold::SessionState;
use crate::store::{Sessions, StoreError};

/// How many events are read at once on the way back to a node.
const PAGE: usize = 64;

/// A task that is not in the tree, and what its session adds up to.
#[derive(Clone, Debug)]
pub struct Recalled {
    pub node: TaskNode,
    pub state: SessionState,
}

/// Returns a task as its session last had it. Nothing: the session does not say.
pub fn last_node(sessions: &Sessions, task: TaskId) -> Result<Option<TaskNode>, StoreError> {
    let mut page = sessions.last_page(task, PAGE)?;
    loop {
        let found = page.events.into_iter().rev().find_map(|event| match event.body {
            Body::TaskChanged(TaskChanged::Set { mut node }) if node.id == task => {
                sessions.project_folder().locate(&mut node);
                Some(*node)
            }
            _ => None,
        });
        match (found, page.older) {
            (Some(node), _) => return Ok(Some(node)),
            (None, Some(cursor)) => page = sessions.page_before(task, cursor, PAGE)?,
            (None, None) => return Ok(None),
        }
    }
}

/// Returns a deleted task and everything that was deleted with it, parents first. Tasks that are in the tree, `known`,
/// are left out. Nothing at all: no session remembers the task.
pub fn subtree(sessions: &Sessions, task: TaskId, known: &BTreeSet<TaskId>) -> Result<Vec<Recalled>, StoreError> {
    let mut seen = known.clone();
    let mut found = Vec::new();
    let mut left = vec![task];
    while let Some(next) = left.pop() {
        if !seen.insert(next) || !sessions.path(next).exists() {
            continue;
        }
        let Some(node) = last_node(sessions, next)? else { continue };
        // The last one is taken next, so the first sub task comes first.
        left.extend(node.children.iter().rev());
        found.push(Recalled { node, state: sessions.active(next)?.state() });
    }
    Ok(found)
}

/// Returns the tasks that are only in their sessions, oldest first. One that cannot be read is left out.
pub fn deleted(sessions: &Sessions, known: &BTreeSet<TaskId>) -> Result<Vec<TaskNode>, StoreError> {
    let gone = sessions.list()?.into_iter().filter(|task| !known.contains(task));
    Ok(gone.filter_map(|task| last_node(sessions, task).ok().flatten()).collect())
}

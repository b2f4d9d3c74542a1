//! Reads deleted tasks from their sessions. A session outlives its task and contains the last version of its node.

use std::collections::BTreeSet;

use crate::base::TaskId;
use crate::model::TaskNode;
use crate::model::event::{Body, TaskChanged};
use crate::model::fold::SessionState;
use crate::store::{Sessions, StoreError};

/// How many events are read at once while searching backwards for the node.
const PAGE: usize = 64;

/// A task that is no longer in the tree, with the state of its session.
#[derive(Clone, Debug)]
pub struct DeletedTask {
    pub node: TaskNode,
    pub state: SessionState,
}

/// Returns the last version of a task's node, or `None` if the session does not contain one.
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

/// Returns a deleted task and everything that was deleted with it, parents first. Skips tasks in `known`, which are in
/// the tree. Empty if the task has no session.
pub fn subtree(sessions: &Sessions, task: TaskId, known: &BTreeSet<TaskId>) -> Result<Vec<DeletedTask>, StoreError> {
    let mut seen = known.clone();
    let mut found = Vec::new();
    let mut left = vec![task];
    while let Some(next) = left.pop() {
        if !seen.insert(next) || !sessions.path(next).exists() {
            continue;
        }
        let Some(node) = last_node(sessions, next)? else { continue };
        // `pop` takes the last one, so push in reverse to keep the order of the children.
        left.extend(node.children.iter().rev());
        found.push(DeletedTask { node, state: sessions.active(next)?.state() });
    }
    Ok(found)
}

/// Returns the tasks that exist only in their sessions, oldest first. Skips sessions that cannot be read.
pub fn list(sessions: &Sessions, known: &BTreeSet<TaskId>) -> Result<Vec<TaskNode>, StoreError> {
    let gone = sessions.list()?.into_iter().filter(|task| !known.contains(task));
    Ok(gone.filter_map(|task| last_node(sessions, task).ok().flatten()).collect())
}

//! Decides what a task in progress without a run waits for. Pure.
//!
//! It waits for its sub tasks in progress. If none of them is running or waits for an answer of the user, the chain of
//! waiting tasks ends in one that cannot continue without the user. Exactly that task is stalled; the tasks above it
//! wait for it. A task that nobody waits for is only idle. A task that the user stopped is not stalled itself; the task
//! that waits for it is.

use crate::base::TaskId;
use crate::engine::snapshot::Wait;
use crate::model::task::Status;
use crate::model::tree::Tree;

/// The progress that can be expected of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskProgress {
    /// It runs, or will in a moment.
    Running,
    /// It waits for the user's answer.
    WaitsForUser,
    /// It waits for a message.
    Idle,
    /// The user stopped it.
    Stopped,
}

impl TaskProgress {
    fn can_progress(self) -> bool {
        match self {
            Self::Running | Self::WaitsForUser => true,
            Self::Idle | Self::Stopped => false,
        }
    }
}

/// Returns what a task in progress without a run waits for. `None` if it only waits for the user's next message.
pub fn wait(tree: &Tree, task: TaskId, progress: &dyn Fn(TaskId) -> TaskProgress) -> Option<Wait> {
    let node = tree.get(task)?;
    if node.status != Status::InProgress || progress(task).can_progress() {
        return None;
    }
    let open = open_children(tree, task);
    if let Some(child) = open.iter().copied().find(|task| can_continue(tree, *task, progress)) {
        return Some(Wait::Task { task: child });
    }
    if progress(task) == TaskProgress::Stopped {
        return None;
    }
    // An idle sub task is stalled itself, or waits for one that is.
    if let Some(child) = open.iter().copied().find(|task| progress(*task) == TaskProgress::Idle) {
        return Some(Wait::Task { task: child });
    }
    if let Some(child) = open.first().copied() {
        return Some(Wait::Stalled { chain: vec![task, child], reason: "the second was stopped".to_owned() });
    }
    // An idle root without sub tasks waits for the user's next message, as it should.
    let parent = node.parent?;
    if !is_blocked(tree, parent, progress) {
        return Some(Wait::Idle);
    }
    Some(Wait::Stalled {
        chain: vec![task],
        reason: "it ended its turn without calling done, and the task above waits for it".to_owned(),
    })
}

/// Returns true if a task waits for its sub tasks and none of them can continue.
fn is_blocked(tree: &Tree, task: TaskId, progress: &dyn Fn(TaskId) -> TaskProgress) -> bool {
    let in_progress = tree.get(task).is_some_and(|node| node.status == Status::InProgress);
    let can_continue = |child: TaskId| can_continue(tree, child, progress);
    in_progress && progress(task) == TaskProgress::Idle && !open_children(tree, task).into_iter().any(can_continue)
}

fn open_children(tree: &Tree, task: TaskId) -> Vec<TaskId> {
    let Some(node) = tree.get(task) else { return Vec::new() };
    let open = |child: &&TaskId| tree.get(**child).is_some_and(|child| child.status == Status::InProgress);
    node.children.iter().filter(open).copied().collect()
}

/// Returns true if the task or one below it is running or waits for the user's answer.
fn can_continue(tree: &Tree, task: TaskId, progress: &dyn Fn(TaskId) -> TaskProgress) -> bool {
    progress(task).can_progress()
        || open_children(tree, task).into_iter().any(|child| can_continue(tree, child, progress))
}

#[cfg(test)]
#[path = "stall_tests.rs"]
mod tests;

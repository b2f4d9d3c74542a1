//! Detects tasks that wait for work that will never happen. Pure.
//!
//! A task in progress without a run waits for its sub tasks in progress. If none of them is running or waits for an
//! answer of the user, the chain is stalled. A task that the user stopped is not stalled itself; tasks that wait for
//! it are.

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

/// Returns what an idle task in progress waits for. `None` if it only waits for the user's next message.
pub fn wait(tree: &Tree, task: TaskId, progress: &dyn Fn(TaskId) -> TaskProgress) -> Option<Wait> {
    let node = tree.get(task)?;
    if node.status != Status::InProgress || progress(task).can_progress() {
        return None;
    }
    let open: Vec<TaskId> = open_children(tree, task);
    if let Some(child) = open.iter().copied().find(|task| can_continue(tree, *task, progress)) {
        return Some(Wait::Task { task: child });
    }
    if progress(task) == TaskProgress::Stopped {
        return None;
    }
    let mut chain = vec![task];
    let mut at = task;
    while let Some(next) = open_children(tree, at).first().copied() {
        chain.push(next);
        at = next;
    }
    // An idle root without sub tasks waits for the user's next message, as it should.
    if chain.len() == 1 && node.parent.is_none() {
        return None;
    }
    let reason = match (chain.len(), progress(at)) {
        (1, _) => "it ended its turn without calling done",
        (_, TaskProgress::Stopped) => "the last of these was stopped",
        (_, TaskProgress::Idle | TaskProgress::Running | TaskProgress::WaitsForUser) => {
            "the last of these ended its turn without calling done"
        }
    };
    Some(Wait::Stalled { chain, reason: reason.to_owned() })
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

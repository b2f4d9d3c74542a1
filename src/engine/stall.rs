//! Who waits for whom, and whether anybody at the end of the chain will ever do anything.
//!
//! Pure. A task that is in progress and has no run waits for its sub tasks that are in progress. If none of them leads
//! to somebody who works or to a question for the person, the chain is stalled, and says where it ends. What the person
//! stopped rests because they said so; only those who wait for it are stalled.

use crate::base::TaskId;
use crate::engine::snapshot::Wait;
use crate::model::task::Status;
use crate::model::tree::Tree;

/// What a task in progress is doing, as far as others can hope for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It works, or will in a moment.
    Busy,
    /// It waits for the person.
    AsksPerson,
    /// It sleeps until it is spoken to.
    Asleep,
    /// The same, and the person wanted it so.
    Stopped,
}

impl Rest {
    fn is_hope(self) -> bool {
        match self {
            Self::Busy | Self::AsksPerson => true,
            Self::Asleep | Self::Stopped => false,
        }
    }
}

/// Returns what a sleeping task in progress waits for. Nothing: only for the person to speak to it.
pub fn wait(tree: &Tree, task: TaskId, rest: &dyn Fn(TaskId) -> Rest) -> Option<Wait> {
    let node = tree.get(task)?;
    if node.status != Status::InProgress || rest(task).is_hope() {
        return None;
    }
    let open: Vec<TaskId> = open_below(tree, task);
    if let Some(hope) = open.iter().copied().find(|child| leads_somewhere(tree, *child, rest)) {
        return Some(Wait::Task { task: hope });
    }
    if rest(task) == Rest::Stopped {
        return None;
    }
    let mut chain = vec![task];
    let mut at = task;
    while let Some(next) = open_below(tree, at).first().copied() {
        chain.push(next);
        at = next;
    }
    // The root alone, asleep with nothing below: it waits for the person to say something, as it should.
    if chain.len() == 1 && node.parent.is_none() {
        return None;
    }
    let reason = match (chain.len(), rest(at)) {
        (1, _) => "it ended its turn without calling done, and nobody speaks to it",
        (_, Rest::Stopped) => "the last of these was stopped, and nobody speaks to it",
        (_, Rest::Asleep | Rest::Busy | Rest::AsksPerson) => "the last of these sleeps without having called done",
    };
    Some(Wait::Stalled { chain, reason: reason.to_owned() })
}

fn open_below(tree: &Tree, task: TaskId) -> Vec<TaskId> {
    let Some(node) = tree.get(task) else { return Vec::new() };
    let open = |child: &&TaskId| tree.get(**child).is_some_and(|child| child.status == Status::InProgress);
    node.children.iter().filter(open).copied().collect()
}

/// Tells whether somebody at or below a task works or has asked the person.
fn leads_somewhere(tree: &Tree, task: TaskId, rest: &dyn Fn(TaskId) -> Rest) -> bool {
    rest(task).is_hope() || open_below(tree, task).into_iter().any(|child| leads_somewhere(tree, child, rest))
}

#[cfg(test)]
#[path = "stall_tests.rs"]
mod tests;

use super::*;
use crate::engine::command::{Actor, Command};
use crate::model::event::{Exit, Verdict};

#[path = "machine_tests/approvals.rs"]
mod approvals;
#[path = "machine_tests/asks.rs"]
mod asks;
#[path = "machine_tests/authority.rs"]
mod authority;
#[path = "machine_tests/budget.rs"]
mod budget;
#[path = "machine_tests/capability.rs"]
mod capability;
#[path = "machine_tests/completions.rs"]
mod completions;
#[path = "machine_tests/edits.rs"]
mod edits;
#[path = "machine_tests/held_calls.rs"]
mod held_calls;
#[path = "machine_tests/merge_queue.rs"]
mod merge_queue;
#[path = "machine_tests/messages.rs"]
mod messages;
#[path = "machine_tests/profiles.rs"]
mod profiles;
#[path = "machine_tests/restores.rs"]
mod restores;
#[path = "machine_tests/rig.rs"]
mod rig;
#[path = "machine_tests/rounds.rs"]
mod rounds;
#[path = "machine_tests/runs.rs"]
mod runs;
#[path = "machine_tests/task_limit.rs"]
mod task_limit;
#[path = "machine_tests/tree_queries.rs"]
mod tree_queries;
#[path = "machine_tests/work.rs"]
mod work;

use rig::{DiskMode, FILE_HASH, Rig, new_task};

/// A root with two sub tasks. One of them has a chain of two tasks below it.
struct Family {
    rig: Rig,
    root: TaskId,
    child: TaskId,
    sibling: TaskId,
    grandchild: TaskId,
    deepest: TaskId,
}

fn family() -> Family {
    let mut rig = Rig::new();
    let root = rig.root();
    let child = rig.make(root, "Child");
    let sibling = rig.make(root, "Sibling");
    let grandchild = rig.make(child, "Grandchild");
    let deepest = rig.make(grandchild, "Deepest");
    Family { rig, root, child, sibling, grandchild, deepest }
}

fn message_of(reply: Option<Result<Outcome, Fault>>) -> String {
    match reply {
        Some(Err(fault)) => fault.message,
        other => panic!("not refused: {other:?}"),
    }
}

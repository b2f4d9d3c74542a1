//! What an agent must know at its start, whichever program it is.

use std::path::Path;

use super::prompts;
use crate::agent::prompt::{self, Guide, TaskBrief};
use crate::engine::backend::Assignment;

/// The project's memory, relative to the worktree.
const MEMORY: &str = ".mxd/memory.md";
/// The most that is read of it.
const READ_BYTES: u64 = 1 << 20;

/// Returns how agents work here, and what is special about this one.
pub(in crate::engine::backend) fn system_text(assignment: &Assignment) -> String {
    let place = prompts::place(assignment.order.place.is_none(), assignment.may_delegate());
    let profile = &assignment.profile.profile;
    let system = prompts::system(profile.system, place, &profile.prompt);
    let outside = include_str!("../../../../assets/prompts/outside.md");
    format!("{}\n\n# Your tools\n\n{}\n\n{}", system.stable.trim(), outside.trim(), system.variable)
}

/// Returns the task, where it is worked on, and the project's memory. Reads the memory from the disk.
pub(in crate::engine::backend) fn work_context(assignment: &Assignment, worktree: &Path, notes: &[String]) -> String {
    let bytes = crate::git::repo_file::read_start(worktree, Path::new(MEMORY), READ_BYTES);
    let memory = bytes
        .ok()
        .flatten()
        .map(|bytes| Guide { name: MEMORY.to_owned(), text: String::from_utf8_lossy(&bytes).into_owned() });
    let mut text = prompt::work_context(&brief(assignment, worktree), memory.as_ref(), &[]);
    for note in notes {
        text.push_str("\n\n");
        text.push_str(note);
    }
    text
}

pub(super) fn brief(assignment: &Assignment, worktree: &Path) -> TaskBrief {
    let Assignment { order, .. } = assignment;
    let node = &order.node;
    TaskBrief {
        task: node.id,
        title: node.title.clone(),
        description: node.description.clone(),
        parent: order.above.clone(),
        branch: order.place.as_ref().map(|place| place.branch.clone()),
        folder: worktree.to_owned(),
        budget: node.budget,
    }
}

//! Flattens the task tree into rows, filtered and sorted.

use std::collections::HashSet;

use crate::base::TaskId;
use crate::engine::snapshot::{TaskView, Wait};
use crate::model::Status;
use crate::model::tree::Attention;
use crate::ui::project_state::ProjectState;
use crate::ui::tree::state::{FilterMode, Sort, State};

/// One row of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskLine {
    pub id: TaskId,
    /// For each level, whether a guide line continues below it. The last one is this row's own.
    pub lines: Vec<bool>,
    pub folded: bool,
    /// Shown only because a subtask matches the filter.
    pub passive: bool,
}

pub fn flatten(project: &ProjectState, state: &State) -> Vec<TaskLine> {
    let matches = matches(project, state);
    match state.sort() {
        Sort::Tree => tree(project, state, matches.as_ref()),
        Sort::Attention => by_attention(project, matches.as_ref()),
    }
}

/// Returns the tasks that match the filter, or `None` if all do.
fn matches(project: &ProjectState, state: &State) -> Option<HashSet<TaskId>> {
    let needle = state.filter.shown().trim().to_lowercase();
    if needle.is_empty() && state.mode() == FilterMode::All {
        return None;
    }
    let passes = |task: &&TaskView| {
        let text = needle.is_empty() || task.node.title.to_lowercase().contains(&needle);
        text && fits_mode(task, state.mode())
    };
    Some(project.tasks().filter(passes).map(|task| task.node.id).collect())
}

fn fits_mode(task: &TaskView, mode: FilterMode) -> bool {
    match mode {
        FilterMode::All => true,
        FilterMode::Open => task.node.status != Status::Closed,
        FilterMode::NeedsMe => {
            // A failed task also needs the user while it works on.
            task.state().needs_user() || task.node.status == Status::Failed
        }
        FilterMode::Active => {
            let waits = task.waits.as_ref().is_some_and(|wait| *wait != Wait::Idle);
            task.is_working() || waits || task.retry.is_some()
        }
    }
}

fn tree(project: &ProjectState, state: &State, matches: Option<&HashSet<TaskId>>) -> Vec<TaskLine> {
    // A match is shown with its ancestors, so that its place in the tree is visible.
    let visible: Option<HashSet<TaskId>> = matches.map(|matches| {
        let mut visible = matches.clone();
        for id in matches {
            for above in project.ancestors(*id) {
                if !visible.insert(above) {
                    break;
                }
            }
        }
        visible
    });
    let is_visible = |id: &TaskId| visible.as_ref().is_none_or(|visible| visible.contains(id));
    let mut rows = Vec::new();
    let mut stack = vec![(project.root(), Vec::new())];
    let mut left = project.len();
    while let Some((id, lines)) = stack.pop() {
        let Some(node) = project.node(id).filter(|_| left > 0) else { continue };
        left -= 1;
        if !is_visible(&id) {
            continue;
        }
        let children: Vec<_> =
            node.children.iter().copied().filter(|id| project.task(*id).is_some() && is_visible(id)).collect();
        // A filter also finds folded tasks.
        let folded = state.is_folded(id) && matches.is_none() && !children.is_empty();
        if !folded {
            for (place, child) in children.iter().enumerate().rev() {
                let mut below: Vec<bool> = lines.clone();
                below.push(place + 1 < children.len());
                stack.push((*child, below));
            }
        }
        let passive = matches.is_some_and(|matches| !matches.contains(&id));
        rows.push(TaskLine { id, lines, folded, passive });
    }
    rows
}

fn by_attention(project: &ProjectState, matches: Option<&HashSet<TaskId>>) -> Vec<TaskLine> {
    let shown = project.walk(project.root()).filter(|id| matches.is_none_or(|matches| matches.contains(id)));
    let mut tasks: Vec<_> = shown.filter_map(|id| project.task(id)).collect();
    tasks.sort_by_key(|task| (std::cmp::Reverse(attention(task)), task.node.status == Status::Closed));
    tasks
        .into_iter()
        .map(|task| TaskLine { id: task.node.id, lines: Vec::new(), folded: false, passive: false })
        .collect()
}

fn attention(task: &TaskView) -> Attention {
    match task.node.status {
        _ if !task.asks.is_empty() => Attention::Asks,
        _ if task.is_stuck() => Attention::Stuck,
        Status::Failed => Attention::Failed,
        Status::Passed => Attention::Finished,
        _ if task.is_working() => Attention::Working,
        Status::Draft | Status::Pending | Status::InProgress | Status::Closed => Attention::Quiet,
    }
}

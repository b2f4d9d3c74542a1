//! The tasks as rows: the tree walked once, filtered, with what is needed to draw each line of it.

use std::collections::HashSet;

use crate::base::TaskId;
use crate::engine::snapshot::{TaskView, Wait};
use crate::model::Status;
use crate::model::tree::Attention;
use crate::ui::tree::state::{FilterMode, Sort, State};
use crate::ui::world::World;

/// One line of the pane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub id: TaskId,
    /// For each level above: whether a line goes on below it. The last one is this row's own.
    pub lines: Vec<bool>,
    pub folded: bool,
    /// Shown only because something below it is.
    pub passive: bool,
}

pub fn flatten(world: &World, state: &State) -> Vec<Row> {
    let wanted = wanted(world, state);
    match state.sort() {
        Sort::Tree => tree(world, state, wanted.as_ref()),
        Sort::Attention => by_attention(world, wanted.as_ref()),
    }
}

/// Returns the tasks that the filter lets through, or nothing if it lets everything through.
fn wanted(world: &World, state: &State) -> Option<HashSet<TaskId>> {
    let needle = state.filter.shown().trim().to_lowercase();
    if needle.is_empty() && state.mode() == FilterMode::All {
        return None;
    }
    let passes = |task: &&TaskView| {
        let text = needle.is_empty() || task.node.title.to_lowercase().contains(&needle);
        text && fits_mode(task, state.mode())
    };
    Some(world.tasks().filter(passes).map(|task| task.node.id).collect())
}

fn fits_mode(task: &TaskView, mode: FilterMode) -> bool {
    match mode {
        FilterMode::All => true,
        FilterMode::Open => task.node.status != Status::Closed,
        FilterMode::NeedsMe => {
            let stuck = matches!(task.waits, Some(Wait::Stalled { .. }));
            !task.asks.is_empty() || task.node.status == Status::Failed || stuck
        }
        FilterMode::Active => task.is_working() || task.waits.is_some() || task.retry.is_some(),
    }
}

fn tree(world: &World, state: &State, wanted: Option<&HashSet<TaskId>>) -> Vec<Row> {
    // What a filter lets through is shown with everything above it, or it would hang in the air.
    let kept: Option<HashSet<TaskId>> = wanted.map(|wanted| {
        let mut kept = wanted.clone();
        for id in wanted {
            for above in world.above(*id) {
                if !kept.insert(above) {
                    break;
                }
            }
        }
        kept
    });
    let is_kept = |id: &TaskId| kept.as_ref().is_none_or(|kept| kept.contains(id));
    let mut rows = Vec::new();
    let mut stack = vec![(world.root(), Vec::new())];
    let mut left = world.len();
    while let Some((id, lines)) = stack.pop() {
        let Some(node) = world.node(id).filter(|_| left > 0) else { continue };
        left -= 1;
        if !is_kept(&id) {
            continue;
        }
        let children: Vec<_> =
            node.children.iter().copied().filter(|id| world.task(*id).is_some() && is_kept(id)).collect();
        // A filter finds what is folded away.
        let folded = state.is_folded(id) && wanted.is_none() && !children.is_empty();
        if !folded {
            for (place, child) in children.iter().enumerate().rev() {
                let mut below: Vec<bool> = lines.clone();
                below.push(place + 1 < children.len());
                stack.push((*child, below));
            }
        }
        let passive = wanted.is_some_and(|wanted| !wanted.contains(&id));
        rows.push(Row { id, lines, folded, passive });
    }
    rows
}

fn by_attention(world: &World, wanted: Option<&HashSet<TaskId>>) -> Vec<Row> {
    let shown = world.walk(world.root()).filter(|id| wanted.is_none_or(|wanted| wanted.contains(id)));
    let mut tasks: Vec<_> = shown.filter_map(|id| world.task(id)).collect();
    tasks.sort_by_key(|task| (std::cmp::Reverse(attention(task)), task.node.status == Status::Closed));
    tasks.into_iter().map(|task| Row { id: task.node.id, lines: Vec::new(), folded: false, passive: false }).collect()
}

fn attention(task: &TaskView) -> Attention {
    match task.node.status {
        _ if !task.asks.is_empty() => Attention::Asks,
        Status::Failed => Attention::Failed,
        Status::Passed => Attention::Finished,
        _ if task.is_working() => Attention::Working,
        Status::Draft | Status::Pending | Status::InProgress | Status::Closed => Attention::Quiet,
    }
}

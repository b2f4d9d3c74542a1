//! The state of the merge dialog.

use crate::base::TaskId;
use crate::engine::review::{MergePreview, MergeStrategy, MergeTarget};

/// The merge strategies in menu order.
pub const STRATEGIES: [MergeStrategy; 3] = [MergeStrategy::Merge, MergeStrategy::Squash, MergeStrategy::Rebase];

#[derive(Clone, Debug)]
pub struct Merge {
    pub task: TaskId,
    pub goal: MergeTarget,
    /// Index into [`STRATEGIES`].
    pub selected: usize,
    /// `None` while it is loading.
    pub preview: Option<Result<MergePreview, String>>,
    /// The operation in progress.
    pub busy: Option<&'static str>,
    /// Why the last attempt failed.
    pub problem: Option<String>,
}

impl Merge {
    pub fn new(task: TaskId) -> Self {
        Self { task, goal: MergeTarget::Parent, selected: 0, preview: None, busy: None, problem: None }
    }

    pub fn strategy(&self) -> MergeStrategy {
        STRATEGIES[self.selected.min(STRATEGIES.len() - 1)]
    }

    pub fn step(&mut self, by: isize) {
        self.selected = self.selected.saturating_add_signed(by).min(STRATEGIES.len() - 1);
    }

    pub fn ready(&self) -> Option<&MergePreview> {
        self.preview.as_ref().and_then(|preview| preview.as_ref().ok())
    }

    pub fn has_conflicts(&self) -> bool {
        self.ready().is_some_and(|preview| !preview.conflicts.is_empty())
    }

    /// Drops the preview before it is loaded again.
    pub fn refresh(&mut self) {
        self.preview = None;
        self.busy = None;
    }
}

/// Returns the name and the explanation of a strategy.
pub fn describe(how: MergeStrategy) -> (&'static str, &'static str) {
    match how {
        MergeStrategy::Merge => ("merge", "merge commit"),
        MergeStrategy::Squash => ("squash", "one commit with all changes"),
        MergeStrategy::Rebase => ("rebase", "replay the commits on the target"),
    }
}

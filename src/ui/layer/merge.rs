//! Bringing the work of a task into another branch: what that would do, how it is to be done, and why not.

use crate::base::TaskId;
use crate::engine::review::{Goal, How, MergePreview};

/// The ways to merge, in the order in which they are offered.
pub const WAYS: [How; 3] = [How::Merge, How::Squash, How::Rebase];

/// The dialog.
#[derive(Clone, Debug)]
pub struct Merge {
    pub task: TaskId,
    pub goal: Goal,
    /// Which of [`WAYS`].
    pub way: usize,
    /// What it would do. Nothing: that is being found out.
    pub preview: Option<Result<MergePreview, String>>,
    /// What is going on, if something is.
    pub busy: Option<&'static str>,
    /// Why the last attempt came to nothing.
    pub problem: Option<String>,
}

impl Merge {
    pub fn new(task: TaskId) -> Self {
        Self { task, goal: Goal::Above, way: 0, preview: None, busy: None, problem: None }
    }

    pub fn how(&self) -> How {
        WAYS[self.way.min(WAYS.len() - 1)]
    }

    pub fn step(&mut self, by: isize) {
        self.way = self.way.saturating_add_signed(by).min(WAYS.len() - 1);
    }

    pub fn ready(&self) -> Option<&MergePreview> {
        self.preview.as_ref().and_then(|preview| preview.as_ref().ok())
    }

    pub fn has_conflicts(&self) -> bool {
        self.ready().is_some_and(|preview| !preview.conflicts.is_empty())
    }

    /// Asks again what it would do.
    pub fn refresh(&mut self) {
        self.preview = None;
        self.busy = None;
    }
}

/// Returns a way in a word, and what it means.
pub fn words(how: How) -> (&'static str, &'static str) {
    match how {
        How::Merge => ("merge", "a commit that joins the two branches"),
        How::Squash => ("squash", "one commit with everything"),
        How::Rebase => ("rebase", "each commit again, on top of the other branch"),
    }
}

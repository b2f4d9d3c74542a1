//! Review notes: seen changes and comments. Both survive a restart.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::base::TaskId;
use crate::engine::review::ReviewMarks;
use crate::ui::review::comment::Comment;

/// The maximum number of seen marks per task. Beyond it some changes become unseen again.
const MOST_SEEN: usize = 20_000;

/// The notes on all tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReviewNotes {
    tasks: BTreeMap<TaskId, TaskNotes>,
}

/// The notes on one task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskNotes {
    /// The marks of seen changes. Stored by the engine together with the state of the files.
    #[serde(skip)]
    pub seen: BTreeSet<u64>,
    #[serde(skip)]
    pub state: Option<String>,
    /// In the order in which they were written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<Comment>,
}

impl TaskNotes {
    /// Returns the unsent comments.
    pub fn drafts(&self) -> impl Iterator<Item = &Comment> {
        self.comments.iter().filter(|comment| comment.sent.is_none())
    }

    /// Takes over the stored marks.
    pub fn load_marks(&mut self, seen: &ReviewMarks) {
        self.seen = seen.hunks.iter().filter_map(|mark| u64::from_str_radix(mark, 16).ok()).collect();
        self.state.clone_from(&seen.state);
    }

    /// Returns the marks to store.
    pub fn review_marks(&self) -> ReviewMarks {
        let hunks = self.seen.iter().take(MOST_SEEN).map(|mark| format!("{mark:016x}")).collect();
        ReviewMarks { state: self.state.clone(), hunks }
    }
}

impl ReviewNotes {
    pub fn of(&self, task: TaskId) -> Option<&TaskNotes> {
        self.tasks.get(&task)
    }

    pub fn of_mut(&mut self, task: TaskId) -> &mut TaskNotes {
        self.tasks.entry(task).or_default()
    }

    /// Drops tasks that no longer exist.
    pub fn retain(&mut self, exists: impl Fn(TaskId) -> bool) {
        self.tasks.retain(|task, _| exists(*task));
    }

    /// Returns the notes to store: comments that are not blank.
    pub fn to_store(&self) -> Self {
        let mut kept = self.clone();
        for notes in kept.tasks.values_mut() {
            notes.comments.retain(|comment| !comment.text.trim().is_empty());
        }
        kept.tasks.retain(|_, notes| !notes.comments.is_empty());
        kept
    }
}

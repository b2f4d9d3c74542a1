//! What is remembered of reviews: which changes were seen, and what is to be said about them. Both survive a restart.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::base::TaskId;
use crate::engine::review::Seen;
use crate::ui::review::comment::Comment;

/// How many changes are remembered as seen for a task. Beyond that some are forgotten, and are merely new again.
const MOST_SEEN: usize = 20_000;

/// The notes about every task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Notes {
    tasks: BTreeMap<TaskId, TaskNotes>,
}

/// The notes about one task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskNotes {
    /// The marks of changes that were seen. Kept by the engine, with the state of the files that was looked at.
    #[serde(skip)]
    pub seen: BTreeSet<u64>,
    #[serde(skip)]
    pub state: Option<String>,
    /// In the order in which they were written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<Comment>,
}

impl TaskNotes {
    /// Returns the remarks that the agent has not been told.
    pub fn drafts(&self) -> impl Iterator<Item = &Comment> {
        self.comments.iter().filter(|comment| comment.sent.is_none())
    }

    /// Takes over what was seen, as it was kept.
    pub fn recall(&mut self, seen: &Seen) {
        self.seen = seen.hunks.iter().filter_map(|mark| u64::from_str_radix(mark, 16).ok()).collect();
        self.state.clone_from(&seen.state);
    }

    /// Returns what was seen, as it is kept.
    pub fn seen(&self) -> Seen {
        let hunks = self.seen.iter().take(MOST_SEEN).map(|mark| format!("{mark:016x}")).collect();
        Seen { state: self.state.clone(), hunks }
    }
}

impl Notes {
    pub fn of(&self, task: TaskId) -> Option<&TaskNotes> {
        self.tasks.get(&task)
    }

    pub fn of_mut(&mut self, task: TaskId) -> &mut TaskNotes {
        self.tasks.entry(task).or_default()
    }

    /// Forgets tasks that are gone.
    pub fn retain(&mut self, exists: impl Fn(TaskId) -> bool) {
        self.tasks.retain(|task, _| exists(*task));
    }

    /// Returns the notes as they are kept: what has words.
    pub fn kept(&self) -> Self {
        let mut kept = self.clone();
        for notes in kept.tasks.values_mut() {
            notes.comments.retain(|comment| !comment.text.trim().is_empty());
        }
        kept.tasks.retain(|_, notes| !notes.comments.is_empty());
        kept
    }
}

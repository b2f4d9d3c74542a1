//! What changed since a [`crate::engine::snapshot::Snapshot`]. State changes are never dropped; streamed text is put
//! together while nobody reads it; a reader that falls too far behind is told to take a new snapshot.

use serde::{Deserialize, Serialize};

use crate::base::TaskId;
use crate::engine::snapshot::{ProjectView, TaskView};
use crate::model::Live;
use crate::model::event::Event;

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "update", rename_all = "snake_case")]
pub enum Update {
    /// A task is new or different. Its place is said by the `parent` and the `children` of the nodes.
    Task {
        task: Box<TaskView>,
    },
    /// A task is out of the tree.
    Removed {
        task: TaskId,
    },
    /// Something is in a session, on the disk.
    Event {
        task: TaskId,
        event: Box<Event>,
    },
    /// Something to look at that is not kept.
    Live {
        task: TaskId,
        live: Live,
    },
    Project {
        project: Box<ProjectView>,
    },
    /// Something to say to the person that belongs to no session.
    Notice {
        notice: Notice,
    },
    /// Nothing happens any more before somebody says something.
    Quiet,
    /// Updates were left out: take a new snapshot and read transcripts again.
    Resync,
    /// The engine has ended.
    Ended,
}

/// A word to the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub level: Level,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
}

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Info,
    Warning,
    Error,
}

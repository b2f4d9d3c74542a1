//! Changes since a [`crate::engine::snapshot::Snapshot`].
//!
//! State changes are never dropped. Streamed text is coalesced while it is not read. A reader that falls too far behind
//! gets [`Update::Resync`].

use std::sync::Arc;

use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::base::TaskId;
use crate::engine::snapshot::{ProjectView, TaskView};
use crate::model::event::Event;
use crate::model::{ClientView, Live};

/// One change to a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "update", rename_all = "snake_case")]
pub enum Update {
    /// A task is new or changed. Its position is in the `parent` and `children` of the nodes.
    Task {
        task: Box<TaskView>,
    },
    /// A task left the tree.
    Removed {
        task: TaskId,
    },
    /// An event was written to a session.
    Event {
        task: TaskId,
        event: Arc<Event>,
    },
    /// Live output, which is not stored.
    Live {
        task: TaskId,
        live: Live,
    },
    Project {
        project: Box<ProjectView>,
    },
    /// A notice that belongs to no session.
    Notice {
        notice: Notice,
    },
    /// Nothing will happen without a new command or event.
    Quiet,
    /// Updates were dropped: take a new snapshot and read transcripts again.
    Resync,
    /// The clients that are attached, in order of arrival.
    Clients {
        clients: Vec<ClientView>,
    },
    /// Another process takes over the project. There are no more updates.
    Moved,
    Ended,
}

/// How an engine ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineEnd {
    Quit,
    /// Another process takes over: see [`crate::engine::command::Command::HandOver`].
    Moved,
}

/// The fields of all updates as raw JSON. An event keeps the exact text of fields that it does not know, which the
/// derived deserializer of a tagged enum would lose.
#[derive(Deserialize)]
struct Fields {
    update: String,
    task: Option<Box<RawValue>>,
    event: Option<Box<RawValue>>,
    live: Option<Box<RawValue>>,
    project: Option<Box<RawValue>>,
    notice: Option<Box<RawValue>>,
    clients: Option<Box<RawValue>>,
}

fn field<T: DeserializeOwned, E: de::Error>(name: &'static str, raw: Option<Box<RawValue>>) -> Result<T, E> {
    let raw = raw.ok_or_else(|| E::missing_field(name))?;
    serde_json::from_str(raw.get()).map_err(E::custom)
}

impl<'de> Deserialize<'de> for Update {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Fields { update, task, event, live, project, notice, clients } = Fields::deserialize(deserializer)?;
        Ok(match update.as_str() {
            "task" => Self::Task { task: field("task", task)? },
            "removed" => Self::Removed { task: field("task", task)? },
            "event" => Self::Event { task: field("task", task)?, event: field("event", event)? },
            "live" => Self::Live { task: field("task", task)?, live: field("live", live)? },
            "project" => Self::Project { project: field("project", project)? },
            "notice" => Self::Notice { notice: field("notice", notice)? },
            "quiet" => Self::Quiet,
            "resync" => Self::Resync,
            "clients" => Self::Clients { clients: field("clients", clients)? },
            "moved" => Self::Moved,
            "ended" => Self::Ended,
            other => return Err(de::Error::custom(format!("unknown update \"{other}\""))),
        })
    }
}

/// A short message to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Notice {
    pub level: Level,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
}

/// The severity of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Info,
    Warning,
    Error,
}

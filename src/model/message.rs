//! A message: something said to a task. Two phases: sent when it is in the log, consumed when a turn carries it.

use serde::{Deserialize, Serialize};

use crate::base::{AskId, MessageId, ProjectId, TaskId, Timestamp};
use crate::model::content::Image;
use crate::model::event::Verdict;

/// Something said to a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredMessage")]
pub struct Message {
    pub id: MessageId,
    pub from: Source,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    pub delivery: Delivery,
    /// When it was said. Stored, because the model reads it: a change of time zone must not change a prefix.
    pub at: Timestamp,
}

impl Message {
    pub fn new(id: MessageId, at: Timestamp, from: Source, body: impl Into<String>) -> Self {
        Self { id, from, body: body.into(), images: Vec::new(), delivery: Delivery::Steer, at }
    }
}

/// When a message reaches an agent that is at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// At the next point where it can be spoken to.
    #[default]
    Steer,
    /// When it would otherwise sleep.
    Next,
    /// Now: what it is doing is cut short.
    Interrupt,
}

/// What a task is told that the user starts without words of their own.
pub const BEGIN: &str = "Begin with your task.";

/// What a task is told that the user lets go on.
pub const CONTINUE: &str = "Go on where you stopped.";

/// What a task is told that continues a copied conversation.
pub const BEGIN_FORK: &str = "Go on from here with your own task.";

/// A message as it is stored. Earlier versions had no delivery, and said by the words alone that the user had only
/// pressed a key.
#[derive(Deserialize)]
struct StoredMessage {
    id: MessageId,
    from: Source,
    #[serde(default)]
    body: String,
    #[serde(default)]
    images: Vec<Image>,
    delivery: Option<Delivery>,
    at: Timestamp,
}

impl From<StoredMessage> for Message {
    fn from(stored: StoredMessage) -> Self {
        let StoredMessage { id, from, body, images, delivery, at } = stored;
        let from = match (from, body.as_str(), delivery) {
            (Source::User, BEGIN, None) => Source::Begin,
            (Source::User, BEGIN_FORK, None) => Source::BeginFork,
            (Source::User, CONTINUE, None) => Source::Continue,
            (from, ..) => from,
        };
        Self { id, from, body, images, delivery: delivery.unwrap_or_default(), at }
    }
}

/// What happened to a node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeAction {
    Created,
    Updated,
    Moved,
    Reordered,
    Closed,
    Reset,
    Deleted,
    /// It was deleted, and is back.
    Restored,
    /// Its run was ended; the task stays in progress.
    Stopped,
}

/// Who said it, and what belongs to that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum Source {
    /// The user, in their own words.
    User,
    /// The user started the task.
    Begin,
    /// The user started the task, which has a copy of another conversation.
    BeginFork,
    /// The user let the task go on.
    Continue,
    /// The task above, or a sub task.
    TaskMessage {
        task: TaskId,
        title: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        request_reply: bool,
    },
    /// A sub task finished, or could not.
    TaskComplete { task: TaskId, title: String, verdict: Verdict },
    /// The person spoke to a task below; those above it are kept informed.
    UserMessageForwarded {
        task: TaskId,
        title: String,
        /// The message woke a task that had finished.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        woke: bool,
    },
    /// The person changed the tree.
    TreeChange { task: TaskId, title: String, action: TreeAction },
    /// The answer to an Ask of this task's.
    ClarifyResponse {
        ask: AskId,
        question: String,
        /// Nobody answered in time and the default was taken.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        defaulted: bool,
    },
    /// The root of another project.
    CrossProject { project: ProjectId, name: String },
    /// A process in the background ended.
    BackgroundComplete {
        process: String,
        command: String,
        /// Nothing: it is not known, or a signal ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<i32>,
        duration_ms: u64,
    },
    /// Where the agent is and what it should know, at the start of a segment.
    WorkContext,
    /// The summary that a segment continues from.
    CompactedResume,
    /// The person asks for a summary now. Never part of the conversation.
    Compact,
    /// The person cut the agent short.
    Interrupt,
    /// Matrix itself has something to say: a limit was reached, work repeats itself, a folder was rebuilt.
    Notice,
}

impl Source {
    /// Tells whether it is worth a turn by itself. The others ride along with the next that is.
    pub fn wakes(&self) -> bool {
        match self {
            Self::User
            | Self::Begin
            | Self::BeginFork
            | Self::Continue
            | Self::TaskMessage { .. }
            | Self::TaskComplete { .. }
            | Self::ClarifyResponse { .. }
            | Self::CrossProject { .. }
            | Self::BackgroundComplete { .. }
            | Self::Compact
            | Self::Notice => true,
            Self::UserMessageForwarded { .. }
            | Self::TreeChange { .. }
            | Self::WorkContext
            | Self::CompactedResume
            | Self::Interrupt => false,
        }
    }

    /// Tells whether it also wakes an agent whose task has ended. The end of a process is only news to an agent at work.
    pub fn reopens(&self) -> bool {
        self.wakes() && !matches!(self, Self::BackgroundComplete { .. })
    }

    /// Returns true if the user said it, in words or with a key.
    pub fn is_of_user(&self) -> bool {
        matches!(self, Self::User | Self::Begin | Self::BeginFork | Self::Continue)
    }

    /// Tells whether another task said it.
    pub fn is_of_task(&self) -> bool {
        matches!(self, Self::TaskMessage { .. })
    }

    /// Tells whether a model ever sees it.
    pub fn is_visible(&self) -> bool {
        !matches!(self, Self::Compact)
    }
}

//! A message to a task. Two phases: sent when it is in the log, consumed when a turn carries it.

use serde::{Deserialize, Serialize};

use crate::base::{AskId, MessageId, ProjectId, TaskId, Timestamp};
use crate::model::content::Image;
use crate::model::event::Verdict;
use crate::model::hook::HookEvent;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(from = "StoredMessage")]
#[schemars(!from)]
pub struct Message {
    pub id: MessageId,
    pub from: MessageSource,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    pub delivery: Delivery,
    /// The time of sending. Stored, because the model reads it: a change of time zone must not change a prompt
    /// prefix.
    pub at: Timestamp,
    /// The client and the number of the command that sent it, so that a repeated command is recognised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl Message {
    pub fn new(id: MessageId, at: Timestamp, from: MessageSource, body: impl Into<String>) -> Self {
        Self { id, from, body: body.into(), images: Vec::new(), delivery: Delivery::Steer, at, key: None }
    }
}

/// When a message reaches a working agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// At the next possible point of its turn.
    #[default]
    Steer,
    /// When it would otherwise sleep.
    Next,
    /// Now: its turn is interrupted.
    Interrupt,
}

/// The message for a task that the user starts without words.
pub const BEGIN: &str = "Begin with your task.";

/// The message for a task that the user resumes.
pub const CONTINUE: &str = "Go on where you stopped.";

/// The message for a task that continues a copied conversation.
pub const BEGIN_FORK: &str = "Go on from here with your own task.";

/// A stored message. Earlier versions had no delivery, and marked the user's key presses by their words alone.
#[derive(Deserialize)]
struct StoredMessage {
    id: MessageId,
    from: MessageSource,
    #[serde(default)]
    body: String,
    #[serde(default)]
    images: Vec<Image>,
    delivery: Option<Delivery>,
    at: Timestamp,
    key: Option<String>,
}

impl From<StoredMessage> for Message {
    fn from(stored: StoredMessage) -> Self {
        let StoredMessage { id, from, body, images, delivery, at, key } = stored;
        let from = match (from, body.as_str(), delivery) {
            (MessageSource::User, BEGIN, None) => MessageSource::Begin,
            (MessageSource::User, BEGIN_FORK, None) => MessageSource::BeginFork,
            (MessageSource::User, CONTINUE, None) => MessageSource::Continue,
            (from, ..) => from,
        };
        Self { id, from, body, images, delivery: delivery.unwrap_or_default(), at, key }
    }
}

/// A change of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TreeAction {
    Created,
    Updated,
    Moved,
    Reordered,
    Closed,
    Reset,
    Deleted,
    /// It was deleted, and is restored.
    Restored,
    /// Its run was stopped; the task stays in progress.
    Stopped,
}

/// What a message of a lifecycle hook does beside being read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookMessage {
    #[default]
    Context,
    /// The agent goes on.
    Wakes,
    /// The agent's turn has ended. It waits for a message.
    EndsTurn,
}

/// The source of a message, with its details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum MessageSource {
    /// The user, in their own words.
    User,
    /// The user started the task.
    Begin,
    /// The user started the task, which has a copy of another conversation.
    BeginFork,
    /// The user resumed the task.
    Continue,
    /// The parent task, or a sub task.
    TaskMessage {
        task: TaskId,
        title: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        request_reply: bool,
    },
    /// A sub task passed or failed.
    TaskComplete { task: TaskId, title: String, verdict: Verdict },
    /// The user sent a message to a descendant; its ancestors are informed.
    UserMessageForwarded {
        task: TaskId,
        title: String,
        /// The message woke a finished task.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        woke: bool,
    },
    /// The user changed the tree.
    TreeChange { task: TaskId, title: String, action: TreeAction },
    /// The answer to an Ask of this task.
    ClarifyResponse {
        ask: AskId,
        question: String,
        /// The deadline passed and the default was used.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        defaulted: bool,
    },
    /// The root of another project.
    CrossProject { project: ProjectId, name: String },
    /// A background process ended.
    BackgroundComplete {
        process: String,
        command: String,
        /// `None` if it is unknown, or a signal ended the process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<i32>,
        duration_ms: u64,
    },
    /// The work context, at the start of a segment.
    WorkContext,
    /// The summary from which a segment continues.
    CompactedResume,
    /// The user requests a compaction. Never part of the conversation.
    Compact,
    /// The user interrupted the agent.
    Interrupt,
    /// A notice of Matrix: a limit was reached, work repeats itself, a folder was rebuilt.
    Notice,
    /// What the profile that had the task before leaves to the one that takes it over.
    Handover {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
    },
    /// A lifecycle hook: context that it adds, or why the agent has to go on.
    Hook {
        event: HookEvent,
        #[serde(default)]
        effect: HookMessage,
    },
}

impl MessageSource {
    /// Returns true if it is worth a turn by itself. The others are delivered with the next one that is.
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
            | Self::Notice
            | Self::Handover { .. } => true,
            Self::UserMessageForwarded { .. }
            | Self::TreeChange { .. }
            | Self::WorkContext
            | Self::CompactedResume
            | Self::Interrupt => false,
            Self::Hook { effect, .. } => *effect == HookMessage::Wakes,
        }
    }

    /// Returns true if it also wakes an agent whose task has ended. The end of a process matters only to a working
    /// agent.
    pub fn reopens(&self) -> bool {
        self.wakes() && !matches!(self, Self::BackgroundComplete { .. } | Self::Handover { .. })
    }

    /// Returns true if the agent stopped because of it, and waits for another message.
    pub fn halts(&self) -> bool {
        matches!(self, Self::Interrupt | Self::Hook { effect: HookMessage::EndsTurn, .. })
    }

    /// Returns true if the user sent it, in words or with a key.
    pub fn is_from_user(&self) -> bool {
        matches!(self, Self::User | Self::Begin | Self::BeginFork | Self::Continue)
    }

    /// Returns true if another task sent it.
    pub fn is_from_task(&self) -> bool {
        matches!(self, Self::TaskMessage { .. })
    }

    /// Returns true if a model sees it.
    pub fn is_visible(&self) -> bool {
        !matches!(self, Self::Compact)
    }
}

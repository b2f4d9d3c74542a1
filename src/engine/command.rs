//! Commands to the engine, as plain data: a [`Command`] and the [`Actor`] that gives it.
//!
//! Users, agents and the engine itself send the same commands. The machine decides what each actor may do.

mod outcome;
pub mod sentence;

use serde::{Deserialize, Serialize};

use crate::base::{AskId, MessageId, MicroUsd, TaskId, TurnId};
pub use crate::config::Layer;
use crate::config::recurring::Schedule;
use crate::engine::query::Bytes;
use crate::engine::review::{MergeStrategy, MergeTarget, ReviewComment, ReviewMarks, RewindScope};
use crate::model::Image;
use crate::model::ask::{AskMode, AskReply};
use crate::model::message::Delivery;
use crate::model::task::{Colour, Overrides, Recurring};
use crate::permit::Mode;

pub use outcome::{ArchivedWork, Outcome, RestoredWorktree, RevivedTask, StartOutcome};
pub use sentence::UndoAction;

pub use crate::model::work::OnConflict;

/// Maximum length of a message between tasks, in characters. It goes into the other's context as a whole.
pub const MESSAGE_CHARS: usize = 20_000;
/// Maximum number of unread messages from other tasks in one task.
pub const UNREAD_MESSAGES: usize = 20;

/// The sender of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    User,
    /// The agent of this task.
    Agent(TaskId),
    /// Matrix itself: a recurring task is due, or a start repairs what a crash interrupted.
    Engine,
}

/// Correlates a command with its reply. Assigned by the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommandId(pub u64);

/// A requested change. Each is answered with an [`Outcome`] or a fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Send a user message to a task. An idle task is woken.
    Send {
        task: TaskId,
        message: Outgoing,
        mode: Delivery,
    },
    /// Send a message from the agent's task to an ancestor or a direct sub task.
    Message {
        to: TaskId,
        body: String,
        request_reply: bool,
    },
    /// Ask the user a question on behalf of the agent's task.
    Ask {
        question: String,
        detail: String,
        choices: Vec<String>,
        default: Option<String>,
        mode: AskMode,
    },
    /// Withdraw messages that the agent has not read yet.
    Withdraw {
        task: TaskId,
        messages: Vec<MessageId>,
    },
    Answer {
        task: TaskId,
        ask: AskId,
        reply: AskReply,
        /// The name of the client. See [`Command::signed`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Approve the plan that a task has handed in, or send it back.
    ReviewPlan {
        task: TaskId,
        approve: bool,
        words: String,
    },
    /// Create a task under `parent`, before one of its sub tasks or last.
    Create {
        parent: TaskId,
        before: Option<TaskId>,
        draft: TaskDraft,
        start: TaskStart,
    },
    Update {
        task: TaskId,
        changes: TaskChanges,
    },
    /// Give a task to another profile. The conversation so far is retired; files, branch, messages, questions and costs
    /// stay.
    HandOverTask {
        task: TaskId,
        /// The name of the profile.
        to: String,
        /// What the next agent should know. `None` for a note from the session.
        note: Option<String>,
    },
    /// Close a task: archive its work and remove its worktree.
    Close {
        task: TaskId,
    },
    /// Delete a task and its subtree. Work is archived.
    Delete {
        task: TaskId,
    },
    /// Start a task over: an empty conversation on a fresh branch. The old work is archived.
    Reset {
        task: TaskId,
    },
    /// Restore a task's worktree from its branch or archive, or restore a deleted task.
    Restore {
        task: TaskId,
    },
    /// Move a task under another, before one of its sub tasks or last.
    Move {
        task: TaskId,
        parent: TaskId,
        before: Option<TaskId>,
    },
    Reorder {
        parent: TaskId,
        order: Vec<TaskId>,
    },
    /// Start or resume a task.
    Resume {
        task: TaskId,
    },
    /// Interrupt the current turn. The agent stays.
    Interrupt {
        task: TaskId,
    },
    /// Stop runs. Their tasks stay in progress.
    Stop {
        scope: StopScope,
    },
    /// Compact the conversation now.
    Compact {
        task: TaskId,
    },
    /// Move the command that a call waits for to the background.
    Background {
        task: TaskId,
        call: String,
    },
    /// Kill a background process.
    Kill {
        task: TaskId,
        process: String,
    },
    /// Merge a task's branch into another, after the project's check. Undone with [`Command::UndoMerge`]. While an
    /// agent works where the target is checked out, the merge is queued until it pauses.
    Merge {
        task: TaskId,
        into: MergeTarget,
        how: MergeStrategy,
        conflicts: OnConflict,
    },
    /// Undo the last merge of a task.
    UndoMerge {
        task: TaskId,
    },
    /// Cancel a task's queued merge.
    CancelMerge {
        task: TaskId,
    },
    /// Run the project's check in the task's worktree and record its result.
    Verify {
        task: TaskId,
    },
    /// Ask the agent to merge the target branch into its own. The message lists expected conflicts.
    CatchUp {
        task: TaskId,
    },
    /// Send review comments to the agent, as one message.
    Review {
        task: TaskId,
        comments: Vec<ReviewComment>,
        /// A comment on the work as a whole.
        words: String,
        /// The reviewed state: [`crate::engine::review::TaskDiff::state`].
        state: Option<String>,
    },
    /// Rewind conversation, files or both to after a turn. `None` for before the first turn.
    Rewind {
        task: TaskId,
        to: Option<TurnId>,
        extent: RewindScope,
    },
    /// Redo: undo the last rewind.
    Redo {
        task: TaskId,
    },
    /// Create a sibling task with a copy of the conversation and files after a turn. `None` for their current state.
    Fork {
        task: TaskId,
        at: Option<TurnId>,
        draft: TaskDraft,
        start: TaskStart,
    },
    /// Copy the conversation of a task into another that has none.
    ForkContext {
        source: TaskId,
        target: TaskId,
    },
    /// Rewind to before a message was read, and send another text instead.
    Resend {
        task: TaskId,
        message: MessageId,
        text: String,
        /// Whether files are rewound, too.
        extent: RewindScope,
    },
    /// A command about files that needs no agent.
    Files(FileCommand),
    /// End the engine for another process that takes over from the disk: turns in progress finish, and no other
    /// begins.
    HandOver {
        /// Interrupt turns in progress. They resume in the other process.
        #[serde(default)]
        now: bool,
    },
    /// Stop all runs and quit.
    Quit,
}

impl Command {
    /// Returns the command with the name of the client that gives it, for what other clients see of it.
    #[must_use]
    pub fn signed(mut self, name: &str) -> Self {
        if let Self::Answer { by, .. } = &mut self {
            *by = Some(name.to_owned());
        }
        self
    }

    /// Returns the permission mode that it gives to a task.
    pub fn mode(&self) -> Option<Mode> {
        match self {
            Self::Create { draft, .. } | Self::Fork { draft, .. } => draft.mode,
            Self::Update { changes, .. } => changes.mode.flatten(),
            _ => None,
        }
    }
}

/// A command that the driver carries out without the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "files", rename_all = "snake_case")]
pub enum FileCommand {
    /// Save which hunks of a task's work the user has seen.
    MarkSeen { task: TaskId, seen: ReviewMarks },
    /// Write drafts of the conflicting files for the user to edit. [`OnConflict::Solved`] then merges them. Answered
    /// with [`Outcome::ConflictDrafts`].
    DraftConflicts { task: TaskId, into: MergeTarget },
    /// Store a picture, scaled to what providers accept. Answered with [`Outcome::Attached`].
    AttachPicture { name: String, data: Bytes },
    /// Set or remove a value in one of the settings files of the project.
    SetSetting { layer: Layer, key: String, value: Option<String> },
}

/// A message that the user sends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Outgoing {
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// See [`crate::model::Message::key`]. Set by the server of a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The fields of a new task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct TaskDraft {
    pub title: String,
    pub description: String,
    /// `None` for the default profile.
    pub profile: Option<String>,
    pub budget: Option<MicroUsd>,
    #[serde(skip_serializing_if = "is_unchanged")]
    pub overrides: Box<Overrides>,
    pub colour: Option<Colour>,
    pub recurring: Recurring,
    /// When a recurring task runs.
    #[serde(skip_serializing_if = "Schedule::is_empty")]
    pub schedule: Schedule,
    /// The permission mode. `None` for that of the profile and the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

#[expect(clippy::borrowed_box, reason = "the signature serde asks for")]
fn is_unchanged(overrides: &Box<Overrides>) -> bool {
    overrides.is_empty()
}

/// Whether a new task starts at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStart {
    #[default]
    Now,
    /// When it gets its first message.
    Later,
    /// It is a draft and starts only after the user or an agent readies it.
    Draft,
}

/// Changes to a task. `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct TaskChanges {
    pub title: Option<String>,
    pub description: Option<String>,
    /// `Some(None)` removes the limit.
    pub budget: Option<Option<MicroUsd>>,
    pub colour: Option<Option<Colour>>,
    pub recurring: Option<Recurring>,
    /// `Some(None)` uses the project's check.
    pub verify: Option<Option<String>>,
    /// Fields that are not set stay as they are.
    pub schedule: Option<Schedule>,
    /// Fields that are not set stay as they are.
    pub overrides: Option<Box<Overrides>>,
    /// Turns a task that has not started into a draft, or readies a draft.
    pub draft: Option<bool>,
    /// `Some(None)` uses the mode of the profile and the settings.
    pub mode: Option<Option<Mode>>,
}

impl TaskChanges {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Which runs to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopScope {
    Task(TaskId),
    Subtree(TaskId),
    All,
}

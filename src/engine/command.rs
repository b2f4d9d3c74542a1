//! Everything that can be asked of the engine, as plain data: a [`Command`] and the [`Actor`] that gives it. A user, an agent
//! and the engine itself send the same commands; what each may do is decided in one place, in the machine.

mod outcome;
pub mod words;

use serde::{Deserialize, Serialize};

use crate::base::{AskId, MessageId, MicroUsd, TaskId, TurnId};
pub use crate::config::Layer;
use crate::config::recurring::Schedule;
use crate::engine::query::Bytes;
use crate::engine::review::{Comment, Extent, Goal, How, Seen};
use crate::model::Image;
use crate::model::ask::{AskMode, Given};
use crate::model::message::Delivery;
use crate::model::task::{Colour, Recurring};

pub use outcome::{Begun, Outcome, RestoredWorktree, Revived, SetAside};
pub use words::WayBack;

pub use crate::model::work::OnConflict;

/// How many characters a message from one task to another may have: it goes whole into the other's context.
pub const MESSAGE_CHARS: usize = 20_000;
/// How many messages of other tasks may wait to be read by one task.
pub const UNREAD_MESSAGES: usize = 20;

/// Who gives a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    User,
    /// The agent of this task.
    Agent(TaskId),
    /// Matrix itself: a recurring task is due, or something that a crash cut short is finished.
    Engine,
}

/// The number of a command, given by whoever passes it to the machine. Joins it with its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommandId(pub u64);

/// A change that is asked for. Every one is answered with an [`Outcome`] or a fault that says why not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Say something to a task. A task that is not at work is woken.
    Send {
        task: TaskId,
        message: Outgoing,
        mode: Delivery,
    },
    /// Send a message from the agent's own task to one above it or to a direct sub task.
    Message {
        to: TaskId,
        body: String,
        request_reply: bool,
    },
    /// Ask the user something in the name of the agent's own task.
    Ask {
        question: String,
        detail: String,
        choices: Vec<String>,
        default: Option<String>,
        mode: AskMode,
    },
    /// Take messages back that the agent has not been given yet.
    Withdraw {
        task: TaskId,
        messages: Vec<MessageId>,
    },
    Answer {
        task: TaskId,
        ask: AskId,
        reply: Given,
    },
    /// Make a task below `parent`, before one of its sub tasks or last.
    Create {
        parent: TaskId,
        before: Option<TaskId>,
        draft: Draft,
        start: Start,
    },
    Update {
        task: TaskId,
        changes: Changes,
    },
    /// Put a task away: its worktree goes, its work is archived.
    Close {
        task: TaskId,
    },
    /// Take a task and everything below it out of the tree. Work is archived.
    Delete {
        task: TaskId,
    },
    /// Start a task over: an empty conversation on a fresh branch. The old work is archived.
    Reset {
        task: TaskId,
    },
    /// Bring the worktree of a task back from its branch or its archive.
    Restore {
        task: TaskId,
    },
    /// Hang a task below another, before one of its sub tasks or last.
    Move {
        task: TaskId,
        parent: TaskId,
        before: Option<TaskId>,
    },
    Reorder {
        parent: TaskId,
        order: Vec<TaskId>,
    },
    /// Let a task work: a new one, a stopped one, one that waits for nothing.
    Resume {
        task: TaskId,
    },
    /// Cut the turn short and keep the agent.
    Interrupt {
        task: TaskId,
    },
    /// End runs. Their tasks stay in progress.
    Stop {
        scope: StopScope,
    },
    /// Summarise the conversation now.
    Compact {
        task: TaskId,
    },
    /// Let the command that a call waits for go on in the background.
    Background {
        task: TaskId,
        call: String,
    },
    /// End a process in the background.
    Kill {
        task: TaskId,
        process: String,
    },
    /// Bring a task's branch into another. Checked first, if the project says how. Taken back with [`Command::UndoMerge`].
    /// While an agent works where the target is checked out, the merge is queued until it pauses.
    Merge {
        task: TaskId,
        into: Goal,
        how: How,
        conflicts: OnConflict,
    },
    /// Take the last merge of a task back.
    UndoMerge {
        task: TaskId,
    },
    /// Cancel the merge of a task that waits for the agent where its target is checked out.
    CancelMerge {
        task: TaskId,
    },
    /// Run the project's check in the task's worktree and keep its receipt.
    Verify {
        task: TaskId,
    },
    /// Ask the agent to take in what the branch that it goes into has gained, with the conflicts if there are any.
    CatchUp {
        task: TaskId,
    },
    /// Send a round of comments to the agent, as one message.
    Review {
        task: TaskId,
        comments: Vec<Comment>,
        /// What is to be said about all of it.
        words: String,
        /// The state that was looked at: [`crate::engine::review::TaskDiff::state`].
        state: Option<String>,
    },
    /// Make conversation, files or both what they were after a turn. Nothing: before the first one.
    Rewind {
        task: TaskId,
        to: Option<TurnId>,
        extent: Extent,
    },
    /// Take the last rewind back.
    Redo {
        task: TaskId,
    },
    /// Make a task beside another that goes on from its conversation and its files after a turn. Nothing: as they are.
    Fork {
        task: TaskId,
        at: Option<TurnId>,
        draft: Draft,
        start: Start,
    },
    /// Copy the conversation of one task into another that has none.
    ForkContext {
        source: TaskId,
        target: TaskId,
    },
    /// Go back to before a message was read, and say something else instead.
    Resend {
        task: TaskId,
        message: MessageId,
        text: String,
        /// Whether the files go back, too.
        extent: Extent,
    },
    /// Something that is done to files and concerns no agent.
    Files(FileCommand),
    /// Stop everything, keep everything, end.
    Quit,
}

/// A command that the driver carries out by itself: the machine has nothing to decide about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "files", rename_all = "snake_case")]
pub enum FileCommand {
    /// Remember what the user has seen of a task's work.
    MarkSeen { task: TaskId, seen: Seen },
    /// Write drafts of the files that a task's branch and its target disagree about, for the user to edit. Then
    /// [`OnConflict::Solved`] merges. Answered with [`Outcome::ConflictDrafts`].
    DraftConflicts { task: TaskId, into: Goal },
    /// Store a picture, scaled down to what vendors take. Answered with [`Outcome::Attached`].
    AttachPicture { name: String, data: Bytes },
    /// Set a value in one of the settings files that apply to the project, or remove it.
    SetSetting { layer: Layer, key: String, value: Option<String> },
}

/// Something to say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outgoing {
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// What a new task is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Draft {
    pub title: String,
    pub description: String,
    /// Who does the work. Nothing: whoever does it by default.
    pub profile: Option<String>,
    pub budget: Option<MicroUsd>,
    pub colour: Option<Colour>,
    pub recurring: Recurring,
    /// When it comes round, if it is recurring.
    #[serde(skip_serializing_if = "Schedule::is_empty")]
    pub schedule: Schedule,
}

/// Whether a new task begins at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    #[default]
    Now,
    /// When it is first spoken to.
    Later,
    /// Not before it is made ready: it is a draft.
    Draft,
}

/// What is to be different about a task. Nothing that is not said changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Changes {
    pub title: Option<String>,
    pub description: Option<String>,
    /// `Some(None)` takes the limit away.
    pub budget: Option<Option<MicroUsd>>,
    pub colour: Option<Option<Colour>>,
    pub recurring: Option<Recurring>,
    /// `Some(None)`: whatever checks the project's work checks this one's, too.
    pub verify: Option<Option<String>>,
    /// When it comes round. What it does not say stays as it is.
    pub schedule: Option<Schedule>,
    /// Makes a draft of a task that has not begun, or readies one.
    pub draft: Option<bool>,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Whose runs end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopScope {
    Task(TaskId),
    Subtree(TaskId),
    All,
}

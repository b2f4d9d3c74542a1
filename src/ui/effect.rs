//! What the screen wants done: plain data, carried out by the app. The screen itself touches nothing.

use crate::base::{AskId, EventId, MessageId, MicroUsd, ProjectId, TaskId, TurnId};
use crate::engine::command::{Command, FileCommand, Layer};
use crate::engine::review::{Extent, Goal, How, Seen};
use crate::model::BlobRef;
use crate::model::search::Question;
use crate::ui::review::{Notes, Request};

/// Tells the answer to one effect from the answer to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u64);

/// Something to be done outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Ask the engine; answered with [`crate::ui::Msg::Reply`].
    Engine {
        tag: Tag,
        command: Command,
    },
    /// Read `count` events of a session before one of them, or the last ones; answered with [`crate::ui::Msg::Page`].
    LoadPage {
        task: TaskId,
        before: Option<EventId>,
        count: usize,
    },
    /// Compare a task's work at two moments; answered with [`crate::ui::Msg::Diff`]. Only the latest matters.
    LoadDiff {
        task: TaskId,
        request: Request,
    },
    /// Read which turns there are; answered with [`crate::ui::Msg::Turns`].
    LoadTurns {
        task: TaskId,
    },
    /// Find out what a merge would do; answered with [`crate::ui::Msg::MergePreview`].
    LoadMerge {
        task: TaskId,
        goal: Goal,
    },
    /// Find out what going back would do; answered with [`crate::ui::Msg::RewindPreview`]. Only the latest matters.
    LoadRewind {
        task: TaskId,
        to: Option<TurnId>,
        extent: Extent,
    },
    /// Let the conflicts of a task's work be solved in `$EDITOR`, and merge it; answered with [`crate::ui::Msg::Reply`].
    SolveConflicts {
        tag: Tag,
        task: TaskId,
        goal: Goal,
        how: How,
    },
    /// Let something that was said be changed in `$EDITOR`; answered with [`crate::ui::Msg::Edited`].
    EditMessage {
        task: TaskId,
        message: MessageId,
    },
    /// Keep what the person has seen of a task's work.
    SaveSeen {
        task: TaskId,
        seen: Seen,
    },
    /// Keep what was said in reviews and not yet sent over a restart.
    SaveReviews {
        notes: Notes,
    },
    /// Read a blob for the entry `event`; answered with [`crate::ui::Msg::Blob`].
    LoadBlob {
        task: TaskId,
        event: EventId,
        blob: BlobRef,
    },
    /// Find files of a task's worktree; answered with [`crate::ui::Msg::Files`]. Only the latest matters.
    ListFiles {
        task: TaskId,
        query: String,
    },
    /// Take a picture into the blobs; answered with [`crate::ui::Msg::Attached`].
    Attach {
        task: TaskId,
        path: String,
    },
    /// Look for something over all tasks; answered with [`crate::ui::Msg::Found`]. Only the latest matters.
    Search {
        question: Question,
    },
    /// Let a text be edited in `$EDITOR`; answered with [`crate::ui::Msg::Edited`].
    OpenEditor {
        purpose: Purpose,
        text: String,
    },
    OpenPager {
        title: String,
        text: String,
    },
    /// Put a text on the clipboard and tell with [`crate::ui::Msg::Said`] how that went, if it did not go well.
    Copy {
        text: String,
    },
    /// Tell the person something while they look elsewhere.
    Notify {
        title: String,
        body: String,
    },
    SetTitle {
        title: String,
    },
    /// Let the terminal turn its wheel into arrow keys, or not: where text is written they would move in it.
    WheelAsArrows {
        on: bool,
    },
    SaveSetting {
        setting: Setting,
    },
    /// Keep what is being written over a restart. An empty list: nothing is.
    SaveDrafts {
        drafts: Vec<(TaskId, String)>,
    },
    /// Take a new snapshot; answered with [`crate::ui::Msg::Snapshot`].
    TakeSnapshot,
    ListProjects,
    /// Ask the endpoint which models it has; answered with [`crate::ui::Msg::Models`].
    ListModels,
    OpenProject {
        project: ProjectId,
    },
    /// Leave for the set-up, and come back.
    SetUp,
    Redraw,
    Suspend,
    Quit,
}

/// What a text is edited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A message to a task.
    Message(TaskId),
    Description(TaskId),
    Answer(AskId),
    /// A remark in the review of a task.
    Comment(TaskId),
    /// Something that was said, to be said differently.
    Resend(TaskId, MessageId),
}

/// A setting that the screen changes.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    Theme(String),
    /// `None`: no limit.
    ProjectBudget(Option<MicroUsd>),
    NotifyDesktop(bool),
    NotifyBell(bool),
    Mouse(bool),
    TaskModel(String),
}

impl Setting {
    /// Returns the command that saves it: taste in the user's own settings, money in the project's.
    pub fn command(&self) -> Command {
        let (layer, key, value) = match self {
            Self::Theme(name) => (Layer::Global, "theme", Some(name.clone())),
            Self::NotifyDesktop(on) => (Layer::Global, "notify.desktop", Some(on.to_string())),
            Self::NotifyBell(on) => (Layer::Global, "notify.bell", Some(on.to_string())),
            Self::Mouse(on) => (Layer::Global, "mouse", Some(on.to_string())),
            Self::TaskModel(model) => (Layer::Local, "model", Some(model.clone())),
            Self::ProjectBudget(budget) => {
                (Layer::Local, "budgetUsd", budget.map(|budget| (budget.0 as f64 / 1_000_000.0).to_string()))
            }
        };
        Command::Files(FileCommand::SetSetting { layer, key: key.to_owned(), value })
    }
}

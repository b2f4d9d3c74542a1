//! Effects that `update` requests: plain data, carried out by the app.

use crate::base::{AskId, EventId, MessageId, MicroUsd, ProjectId, TaskId, TurnId};
use crate::engine::command::{Command, FileCommand, Layer};
use crate::engine::review::{MergeStrategy, MergeTarget, ReviewMarks, RewindScope};
use crate::model::BlobRef;
use crate::model::search::SearchQuery;
use crate::ui::position::ScreenPosition;
use crate::ui::review::{Request, ReviewNotes};

/// Texts that were written and not sent.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Drafts {
    #[serde(rename = "drafts")]
    pub messages: Vec<(TaskId, String)>,
    #[serde(default)]
    pub answers: Vec<(AskId, String)>,
    /// The text of a new task.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub brief: String,
}

/// Correlates a reply with the effect that requested it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub u64);

/// Work for the app.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Sends a command to the engine; answered with [`crate::ui::Msg::Reply`].
    Engine {
        tag: Tag,
        command: Command,
    },
    /// Reads `count` events of a session before `before`, or the newest ones; answered with [`crate::ui::Msg::Page`].
    LoadPage {
        task: TaskId,
        before: Option<EventId>,
        count: usize,
    },
    /// Loads a diff of the task; answered with [`crate::ui::Msg::Diff`]. Only the latest request matters.
    LoadDiff {
        task: TaskId,
        request: Request,
    },
    /// Loads the turns of the task; answered with [`crate::ui::Msg::Turns`].
    LoadTurns {
        task: TaskId,
    },
    /// Loads a merge preview; answered with [`crate::ui::Msg::MergePreview`].
    LoadMerge {
        task: TaskId,
        goal: MergeTarget,
    },
    /// Loads a rewind preview; answered with [`crate::ui::Msg::RewindPreview`]. Only the latest request matters.
    LoadRewind {
        task: TaskId,
        to: Option<TurnId>,
        extent: RewindScope,
    },
    /// Opens the conflicts in `$EDITOR`, then merges; answered with [`crate::ui::Msg::Reply`].
    ResolveConflicts {
        tag: Tag,
        task: TaskId,
        goal: MergeTarget,
        how: MergeStrategy,
    },
    /// Opens a sent message in `$EDITOR`; answered with [`crate::ui::Msg::EditorClosed`].
    EditMessage {
        task: TaskId,
        message: MessageId,
    },
    /// Saves which hunks of a task the user has seen.
    SaveSeen {
        task: TaskId,
        seen: ReviewMarks,
    },
    /// Saves unsent review comments across restarts.
    SaveReviews {
        notes: ReviewNotes,
    },
    /// Reads a blob for the entry `event`; answered with [`crate::ui::Msg::Blob`].
    LoadBlob {
        task: TaskId,
        event: EventId,
        blob: BlobRef,
    },
    /// Finds files in the task's worktree; answered with [`crate::ui::Msg::Files`]. Only the latest request matters.
    ListFiles {
        task: TaskId,
        query: String,
    },
    /// Stores an image as a blob; answered with [`crate::ui::Msg::Attached`].
    Attach {
        task: TaskId,
        path: String,
    },
    /// Searches all tasks; answered with [`crate::ui::Msg::SearchResults`]. Only the latest request matters.
    Search {
        question: SearchQuery,
    },
    /// Opens a text in `$EDITOR`; answered with [`crate::ui::Msg::EditorClosed`].
    OpenEditor {
        purpose: EditPurpose,
        text: String,
    },
    OpenPager {
        title: String,
        text: String,
    },
    /// Copies a text to the clipboard; answered with [`crate::ui::Msg::Notice`] if it fails.
    Copy {
        text: String,
    },
    /// Sends a desktop notification.
    Notify {
        title: String,
        body: String,
    },
    SetTitle {
        title: String,
    },
    /// Loads the theme that [`crate::ui::Model::shown_theme`] names.
    ShowTheme,
    /// Lets the terminal translate the wheel into arrow keys. Off in text inputs, where arrows would move the cursor.
    WheelAsArrows {
        on: bool,
    },
    SaveSetting {
        setting: Setting,
    },
    /// Saves composer drafts across restarts. An empty list clears them.
    SaveDrafts {
        drafts: Drafts,
    },
    /// Saves where the user is on the screen.
    SavePosition {
        position: ScreenPosition,
    },
    /// Takes a new snapshot; answered with [`crate::ui::Msg::Snapshot`].
    TakeSnapshot,
    ListProjects,
    /// Asks the endpoint for its models; answered with [`crate::ui::Msg::Models`].
    ListModels,
    OpenProject {
        project: ProjectId,
    },
    /// Opens a project of another machine.
    OpenHostProject {
        host: String,
        path: String,
    },
    /// Leaves the screen for the set-up and comes back. `retry` is the question about a rejected key that led to it: the
    /// set-up begins with the key, and the question is answered with "Try again" afterwards.
    SetUp {
        retry: Option<(TaskId, AskId)>,
    },
    Redraw,
    Suspend,
    /// Shows the engine of the process that has taken over.
    Rejoin,
    Quit,
}

/// The text that an editor session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditPurpose {
    /// A message to the task.
    Message(TaskId),
    Description(TaskId),
    Answer(AskId),
    /// The brief of a new task.
    Brief,
    /// A review comment.
    Comment(TaskId),
    /// A message to edit and resend.
    Resend(TaskId, MessageId),
}

/// A setting that the screen can change.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    Theme(String),
    /// `None` for no limit.
    ProjectBudget(Option<MicroUsd>),
    NotifyDesktop(bool),
    NotifyBell(bool),
    Mouse(bool),
    TaskModel(String),
    /// Who does new tasks.
    Profile(String),
}

impl Setting {
    /// Returns the command that saves the setting: preferences in the user settings, money in the project settings.
    pub fn command(&self) -> Command {
        let (layer, key, value) = match self {
            Self::Theme(name) => (Layer::Global, "theme", Some(name.clone())),
            Self::NotifyDesktop(on) => (Layer::Global, "notify.desktop", Some(on.to_string())),
            Self::NotifyBell(on) => (Layer::Global, "notify.bell", Some(on.to_string())),
            Self::Mouse(on) => (Layer::Global, "mouse", Some(on.to_string())),
            Self::TaskModel(model) => (Layer::Local, "model", Some(model.clone())),
            Self::Profile(name) => (Layer::Local, "profile", Some(name.clone())),
            Self::ProjectBudget(budget) => {
                (Layer::Local, "budgetUsd", budget.map(|budget| (budget.0 as f64 / 1_000_000.0).to_string()))
            }
        };
        Command::Files(FileCommand::SetSetting { layer, key: key.to_owned(), value })
    }
}

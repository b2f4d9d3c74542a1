//! Messages to the screen and its reaction. All knowledge of the outside arrives here: keys, engine updates, files
//! and the time.

use crate::base::keys::Input;
use crate::base::{EventId, Fault, TaskId, Timestamp, TurnId};
use crate::engine::command::Outcome;
use crate::engine::review::{MergePreview, MergeTarget, RewindPreview, RewindScope, TurnView};
use crate::engine::snapshot::Snapshot;
use crate::engine::update::Update;
use crate::model::search::{SearchQuery, SearchResults};
use crate::model::{Event, Image};
use crate::theme::Theme;
use crate::ui::effect::{EditPurpose, Effect, Tag};
use crate::ui::review::{Answer, Request};
use crate::ui::setup::ModelOption;

/// An input of `update`.
#[derive(Clone, Debug)]
pub enum Msg {
    Input(Input),
    Engine(Update),
    /// The state of the project: at the start, after [`Update::Resync`], or of another project.
    Snapshot(Box<Snapshot>),
    /// Events of a session, oldest first: the answer to [`Effect::LoadPage`].
    Page {
        task: TaskId,
        /// As requested: the events before this one, or the newest ones.
        before: Option<EventId>,
        events: Vec<Event>,
        /// Whether older events exist.
        more: bool,
    },
    /// Events could not be read: the other answer to [`Effect::LoadPage`].
    PageFailed {
        task: TaskId,
        before: Option<EventId>,
        fault: Fault,
    },
    /// The result of a command: the answer to [`Effect::Engine`].
    Reply {
        tag: Tag,
        outcome: Result<Outcome, Fault>,
    },
    /// A diff of the task: the answer to [`Effect::LoadDiff`].
    Diff {
        task: TaskId,
        request: Request,
        answer: Result<Answer, Fault>,
    },
    /// The turns of a task, oldest first: the answer to [`Effect::LoadTurns`].
    Turns {
        task: TaskId,
        turns: Result<Vec<TurnView>, Fault>,
    },
    /// The answer to [`Effect::LoadMerge`].
    MergePreview {
        task: TaskId,
        goal: MergeTarget,
        preview: Box<Result<MergePreview, Fault>>,
    },
    /// The answer to [`Effect::LoadRewind`].
    RewindPreview {
        task: TaskId,
        to: Option<TurnId>,
        extent: RewindScope,
        preview: Box<Result<RewindPreview, Fault>>,
    },
    /// The content of a blob: the answer to [`Effect::LoadBlob`].
    Blob {
        task: TaskId,
        event: EventId,
        text: Result<String, Fault>,
    },
    /// Files whose paths match `query`, best first: the answer to [`Effect::ListFiles`].
    Files {
        task: TaskId,
        query: String,
        paths: Vec<String>,
    },
    /// The answer to [`Effect::Search`].
    SearchResults {
        asked: SearchQuery,
        found: Result<SearchResults, Fault>,
    },
    /// The answer to [`Effect::Attach`].
    Attached {
        task: TaskId,
        path: String,
        image: Result<Image, Fault>,
    },
    /// The editor was closed. `text` is `None` to discard the edit.
    EditorClosed {
        purpose: EditPurpose,
        text: Option<String>,
    },
    /// The answer to [`Effect::ListProjects`].
    Projects(Vec<ProjectChoice>),
    /// The projects of another machine: one of the answers to [`Effect::ListProjects`].
    HostProjects {
        host: String,
        projects: HostProjects,
    },
    /// The answer to [`Effect::ListModels`]. Empty if the endpoint did not list any.
    Models(Vec<ModelOption>),
    /// A notice from the app, shown as a toast.
    Notice {
        level: crate::engine::update::Level,
        text: String,
    },
    /// The settings were changed outside of the screen.
    Settings(Box<crate::ui::Settings>),
    /// [`Cx`] has another theme: all layouts are out of date.
    ThemeChanged,
    /// The time that [`crate::ui::Model::next_tick`] returned has come.
    Tick,
}

/// A project in the project list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectChoice {
    pub id: crate::base::ProjectId,
    pub name: String,
    pub path: String,
    /// The activity of the project in a few words.
    pub note: String,
    /// The machine of the project, as ssh names it. `None` for this one.
    pub host: Option<String>,
}

/// The projects of another machine, or why they are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostProjects {
    /// It was asked.
    Asked,
    Listed(Vec<ProjectChoice>),
    Failed(Fault),
}

/// The environment of `update` and `view`.
#[derive(Clone, Copy, Debug)]
pub struct Cx<'a> {
    pub now: Timestamp,
    /// Columns and rows of the screen.
    pub size: (u16, u16),
    pub theme: &'a Theme,
    /// The user's time zone.
    pub zone: &'a jiff::tz::TimeZone,
}

/// When the screen must be drawn again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Redraw {
    /// Nothing visible has changed.
    #[default]
    No,
    /// With the next scheduled frame.
    Lazy,
    /// At once: the user waits for it.
    Now,
}

/// The result of `update`.
#[derive(Debug, Default)]
pub struct Reaction {
    pub effects: Vec<Effect>,
    pub redraw: Redraw,
}

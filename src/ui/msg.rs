//! What can happen to the screen, and what it answers. Everything that the outside knows arrives in here: keys,
//! the engine, files, the time of day.

use crate::base::keys::Input;
use crate::base::{EventId, Fault, TaskId, Timestamp, TurnId};
use crate::engine::command::Outcome;
use crate::engine::review::{Extent, Goal, MergePreview, RewindPreview, TurnView};
use crate::engine::snapshot::Snapshot;
use crate::engine::update::Update;
use crate::model::search::{Found, Question};
use crate::model::{Event, Image};
use crate::theme::Theme;
use crate::ui::effect::{Effect, Purpose, Tag};
use crate::ui::review::{Answer, Request};
use crate::ui::setup::Offered;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Msg {
    Input(Input),
    Engine(Update),
    /// The state of the project, at the start, after [`Update::Resync`], or of another project.
    Snapshot(Box<Snapshot>),
    /// Events of a session, oldest first: an answer to [`Effect::LoadPage`].
    Page {
        task: TaskId,
        /// What was asked for: the events before this one, or the last ones.
        before: Option<EventId>,
        events: Vec<Event>,
        /// Whether there are events before these.
        more: bool,
    },
    /// Events of a session cannot be read: the other answer to [`Effect::LoadPage`].
    NoPage {
        task: TaskId,
        before: Option<EventId>,
        fault: Fault,
    },
    /// What became of a command: the answer to [`Effect::Engine`].
    Reply {
        tag: Tag,
        outcome: Result<Outcome, Fault>,
    },
    /// What a task has changed: an answer to [`Effect::LoadDiff`].
    Diff {
        task: TaskId,
        request: Request,
        answer: Result<Answer, Fault>,
    },
    /// The turns of a task, oldest first: an answer to [`Effect::LoadTurns`].
    Turns {
        task: TaskId,
        turns: Result<Vec<TurnView>, Fault>,
    },
    /// What a merge would do: an answer to [`Effect::LoadMerge`].
    MergePreview {
        task: TaskId,
        goal: Goal,
        preview: Box<Result<MergePreview, Fault>>,
    },
    /// What going back would do: an answer to [`Effect::LoadRewind`].
    RewindPreview {
        task: TaskId,
        to: Option<TurnId>,
        extent: Extent,
        preview: Box<Result<RewindPreview, Fault>>,
    },
    /// The content of a blob: an answer to [`Effect::LoadBlob`].
    Blob {
        task: TaskId,
        event: EventId,
        text: Result<String, Fault>,
    },
    /// Files whose paths fit `query`, best first: an answer to [`Effect::ListFiles`].
    Files {
        task: TaskId,
        query: String,
        paths: Vec<String>,
    },
    /// What was found over all tasks: an answer to [`Effect::Search`].
    Found {
        asked: Question,
        found: Result<Found, Fault>,
    },
    /// A picture was taken into the blobs: an answer to [`Effect::Attach`].
    Attached {
        task: TaskId,
        path: String,
        image: Result<Image, Fault>,
    },
    /// The editor was closed. Nothing: what was written in it is to be forgotten.
    Edited {
        purpose: Purpose,
        text: Option<String>,
    },
    /// Projects to choose from: an answer to [`Effect::ListProjects`].
    Projects(Vec<ProjectChoice>),
    /// Models to choose from: an answer to [`Effect::ListModels`]. None: nobody told.
    Models(Vec<Offered>),
    /// Something the app did or could not do for the screen.
    Said {
        level: crate::engine::update::Level,
        text: String,
    },
    /// The settings were changed outside of the screen.
    Settings(Box<crate::ui::Settings>),
    /// The theme in [`Cx`] is another one now: nothing that was laid out fits it.
    ThemeChanged,
    /// The moment that [`crate::ui::Model::next_tick`] named has come.
    Tick,
}

/// A project that can be gone to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectChoice {
    pub id: crate::base::ProjectId,
    pub name: String,
    pub path: String,
    /// What is going on there, in a few words.
    pub note: String,
}

/// What `update` and `view` may know of the outside.
#[derive(Clone, Copy, Debug)]
pub struct Cx<'a> {
    pub now: Timestamp,
    /// Columns and rows of the screen.
    pub size: (u16, u16),
    pub theme: &'a Theme,
    /// For times of day that a person reads.
    pub zone: &'a jiff::tz::TimeZone,
}

/// When the screen must be drawn again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Redraw {
    /// Nothing that can be seen is different.
    #[default]
    No,
    /// With the next frame that is due.
    Lazy,
    /// At once: a person waits for it.
    Now,
}

/// What comes of a message.
#[derive(Debug, Default)]
pub struct Reaction {
    pub effects: Vec<Effect>,
    pub redraw: Redraw,
}

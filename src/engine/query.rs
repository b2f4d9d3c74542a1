//! Everything that a front end reads of a project, as plain data: a [`Query`] and its [`Answer`].
//!
//! Commands change, queries only read. Both can be sent as JSON, so that a screen needs no file of the project.

mod list;
mod tree;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base::{EventId, Fault, MessageId, ProjectId, TaskId, TurnId};
use crate::config::SettingRow;
use crate::engine::review::{DiffWish, Extent, Goal, MergePreview, RewindPreview, Seen, TaskDiff, TurnView};
use crate::model::TaskNode;
use crate::model::content::BlobId;
use crate::model::event::Event;
use crate::model::search::{Found, Question};
use crate::provider::Facts;

pub use list::{AskRow, CostRow, CostsBy, List, TaskRow, TaskSummary};
pub use tree::{TaskCard, TaskHit, TaskHits, TaskRef, TreeAnswer, TreeQuery, TreeRow, Unfinished};

/// A question about a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "query", rename_all = "snake_case")]
pub enum Query {
    /// Up to `count` events of a session before one of them, or the last ones.
    Page {
        task: TaskId,
        before: Option<EventId>,
        count: usize,
    },
    /// The text of a message that was sent to a task.
    Message {
        task: TaskId,
        message: MessageId,
    },
    /// Bytes of a session's file as they are on the disk, damaged lines included. Empty at its end.
    RawSession {
        task: TaskId,
        from: u64,
    },
    Blob {
        blob: BlobId,
    },
    Diff {
        task: TaskId,
        wish: DiffWish,
    },
    /// The same as a patch that `git apply` takes.
    Patch {
        task: TaskId,
        wish: DiffWish,
    },
    /// The turns of a task's conversation, oldest first.
    Turns {
        task: TaskId,
    },
    /// What merging a task's branch would do.
    MergePreview {
        task: TaskId,
        into: Goal,
    },
    /// What a rewind to after a turn would undo. `None`: to before the first turn.
    RewindPreview {
        task: TaskId,
        to: Option<TurnId>,
        extent: Extent,
    },
    /// What the user has seen of a task's work.
    Seen {
        task: TaskId,
    },
    /// The paths in a task's worktree that match `words` best.
    Files {
        task: TaskId,
        words: String,
        limit: usize,
    },
    /// Text in all tasks of the project.
    Search {
        question: Question,
    },
    /// The task with this id, or the only one whose id begins with it. A deleted task is found by its whole id.
    Find {
        name: String,
    },
    /// All tasks in the order of the tree, with the totals of their sessions.
    Tasks,
    Summary {
        task: TaskId,
    },
    /// What waits for the user.
    Asks,
    /// What was spent, largest first; by day, oldest first. Deleted tasks count.
    Costs {
        by: CostsBy,
    },
    /// Tasks that were deleted and can be restored, oldest first.
    DeletedTasks,
    /// The models that can be chosen: those that are known, or those that the root's endpoint lists.
    Models {
        from: ModelSource,
    },
    /// The settings in force in the project, without secrets.
    Settings,
    /// The projects of this data folder.
    Projects,
    /// The tree as the engine has it at this moment.
    Tree(TreeQuery),
}

impl Query {
    /// Returns the task whose worktree has to be known to answer.
    pub(in crate::engine) fn worktree_of(&self) -> Option<TaskId> {
        match self {
            Self::Diff { task, .. }
            | Self::Patch { task, .. }
            | Self::MergePreview { task, .. }
            | Self::RewindPreview { task, .. }
            | Self::Files { task, .. } => Some(*task),
            Self::Page { .. }
            | Self::Message { .. }
            | Self::RawSession { .. }
            | Self::Blob { .. }
            | Self::Turns { .. }
            | Self::Seen { .. }
            | Self::Search { .. }
            | Self::Find { .. }
            | Self::Tasks
            | Self::Summary { .. }
            | Self::Asks
            | Self::Costs { .. }
            | Self::DeletedTasks
            | Self::Models { .. }
            | Self::Settings
            | Self::Projects
            | Self::Tree(_) => None,
        }
    }
}

/// The answer to the [`Query`] of the same name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", content = "data", rename_all = "snake_case")]
pub enum Answer {
    Page(Page),
    Message(String),
    RawSession(Bytes),
    Blob(Bytes),
    Diff(Box<TaskDiff>),
    Patch(Bytes),
    Turns(Vec<TurnView>),
    MergePreview(Box<MergePreview>),
    RewindPreview(Box<RewindPreview>),
    Seen(Seen),
    Files(Vec<String>),
    Search(Found),
    Find(TaskId),
    Tasks(List<TaskRow>),
    Summary(Box<TaskSummary>),
    Asks(List<AskRow>),
    Costs(List<CostRow>),
    DeletedTasks(Vec<TaskNode>),
    Models(Vec<ModelOffer>),
    Settings(Vec<SettingRow>),
    Projects(Vec<ProjectEntry>),
    Tree(TreeAnswer),
}

/// Events of a session, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page {
    pub events: Vec<Event>,
    /// Whether there are older ones. In a whole session that comes page by page, the one before was the older one.
    pub more: bool,
    /// Whether something on the way could not be read. Of a whole session, the last page says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub damaged: bool,
}

/// Where a list of models comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelSource {
    /// The settings and the built-in table. Needs no network.
    Known,
    /// The endpoint. Empty if it does not answer.
    Endpoint,
}

/// A model that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelOffer {
    pub id: String,
    /// The context window in tokens, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// The price of input and output in micro-dollars per million tokens, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<(u64, u64)>,
}

impl ModelOffer {
    pub fn new(id: &str, facts: Option<Facts>) -> Self {
        let price = facts.and_then(|facts| facts.prices).map(|prices| (prices.input, prices.output));
        Self { id: id.to_owned(), window: facts.map(|facts| facts.window), price }
    }
}

/// A project of this data folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectEntry {
    pub id: ProjectId,
    pub name: String,
    pub path: String,
    /// Whether a process works on it.
    pub open: bool,
}

/// Bytes, written as base64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Self).map_err(D::Error::custom)
    }
}

/// Returns the payload of an answer, or a fault if it is the answer to another query.
macro_rules! expect_answer {
    ($answer:expr, $name:ident) => {
        match $answer {
            $crate::engine::query::Answer::$name(data) => Ok(data),
            other => Err($crate::engine::query::mismatch(stringify!($name), &other)),
        }
    };
}
pub(in crate::engine) use expect_answer;

/// Returns the fault for an answer to another query than the one that was asked.
pub(in crate::engine) fn mismatch(wanted: &str, got: &Answer) -> Fault {
    let got = match got {
        Answer::Page(_) => "Page",
        Answer::Message(_) => "Message",
        Answer::RawSession(_) => "RawSession",
        Answer::Blob(_) => "Blob",
        Answer::Diff(_) => "Diff",
        Answer::Patch(_) => "Patch",
        Answer::Turns(_) => "Turns",
        Answer::MergePreview(_) => "MergePreview",
        Answer::RewindPreview(_) => "RewindPreview",
        Answer::Seen(_) => "Seen",
        Answer::Files(_) => "Files",
        Answer::Search(_) => "Search",
        Answer::Find(_) => "Find",
        Answer::Tasks(_) => "Tasks",
        Answer::Summary(_) => "Summary",
        Answer::Asks(_) => "Asks",
        Answer::Costs(_) => "Costs",
        Answer::DeletedTasks(_) => "DeletedTasks",
        Answer::Models(_) => "Models",
        Answer::Settings(_) => "Settings",
        Answer::Projects(_) => "Projects",
        Answer::Tree(_) => "Tree",
    };
    Fault::internal(format!("the engine answered a {wanted} query with {got}"))
}

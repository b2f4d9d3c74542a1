//! The queries that a front end can send, and their answers, as plain data.
//!
//! Commands change the project, queries only read it. Both can be sent as JSON, so a front end needs no access to the
//! project's files.

mod list;
mod tree;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base::{EventId, Fault, MessageId, ProjectId, TaskId, TurnId};
use crate::config::SettingRow;
use crate::engine::review::{
    DiffRequest, MergePreview, MergeTarget, ReviewMarks, RewindPreview, RewindScope, TaskDiff, TurnView,
};
use crate::model::TaskNode;
use crate::model::content::BlobId;
use crate::model::event::Event;
use crate::model::search::{SearchQuery, SearchResults};
use crate::provider::ModelInfo;

pub use list::{AskRow, CostRow, CostsBy, List, TaskRow, TaskSummary};
pub use tree::{TaskCard, TaskHit, TaskHits, TaskRef, TreeAnswer, TreeQuery, TreeRow, Unfinished};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "query", rename_all = "snake_case")]
pub enum Query {
    /// Up to `count` events of a session before `before`, or the last ones.
    Page {
        task: TaskId,
        before: Option<EventId>,
        count: usize,
    },
    Message {
        task: TaskId,
        message: MessageId,
    },
    /// Raw bytes of a session's file, including damaged lines. Empty at the end of the file.
    RawSession {
        task: TaskId,
        from: u64,
    },
    Blob {
        blob: BlobId,
    },
    Diff {
        task: TaskId,
        #[serde(rename = "wish")]
        request: DiffRequest,
    },
    /// The diff as a patch for `git apply`.
    Patch {
        task: TaskId,
        #[serde(rename = "wish")]
        request: DiffRequest,
    },
    /// The turns of a task's conversation, oldest first.
    Turns {
        task: TaskId,
    },
    /// A preview of merging the task's branch.
    MergePreview {
        task: TaskId,
        into: MergeTarget,
    },
    /// A preview of a rewind to the end of turn `to`. `None` rewinds to before the first turn.
    RewindPreview {
        task: TaskId,
        to: Option<TurnId>,
        extent: RewindScope,
    },
    /// The user's review marks on a task's work.
    Seen {
        task: TaskId,
    },
    /// The paths in a task's worktree that match `words` best.
    Files {
        task: TaskId,
        words: String,
        limit: usize,
    },
    /// Full-text search in all tasks.
    Search {
        question: SearchQuery,
    },
    /// The task that an address names: see [`crate::model::address`]. A deleted task is found by its full id.
    Find {
        name: String,
    },
    /// All tasks in tree order, with the totals of their sessions.
    Tasks,
    Summary {
        task: TaskId,
    },
    /// The open questions to the user.
    Asks,
    /// The costs, including deleted tasks. Largest first; by day, oldest first.
    Costs {
        by: CostsBy,
    },
    /// Deleted tasks that can be restored, oldest first.
    DeletedTasks,
    /// The models that can be chosen, from one of the two sources.
    Models {
        from: ModelSource,
    },
    /// The effective settings of the project, without secrets.
    Settings,
    /// The projects of this data folder.
    Projects,
    /// The current tree in the engine's memory.
    Tree(TreeQuery),
}

impl Query {
    /// Returns the task whose location the answer depends on.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "answer", content = "data", rename_all = "snake_case")]
pub enum QueryAnswer {
    Page(Page),
    Message(String),
    RawSession(Bytes),
    Blob(Bytes),
    Diff(Box<TaskDiff>),
    Patch(Bytes),
    Turns(Vec<TurnView>),
    MergePreview(Box<MergePreview>),
    RewindPreview(Box<RewindPreview>),
    Seen(ReviewMarks),
    Files(Vec<String>),
    Search(SearchResults),
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Page {
    pub events: Vec<Event>,
    /// Whether there are older events. Always false when a whole session is read.
    pub more: bool,
    /// Whether some events could not be read. For a whole session, only the last page has this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub damaged: bool,
}

/// The source of a list of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelSource {
    /// The settings and the built-in table. Needs no network.
    Known,
    /// The endpoint. Empty if the request fails.
    Endpoint,
}

/// A model that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelOffer {
    pub id: String,
    /// The context window in tokens, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// The prices of input and output in micro-dollars per million tokens, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<(u64, u64)>,
}

impl ModelOffer {
    pub fn new(id: &str, facts: Option<ModelInfo>) -> Self {
        let price = facts.and_then(|facts| facts.prices).map(|prices| (prices.input, prices.output));
        Self { id: id.to_owned(), window: facts.map(|facts| facts.window), price }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProjectEntry {
    pub id: ProjectId,
    pub name: String,
    pub path: String,
    /// Whether a process has opened it.
    #[serde(default)]
    pub open: bool,
    /// Number of open questions.
    #[serde(default)]
    pub waiting: usize,
}

/// Bytes, serialised as base64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl schemars::JsonSchema for Bytes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"description": "Bytes as base64.", "type": "string", "contentEncoding": "base64"})
    }
}

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

/// Returns the data of an answer, or an error if it answers another query.
macro_rules! expect_answer {
    ($answer:expr, $name:ident) => {
        match $answer {
            $crate::engine::query::QueryAnswer::$name(data) => Ok(data),
            other => Err($crate::engine::query::mismatch(stringify!($name), &other)),
        }
    };
}
pub(in crate::engine) use expect_answer;

/// Returns the error for an answer to another query.
pub(in crate::engine) fn mismatch(wanted: &str, got: &QueryAnswer) -> Fault {
    let got = match got {
        QueryAnswer::Page(_) => "Page",
        QueryAnswer::Message(_) => "Message",
        QueryAnswer::RawSession(_) => "RawSession",
        QueryAnswer::Blob(_) => "Blob",
        QueryAnswer::Diff(_) => "Diff",
        QueryAnswer::Patch(_) => "Patch",
        QueryAnswer::Turns(_) => "Turns",
        QueryAnswer::MergePreview(_) => "MergePreview",
        QueryAnswer::RewindPreview(_) => "RewindPreview",
        QueryAnswer::Seen(_) => "Seen",
        QueryAnswer::Files(_) => "Files",
        QueryAnswer::Search(_) => "Search",
        QueryAnswer::Find(_) => "Find",
        QueryAnswer::Tasks(_) => "Tasks",
        QueryAnswer::Summary(_) => "Summary",
        QueryAnswer::Asks(_) => "Asks",
        QueryAnswer::Costs(_) => "Costs",
        QueryAnswer::DeletedTasks(_) => "DeletedTasks",
        QueryAnswer::Models(_) => "Models",
        QueryAnswer::Settings(_) => "Settings",
        QueryAnswer::Projects(_) => "Projects",
        QueryAnswer::Tree(_) => "Tree",
    };
    Fault::internal(format!("the engine answered a {wanted} query with {got}"))
}

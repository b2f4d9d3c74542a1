//! A task: a node of a project's tree, and the unit of work.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::{MicroUsd, TaskId, Timestamp};
use crate::model::event::Verdict;

/// Who does the work of the root, and of a task for which nobody was chosen.
pub const ROOT_PROFILE: &str = "orchestrator";
pub const USUAL_PROFILE: &str = "engineer";

/// Where a task stands: `draft → pending → in_progress → passed | failed → closed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Written down, not to be started.
    Draft,
    /// Ready; starts when it is spoken to.
    Pending,
    /// An agent has it, awake or asleep.
    InProgress,
    Passed,
    Failed,
    /// Put away. Its worktree is gone, its session and its archived work are not.
    Closed,
}

impl Status {
    pub const ALL: [Self; 6] = [Self::Draft, Self::Pending, Self::InProgress, Self::Passed, Self::Failed, Self::Closed];

    /// Returns the word that stands in files and in what programs read.
    pub fn word(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Draft | Self::Pending | Self::Passed | Self::Failed | Self::Closed => self.said(),
        }
    }

    /// Returns how a person says it.
    pub fn said(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Pending => "pending",
            Self::InProgress => "in progress",
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Closed => "closed",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.said())
    }
}

/// Who made a change. The only difference between what a person and an agent does to the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditedBy {
    User,
    Agent,
}

/// What happens to a recurring task's session when it comes round again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recurring {
    #[default]
    None,
    /// Each round starts with an empty session.
    Reset,
    /// Each round continues the session.
    Continue,
}

impl Recurring {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// The mark a person gives a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Colour {
    Red,
    Orange,
    Yellow,
    Green,
    Blue,
    Purple,
    Gray,
}

/// What one round of work came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultRound {
    pub verdict: Verdict,
    pub result: String,
    pub at: Timestamp,
}

/// A node of the tree. Costs, tokens and pending counts are not here: they are folds over the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskNode {
    pub id: TaskId,
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// The sub tasks, in the order the person sees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<PathBuf>,
    /// The limit that was given to this task. Without one, the profile and the settings decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<MicroUsd>,
    /// Who gave or removed the limit. Absent in trees of earlier versions: see [`TaskNode::budget_set_by`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_by: Option<EditedBy>,
    /// The limit of one round that a recurring task's file asks for. It can only lower the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_budget: Option<MicroUsd>,
    /// What the task had cost when its last round began. A limit counts from there.
    #[serde(default, skip_serializing_if = "MicroUsd::is_zero")]
    pub round_cost: MicroUsd,
    /// What sub tasks had cost that are deleted by now. It counts against the limits like what the others cost.
    #[serde(default, skip_serializing_if = "MicroUsd::is_zero")]
    pub deleted_cost: MicroUsd,
    /// What checks its work. Nothing: whatever checks the project's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
    pub edited_by: EditedBy,
    #[serde(default, skip_serializing_if = "Recurring::is_none")]
    pub recurring: Recurring,
    /// When its last round began, if it is recurring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colour: Option<Colour>,
    /// Who does the work. Bound when the task is made.
    pub profile: String,
    /// It is to go on from another task, and does not have all of that yet. Found so at the start, it is undone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub half_made: bool,
    /// It was made to begin at once, and its agent has not started yet. Found without a first message when the project is
    /// opened, it is sent one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub starting: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ResultRound>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Fields of a newer version, kept as they are.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl TaskNode {
    /// Returns who does the work, where that is not whoever usually does.
    pub fn unusual_profile(&self) -> Option<&str> {
        Some(self.profile.as_str()).filter(|profile| ![ROOT_PROFILE, USUAL_PROFILE].contains(profile))
    }

    /// Returns who gave this task its own limit, or removed it. `None` if nobody did. Trees of earlier versions do not say
    /// who did; there, whoever changed the task last counts.
    pub fn budget_set_by(&self) -> Option<EditedBy> {
        self.budget_by.or_else(|| self.budget.map(|_| self.edited_by))
    }

    /// Returns a new task with nothing but a name.
    pub fn new(id: TaskId, title: impl Into<String>, profile: impl Into<String>, now: Timestamp) -> Self {
        Self {
            id,
            title: title.into(),
            description: String::new(),
            status: Status::Pending,
            parent: None,
            children: Vec::new(),
            branch: None,
            worktree: None,
            budget: None,
            budget_by: None,
            round_budget: None,
            round_cost: MicroUsd::ZERO,
            deleted_cost: MicroUsd::ZERO,
            verify: None,
            edited_by: EditedBy::Agent,
            recurring: Recurring::None,
            round: None,
            colour: None,
            profile: profile.into(),
            half_made: false,
            starting: false,
            results: Vec::new(),
            created_at: now,
            updated_at: now,
            extra: Map::new(),
        }
    }
}

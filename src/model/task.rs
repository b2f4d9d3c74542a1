//! A task: a node of a project's tree, and the unit of work.

use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::base::{MicroUsd, TaskId, Timestamp};
use crate::model::event::Verdict;
use crate::permit::Mode;

/// The default profiles of the root and of other tasks.
pub const ROOT_PROFILE: &str = "orchestrator";
pub const DEFAULT_PROFILE: &str = "engineer";

/// The status of a task: `draft → pending → in_progress → passed | failed → closed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not to be started yet.
    Draft,
    /// Ready; starts with its first message.
    Pending,
    /// An agent works on it, awake or asleep.
    InProgress,
    Passed,
    Failed,
    /// Closed. Its worktree is removed; its session and its archived work are kept.
    Closed,
}

impl Status {
    pub const ALL: [Self; 6] = [Self::Draft, Self::Pending, Self::InProgress, Self::Passed, Self::Failed, Self::Closed];

    /// Returns the stored name.
    pub fn word(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Draft | Self::Pending | Self::Passed | Self::Failed | Self::Closed => self.label(),
        }
    }

    /// Returns the name for display.
    pub fn label(self) -> &'static str {
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
        f.pad(self.label())
    }
}

/// The number of a task, such as `#12`. It is given at creation and never given again in the same project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct TaskNumber(NonZeroU32);

impl TaskNumber {
    pub const FIRST: Self = Self(NonZeroU32::MIN);

    /// Returns the number, or `None` for zero.
    pub fn new(number: u32) -> Option<Self> {
        NonZeroU32::new(number).map(Self)
    }

    pub fn get(self) -> u32 {
        self.0.get()
    }

    /// Returns the number after this one.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for TaskNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("#{}", self.0))
    }
}

/// Who made a change. The only difference between changes of the user and of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EditedBy {
    User,
    Agent,
}

/// What happens to a recurring task's session at the next run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Recurring {
    #[default]
    None,
    /// Each run starts with an empty session.
    Reset,
    /// Each run continues the session.
    Continue,
}

impl Recurring {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// The colour that a user gives a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
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

/// The result of one run of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TaskResult {
    pub verdict: Verdict,
    pub result: String,
    pub at: Timestamp,
}

/// What a task changes of its profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Overrides {
    /// Text behind the profile's prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u64>,
}

impl Overrides {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns these with the fields that are set in `changes`. An empty text removes a field.
    pub fn with(&self, changes: &Self) -> Self {
        let text = |old: &Option<String>, new: &Option<String>| match new {
            Some(new) if new.trim().is_empty() => None,
            Some(new) => Some(new.trim().to_owned()),
            None => old.clone(),
        };
        Self {
            append: text(&self.append, &changes.append),
            model: text(&self.model, &changes.model),
            effort: text(&self.effort, &changes.effort),
            max_turns: changes.max_turns.or(self.max_turns).filter(|turns| *turns > 0),
        }
    }

    /// Describes them in a few words: "model haiku, 20 turns".
    pub fn describe(&self) -> String {
        let parts = [
            self.model.as_ref().map(|model| format!("model {model}")),
            self.effort.as_ref().map(|effort| format!("effort {effort}")),
            self.max_turns.map(|turns| format!("{turns} turns")),
            self.append.as_ref().map(|_| "added instructions".to_owned()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// A node of the tree. Costs, tokens and pending counts are not here: they are folds over the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TaskNode {
    pub id: TaskId,
    /// Set by the tree that the task is in. Absent in trees of earlier versions: see [`crate::model::Tree::from_nodes`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<TaskNumber>,
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// The sub tasks in display order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<PathBuf>,
    /// The task's own budget. `None` uses the profile and the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<MicroUsd>,
    /// Who set or removed the budget. Absent in trees of earlier versions: see [`TaskNode::budget_set_by`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_by: Option<EditedBy>,
    /// The budget of one run, from a recurring task's file. It can only lower the others.
    #[serde(rename = "round_budget", default, skip_serializing_if = "Option::is_none")]
    pub recurring_run_budget: Option<MicroUsd>,
    /// The cost of the task when its last recurring run started. Budgets count from there.
    #[serde(rename = "round_cost", default, skip_serializing_if = "MicroUsd::is_zero")]
    pub cost_before_run: MicroUsd,
    /// The cost of deleted sub tasks. It counts against the budgets like that of the others.
    #[serde(default, skip_serializing_if = "MicroUsd::is_zero")]
    pub deleted_cost: MicroUsd,
    /// The command that checks its work. `None` uses the project's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
    pub edited_by: EditedBy,
    #[serde(default, skip_serializing_if = "Recurring::is_none")]
    pub recurring: Recurring,
    /// When the last recurring run started.
    #[serde(rename = "round", default, skip_serializing_if = "Option::is_none")]
    pub last_recurring_run: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colour: Option<Colour>,
    /// The profile by its full name. It changes only by a hand-over. `None` until somebody chooses one: nothing is sent to
    /// a model before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// What differs from the profile.
    #[serde(default, skip_serializing_if = "Overrides::is_empty")]
    pub overrides: Overrides,
    /// The task is an unfinished fork of another one. If this is set when the project is opened, the fork is undone.
    #[serde(rename = "half_made", default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished_fork: bool,
    /// The task should start at once, and its agent has not started yet. If it has no first message when the project
    /// is opened, it is sent one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub starting: bool,
    /// The verdict of a finished task that a message woke. It returns if the agent only answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub woken_from: Option<Verdict>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<TaskResult>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The permission mode. `None` for that of the profile and the settings.
    #[serde(default, deserialize_with = "stored_mode", skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Fields of a newer version, preserved.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl TaskNode {
    /// Returns the profile, if it is not the default one.
    pub fn non_default_profile(&self) -> Option<&str> {
        self.profile.as_deref().filter(|profile| ![ROOT_PROFILE, DEFAULT_PROFILE].contains(profile))
    }

    /// Returns true if it only groups other tasks and never has an agent.
    pub fn is_folder(&self) -> bool {
        self.extra.get("imported").is_some_and(|mark| mark.get("shelf").is_some())
    }

    /// Returns the shortest name that commands take: the number, or the start of the id for a task without one.
    pub fn handle(&self) -> String {
        self.number.map_or_else(|| self.id.short(), |number| number.get().to_string())
    }

    /// Returns who set or removed the task's own budget, or `None` if it was never set. Trees of earlier versions do
    /// not record that; there, the last editor of the task counts.
    pub fn budget_set_by(&self) -> Option<EditedBy> {
        self.budget_by.or_else(|| self.budget.map(|_| self.edited_by))
    }

    /// Returns a new task with only a title.
    pub fn new(id: TaskId, title: impl Into<String>, profile: impl Into<String>, now: Timestamp) -> Self {
        Self {
            id,
            number: None,
            title: title.into(),
            description: String::new(),
            status: Status::Pending,
            parent: None,
            children: Vec::new(),
            branch: None,
            worktree: None,
            budget: None,
            budget_by: None,
            recurring_run_budget: None,
            cost_before_run: MicroUsd::ZERO,
            deleted_cost: MicroUsd::ZERO,
            verify: None,
            edited_by: EditedBy::Agent,
            recurring: Recurring::None,
            last_recurring_run: None,
            colour: None,
            profile: Some(profile.into()),
            overrides: Overrides::default(),
            unfinished_fork: false,
            starting: false,
            woken_from: None,
            results: Vec::new(),
            created_at: now,
            updated_at: now,
            mode: None,
            extra: Map::new(),
        }
    }
}

/// Reads a mode. A word of a later version counts as the mode that asks about everything.
fn stored_mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Mode>, D::Error> {
    let word = Option::<String>::deserialize(deserializer)?;
    Ok(word.map(|word| Mode::try_from(word).unwrap_or(Mode::Ask)))
}

//! A view of a project at one moment, as plain data. [`crate::engine::update::Update`] keeps it up to date.

mod state;

use serde::{Deserialize, Serialize};

pub use state::TaskState;

use crate::base::{MicroUsd, ProjectId, TaskId, Timestamp};
use crate::config::Settings;
use crate::engine::review::{BranchConflict, CheckResult, Drift, MergeRecord, QueuedMerge};
use crate::model::event::BackgroundRef;
use crate::model::fold::{ContextSize, PermissionTotals, RunningProcess, SessionState, UsageTotals};
use crate::model::live::Activity;
use crate::model::live_turn::LiveTurns;
use crate::model::message::Message;
use crate::model::task::TaskNode;
use crate::model::{Ask, ClientView, Project};
use crate::permit::{Bypass, Mode};

/// A project as a front end shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Snapshot {
    pub project: ProjectView,
    pub root: TaskId,
    /// Every task, parents before their sub tasks, in display order.
    pub tasks: Vec<TaskView>,
    /// Whether nothing will happen without a new command or event.
    #[serde(default)]
    pub quiet: bool,
    /// What agents have streamed and no session has yet. The updates that follow continue it.
    #[serde(default, skip_serializing_if = "LiveTurns::is_empty")]
    pub live: LiveTurns,
    /// The clients that are attached, in order of arrival.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ClientView>,
}

impl Snapshot {
    pub fn task(&self, id: TaskId) -> Option<&TaskView> {
        self.tasks.iter().find(|task| task.node.id == id)
    }
}

/// The project itself, without its tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProjectView {
    pub id: ProjectId,
    pub name: String,
    pub path: std::path::PathBuf,
    pub base_branch: String,
    /// The project's budget from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<MicroUsd>,
    /// Maximum number of agents at work.
    pub max_running: u32,
    /// The model of the root, if one is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The profiles that a new task can have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileView>,
    /// Whether tasks may have the permission mode `bypass`.
    #[serde(default)]
    pub bypass: Bypass,
    /// The profiles that cannot be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken_profiles: Vec<BrokenProfile>,
    /// Who does new tasks for which nobody is named: a name, `ask` or `inherit`.
    #[serde(default)]
    pub selection: String,
}

/// A profile whose file has an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BrokenProfile {
    pub full_name: String,
    /// The first error, with file and line.
    pub problem: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProfileView {
    /// The shortest name that means this profile.
    pub name: String,
    /// The name that a task stores.
    #[serde(default)]
    pub full_name: String,
    /// What people see instead of the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// The permission mode that it sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// How many tools it allows by name. `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<usize>,
    /// Whether a task that names no profile gets this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_default: bool,
}

impl ProjectView {
    pub fn of(project: &Project, max_running: u32) -> Self {
        Self {
            id: project.id,
            name: project.name.clone(),
            path: project.path.clone(),
            base_branch: project.base_branch.clone(),
            budget: None,
            max_running,
            model: None,
            profiles: Vec::new(),
            bypass: Bypass::default(),
            broken_profiles: Vec::new(),
            selection: String::new(),
        }
    }

    /// Returns the view of a project that has no engine in this process, from its settings.
    pub fn set_up(project: &Project, settings: &Settings) -> Self {
        Self { budget: settings.budget, model: settings.model.clone(), ..Self::of(project, settings.max_running) }
    }
}

/// A task with its folded session and the state of its run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TaskView {
    pub node: TaskNode,
    pub activity: Activity,
    /// When `activity` began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Whether it has a run, at work or asleep.
    pub alive: bool,
    /// The reason why the task waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Wait>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Open Asks, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Ask>,
    /// Unread messages, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Message>,
    pub usage: UsageTotals,
    pub turns: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<BackgroundRef>,
    /// The shell's working directory, relative to the worktree or absolute. `None` for the top of the worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The time of the last event in its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<DiffStat>,
    /// The result of the last check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<CheckResult>,
    /// The last merge that can be undone.
    #[serde(rename = "landing", default, skip_serializing_if = "Option::is_none")]
    pub last_merge: Option<MergeRecord>,
    /// The merge that waits until another task's agent pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_merge: Option<QueuedMerge>,
    /// Other tasks whose branches conflict with this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clashes: Vec<BranchConflict>,
    /// Commits ahead of and behind the target branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
    /// Whether the last rewind can be redone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub can_redo: bool,
    /// Number of reviews by the user.
    #[serde(rename = "rounds", default)]
    pub reviews: u32,
    /// How often its agent asked for permission, and what decided last.
    #[serde(default, skip_serializing_if = "PermissionTotals::is_empty")]
    pub permissions: PermissionTotals,
    /// The permission mode that counts now. `None` where no engine has the project open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

impl TaskView {
    /// Returns the view of a task from its node alone.
    pub fn of(node: TaskNode) -> Self {
        Self {
            node,
            activity: Activity::Idle,
            since: None,
            alive: false,
            waits: None,
            retry: None,
            asks: Vec::new(),
            unread: Vec::new(),
            usage: UsageTotals::default(),
            turns: 0,
            processes: Vec::new(),
            cwd: None,
            last: None,
            model: None,
            diff: None,
            receipt: None,
            last_merge: None,
            queued_merge: None,
            clashes: Vec::new(),
            drift: None,
            can_redo: false,
            reviews: 0,
            permissions: PermissionTotals::default(),
            mode: None,
        }
    }

    /// Returns the view of a task from its session, without the state of a run.
    pub fn from_session(node: TaskNode, state: &SessionState) -> Self {
        Self {
            asks: state.asks.iter().cloned().collect(),
            unread: state.messages.iter().filter(|message| message.from.is_visible()).cloned().collect(),
            usage: state.usage.clone(),
            turns: state.turns.ended,
            processes: state.background.iter().map(RunningProcess::reference).collect(),
            cwd: state.cwd.folder().map(str::to_owned),
            last: state.activity.at,
            receipt: state.work.receipt.clone(),
            last_merge: state.work.last_merge.clone(),
            queued_merge: state.work.queued.clone(),
            can_redo: state.work.rewound.is_some(),
            reviews: state.work.reviews,
            permissions: state.permissions.clone(),
            ..Self::of(node)
        }
    }

    /// Returns the context size at the last request.
    pub fn context(&self) -> Option<ContextSize> {
        self.usage.context
    }

    /// Returns true if an agent is at work on it now.
    pub fn is_working(&self) -> bool {
        match self.activity {
            Activity::Thinking | Activity::Streaming | Activity::Tool | Activity::Retrying | Activity::Compacting => {
                true
            }
            Activity::Idle | Activity::Waiting | Activity::Stopped => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum Wait {
    /// All slots are taken. `ahead` tasks are admitted first.
    Slot { ahead: usize },
    /// The worktree is being set up.
    Setup { step: String },
    /// A sub task, or another task's reply.
    Task { task: TaskId },
    /// It cannot continue without the user, and others wait for it. `chain` starts with this task; a second one is
    /// what it waits for.
    Stalled { chain: Vec<TaskId>, reason: String },
    /// Its agent ended its turn with words, and nothing waits for it.
    Idle,
    /// A background process.
    Process {
        command: String,
        /// The agent called yield to wait. Otherwise it ended its turn and left the process running.
        yielded: bool,
    },
    /// The model has sent nothing for a while.
    Silence { since: Timestamp },
}

/// A failed request that will be retried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Retry {
    pub attempt: u32,
    pub of: u32,
    pub until: Timestamp,
    pub reason: String,
}

/// The size of a task's changes since its branch began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DiffStat {
    pub files: usize,
    pub added: usize,
    pub removed: usize,
    /// Whether some changes are uncommitted.
    pub dirty: bool,
}

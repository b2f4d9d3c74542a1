//! What is to be seen of a project at one moment, as plain data. Kept up to date with [`crate::engine::update::Update`].

use serde::{Deserialize, Serialize};

use crate::base::{MicroUsd, ProjectId, TaskId, Timestamp};
use crate::config::Settings;
use crate::engine::review::{Clash, Drift, Landing, QueuedMerge, Receipt};
use crate::model::event::BackgroundRef;
use crate::model::fold::{ContextSize, RunningProcess, SessionState, UsageTotals};
use crate::model::live::Activity;
use crate::model::message::Message;
use crate::model::task::TaskNode;
use crate::model::{Ask, Project};

/// A project as a screen needs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    pub project: ProjectView,
    pub root: TaskId,
    /// Every task, parents before their sub tasks, in the order the person sees.
    pub tasks: Vec<TaskView>,
    /// Whether nothing happens before somebody says something.
    #[serde(default)]
    pub quiet: bool,
}

impl Snapshot {
    pub fn task(&self, id: TaskId) -> Option<&TaskView> {
        self.tasks.iter().find(|task| task.node.id == id)
    }
}

/// What a screen says of the project itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectView {
    pub id: ProjectId,
    pub name: String,
    pub path: std::path::PathBuf,
    pub base_branch: String,
    /// What the whole project may cost from now on, if that is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<MicroUsd>,
    /// How many agents may work at once.
    pub max_running: u32,
    /// The model of the root, if one is set up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Who can do the work of a new task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileView>,
}

/// A profile that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileView {
    pub name: String,
    pub description: String,
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
        }
    }

    /// Returns what the settings say of a project that nobody works on in this process.
    pub fn set_up(project: &Project, settings: &Settings) -> Self {
        Self { budget: settings.budget, model: settings.model.clone(), ..Self::of(project, settings.max_running) }
    }
}

/// A task, what its session adds up to, and what its run is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskView {
    pub node: TaskNode,
    pub activity: Activity,
    /// Since when it does that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Whether a run is alive, awake or asleep.
    pub alive: bool,
    /// Why nothing happens although something should.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Wait>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// What waits for the person, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Ask>,
    /// What was said and not yet taken in, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Message>,
    pub usage: UsageTotals,
    pub turns: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<BackgroundRef>,
    /// Where its shell stands: below its worktree, or an absolute path. Nothing: at the top of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// When something last happened in its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<DiffStat>,
    /// What the last check of its work came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// The last merge of its work that can be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landing: Option<Landing>,
    /// The merge that waits for a pause of another task's agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_merge: Option<QueuedMerge>,
    /// Tasks at work whose branches would conflict with its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clashes: Vec<Clash>,
    /// How far it is from the branch that it goes into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
    /// Whether a rewind can be taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub can_redo: bool,
    /// How often the person reviewed it.
    #[serde(default)]
    pub rounds: u32,
}

impl TaskView {
    /// Returns the view of a task of which nothing but its node is known.
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
            landing: None,
            queued_merge: None,
            clashes: Vec::new(),
            drift: None,
            can_redo: false,
            rounds: 0,
        }
    }

    /// Returns the view of a task as far as its session tells it: all but what its run is doing.
    pub fn kept(node: TaskNode, state: &SessionState) -> Self {
        Self {
            asks: state.asks.iter().cloned().collect(),
            unread: state.messages.iter().filter(|message| message.from.is_visible()).cloned().collect(),
            usage: state.usage.clone(),
            turns: state.turns.ended,
            processes: state.background.iter().map(RunningProcess::reference).collect(),
            cwd: state.whereabouts.folder().map(str::to_owned),
            last: state.activity.at,
            receipt: state.work.receipt.clone(),
            landing: state.work.landing.clone(),
            queued_merge: state.work.queued.clone(),
            can_redo: state.work.rewound.is_some(),
            rounds: state.work.rounds,
            ..Self::of(node)
        }
    }

    /// Returns how full the context was at the last request.
    pub fn context(&self) -> Option<ContextSize> {
        self.usage.context
    }

    /// Tells whether an agent is at work on it right now.
    pub fn is_working(&self) -> bool {
        match self.activity {
            Activity::Thinking | Activity::Streaming | Activity::Tool | Activity::Retrying | Activity::Compacting => {
                true
            }
            Activity::Idle | Activity::Waiting | Activity::Stopped => false,
        }
    }
}

/// What a task waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum Wait {
    /// As many agents as may work at once are at work. `ahead` are admitted first.
    Slot { ahead: usize },
    /// The worktree is being made ready.
    Setup { step: String },
    /// A sub task, or the answer of another task.
    Task { task: TaskId },
    /// Tasks that wait for each other, or for one that nobody works on: named from here to the end.
    Stalled { chain: Vec<TaskId>, reason: String },
    /// A process of its own that still runs.
    Process {
        command: String,
        /// It called yield to wait. Otherwise it ended its turn and left the process running.
        yielded: bool,
    },
    /// No byte has come from the model for a while.
    Silence { since: Timestamp },
}

/// A request that failed and will be made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    pub attempt: u32,
    pub of: u32,
    pub until: Timestamp,
    pub reason: String,
}

/// How much a task's branch differs from where it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffStat {
    pub files: usize,
    pub added: usize,
    pub removed: usize,
    /// Whether some of it is not committed.
    pub dirty: bool,
}

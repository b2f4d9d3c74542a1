//! Inputs and effects of the machine, as plain data.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::base::{AskId, EventId, Fault, MessageId, MicroUsd, ProjectId, TaskId, Timestamp};
use crate::config::recurring::{PlanChange, PlanFacts};
use crate::engine::command::{Actor, ArchivedWork, Command, CommandId, Outcome, RestoredWorktree};
use crate::engine::deleted_tasks::DeletedTask;
use crate::engine::machine::job::{Job, JobOutcome};
use crate::engine::machine::{
    ApprovalDecision, Approvals, CopyContinuation, DeletedTaskContinuation, JudgedCall, ModeSettings,
    PlanWriteContinuation, RemovalContinuation, RestoreContinuation, RuleChange, WaitingCall,
};
use crate::engine::permissions::TaskPolicies;
use crate::engine::update::Notice;
use crate::model::event::{Body, BudgetScope, Event};
use crate::model::fold::SessionState;
use crate::model::message::Message;
use crate::model::run::{Ending, RunCommand};
use crate::model::task::TaskNode;
use crate::model::tree::Tree;
use crate::model::{Live, Project};
use crate::permit::Mode;
use crate::tools::mcp::ToolChange;

/// Correlates an effect with the input that reports its result. Assigned by the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EffectId(pub u64);

/// Limits from the settings.
#[derive(Clone, Debug)]
pub struct EngineLimits {
    /// Maximum depth of tasks below the root.
    pub max_depth: u32,
    /// Number of open tasks at which an agent has to ask the user before it creates one more.
    pub max_tasks: u32,
    /// Number of tasks per turn at which an agent has to ask the user before it creates one more.
    pub max_tasks_per_turn: u32,
    /// Maximum number of agents at work.
    pub max_running: u32,
    /// When a question with a default is answered by it.
    pub clarify_timeout: Option<std::time::Duration>,
    /// The default budget of a task.
    pub budget: Option<MicroUsd>,
    /// The project's budget from now on.
    pub project_budget: Option<MicroUsd>,
    /// The default check command.
    pub verify: Option<String>,
    /// Whether the user reviews work before it counts as done.
    pub review: bool,
    /// Launch nothing: only record messages and changes.
    pub hold: bool,
}

impl Default for EngineLimits {
    fn default() -> Self {
        Self {
            max_depth: 3,
            max_tasks: 200,
            max_tasks_per_turn: 20,
            max_running: 8,
            clarify_timeout: None,
            budget: None,
            project_budget: None,
            verify: None,
            review: false,
            hold: false,
        }
    }
}

/// The project's environment: paths, names and decisions that the machine needs.
#[derive(Clone, Debug)]
pub struct ProjectEnv {
    pub project: Project,
    /// The folder for new worktrees.
    pub worktrees: PathBuf,
    /// The model of the root, if one is configured.
    pub model: Option<String>,
    /// MCP servers that the repository configures and the user has not decided about.
    pub servers: Vec<UnapprovedServer>,
    /// The user's decisions about everything else that needs approval.
    pub approvals: Approvals,
    /// MCP servers whose tool list differs from the accepted one.
    pub changed_tools: Vec<ToolChange>,
    pub modes: ModeSettings,
}

/// An MCP server that the repository configures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnapprovedServer {
    pub name: String,
    /// The hash of its entry. An approval covers exactly this entry.
    pub hash: String,
    /// The command that would run, line by line.
    pub entry: Vec<String>,
}

/// Something that happened outside of the machine.
#[derive(Debug)]
pub enum Input {
    /// The folded sessions. Sent once, first.
    Boot {
        sessions: Vec<(TaskId, SessionState)>,
    },
    Command {
        id: CommandId,
        actor: Actor,
        command: Command,
    },
    /// An event is on disk. Events of all sessions arrive, in the order on disk.
    Observed {
        task: TaskId,
        event: Arc<Event>,
    },
    /// The set of changed tool lists changed.
    ToolsChanged {
        changes: Vec<ToolChange>,
    },
    /// An append is on disk. Its events were observed before.
    Appended {
        ticket: EffectId,
    },
    AppendFailed {
        ticket: EffectId,
        fault: Fault,
    },
    TreeSaved {
        ticket: EffectId,
    },
    TreeSaveFailed {
        ticket: EffectId,
        fault: Fault,
    },
    /// Live output of a run.
    Live {
        task: TaskId,
        live: Live,
    },
    /// The current step of a launch.
    Launching {
        task: TaskId,
        step: String,
    },
    Launched {
        task: TaskId,
        model: String,
    },
    LaunchFailed {
        task: TaskId,
        failure: LaunchFailure,
    },
    /// A run is over. `Err` for a disk error or an internal one.
    RunOver {
        task: TaskId,
        ending: Result<Ending, Fault>,
    },
    WorktreeRemoved {
        then: RemovalContinuation,
        result: Result<ArchivedWork, Fault>,
    },
    WorktreeRestored {
        then: RestoreContinuation,
        result: Result<RestoredWorktree, Fault>,
    },
    ConversationCopied {
        then: CopyContinuation,
        result: Result<usize, Fault>,
    },
    JobDone(Box<JobOutcome>),
    /// A deleted task was read from its session, with the tasks deleted with it, parents first.
    DeletedTaskRead {
        then: DeletedTaskContinuation,
        result: Result<Vec<DeletedTask>, Fault>,
    },
    /// A decision of the user was saved to the settings, or could not be.
    DecisionSaved {
        decision: Box<ApprovalDecision>,
        result: Result<(), Fault>,
    },
    /// Permission rules were saved to the settings, or could not be.
    RulesSaved {
        change: Box<RuleChange>,
        result: Result<(), Fault>,
    },
    /// The permission settings have changed.
    RulesChanged(ModeSettings),
    /// Waiting calls that are decided now. The others still need the user.
    CallsJudged(Vec<JudgedCall>),
    Timer {
        timer: Timer,
    },
    /// A recurring task is due, or its file is new here. For a new file, `session` is the task's folded session.
    RecurringDue {
        task: TaskId,
        facts: Box<PlanFacts>,
        session: Box<SessionState>,
    },
    /// The files of recurring tasks were written. The hash is that of a written file.
    PlanWritten {
        then: PlanWriteContinuation,
        result: Result<Option<String>, Fault>,
    },
    /// A message from another project's root.
    FromProject {
        project: ProjectId,
        name: String,
        message: MessageId,
        body: String,
    },
}

/// Why a run could not be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchFailure {
    /// A precondition is not met. The fault names it and the next step.
    Refused(Fault),
    /// The model is unknown. These are known, the most similar first.
    UnknownModel { fault: Fault, models: Vec<String> },
    /// The task's profile is missing or cannot be used.
    Profile(Fault),
    /// A disk error, which may be temporary.
    Disk(Fault),
    /// The worktree's setup hook failed.
    SetupHook { exit: String, output: String },
    /// The user has not decided about this setup hook.
    UnapprovedHook { hash: String, script: String },
    /// The user stopped the launch.
    Cancelled,
}

/// A timer that the machine sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// The deadline of an Ask with a default.
    AskDeadline { task: TaskId, ask: AskId },
    /// A failed write is retried.
    Retry { task: TaskId },
    /// Checks whether a model has been silent for a while.
    Silence { task: TaskId },
    /// Checks whether the permission settings have changed, while calls wait for the user.
    Rules,
}

/// Something for the driver to do.
#[derive(Debug)]
pub enum Effect {
    /// Append events. Answered by [`Input::Appended`] or [`Input::AppendFailed`].
    Append {
        ticket: EffectId,
        task: TaskId,
        bodies: Vec<Body>,
    },
    /// As [`Effect::Append`], unless the session already has the message after `since`.
    SendOnce {
        ticket: EffectId,
        task: TaskId,
        message: Box<Message>,
        since: EventId,
    },
    SaveTree {
        ticket: EffectId,
        tree: Arc<Tree>,
    },
    Launch(Box<LaunchOrder>),
    /// Stop a launch that has not become a run yet.
    CancelLaunch {
        task: TaskId,
    },
    /// Send a command to a run.
    SendToRun {
        task: TaskId,
        command: RunCommand,
    },
    /// Archive a worktree's work and remove it. Answered by [`Input::WorktreeRemoved`].
    RemoveWorktree {
        task: TaskId,
        place: WorktreeLocation,
        branch: BranchFate,
        then: RemovalContinuation,
    },
    /// Restore a worktree. Answered by [`Input::WorktreeRestored`].
    RestoreWorktree {
        task: TaskId,
        place: WorktreeLocation,
        then: RestoreContinuation,
    },
    /// Read a deleted task and its subtree from their sessions. Answered by [`Input::DeletedTaskRead`].
    ReadDeletedTask {
        task: TaskId,
        known: BTreeSet<TaskId>,
        then: DeletedTaskContinuation,
    },
    /// Copy a conversation. Answered by [`Input::ConversationCopied`].
    CopyConversation {
        from: TaskId,
        to: TaskId,
        title: String,
        description: String,
        then: CopyContinuation,
    },
    /// Run a job on a task's work. Answered by [`Input::JobDone`].
    RunJob {
        task: TaskId,
        job: Box<Job>,
    },
    /// Write the files of recurring tasks. Answered by [`Input::PlanWritten`].
    WritePlan {
        change: PlanChange,
        then: PlanWriteContinuation,
    },
    /// Add permission rules to the project's local settings. Answered by [`Input::RulesSaved`].
    SaveRules(Box<RuleChange>),
    /// Judge calls that wait for the user. Answered by [`Input::CallsJudged`].
    JudgeCalls(Vec<WaitingCall>),
    /// Find out whether the settings have changed, and if so send [`Input::RulesChanged`].
    JudgeIfChanged,
    /// Use these permissions of the tasks from now on.
    SetPolicies(Arc<TaskPolicies>),
    /// Save a decision of the user and apply it outside of the machine. Answered by [`Input::DecisionSaved`].
    SaveDecision(Box<ApprovalDecision>),
    /// Delete a message from a project that the user declined.
    DiscardEnvelope {
        message: MessageId,
    },
    SetTimer {
        timer: Timer,
        at: Timestamp,
    },
    /// Reply to a command.
    Reply {
        id: CommandId,
        result: Result<Outcome, Fault>,
    },
    Notify(Notice),
    /// All runs are over and everything is on disk.
    Ended,
}

/// A worktree and its branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeLocation {
    pub worktree: PathBuf,
    pub branch: String,
    /// The parent's branch. Commits that it contains need no archive.
    pub base: String,
}

/// Whether to keep the branch of a removed worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchFate {
    Keep,
    Delete,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LaunchOrder {
    pub node: TaskNode,
    pub above: Option<(TaskId, String)>,
    /// `None` for the root, which works in the project's checkout.
    pub place: Option<WorktreeLocation>,
    /// Whether the agent may create sub tasks.
    pub may_delegate: bool,
    /// The permission mode that counts now.
    pub mode: Mode,
    /// Every budget that applies, with what was spent of it.
    pub accounts: Vec<BudgetLimit>,
    pub hook: HookPolicy,
    /// The model that the user chose in place of an unknown one.
    pub model: Option<String>,
    /// The user's decisions about setup hooks.
    pub approvals: Approvals,
    /// The shell's last working directory, relative to the worktree or absolute. `None` for the top of the worktree.
    pub cwd: Option<String>,
}

/// Which setup hook runs in a new worktree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HookPolicy {
    /// The hook in the worktree.
    #[default]
    Run,
    /// The hook in the user's checkout: the other one failed and the user edited it.
    RunEdited,
    /// None: it failed and the user chose to continue without it.
    Skip,
}

/// A budget that a run spends from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetLimit {
    /// The task that the budget belongs to. `None` for the project.
    pub owner: Option<TaskId>,
    pub scope: BudgetScope,
    pub limit: MicroUsd,
    pub spent: MicroUsd,
}

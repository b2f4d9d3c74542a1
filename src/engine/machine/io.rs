//! What goes into the machine and what comes out, as plain data.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::base::{AskId, EventId, Fault, MessageId, MicroUsd, ProjectId, TaskId, Timestamp};
use crate::config::recurring::{Facts, PlanChange};
use crate::engine::command::{Actor, Command, CommandId, Outcome, RestoredWorktree, SetAside};
use crate::engine::machine::job::{Job, Worked};
use crate::engine::machine::{Approvals, Clearing, Copying, Decision, Recalling, Restoring, WritingDown};
use crate::engine::recall::Recalled;
use crate::engine::update::Notice;
use crate::model::event::{Body, BudgetScope, Event};
use crate::model::fold::SessionState;
use crate::model::message::Message;
use crate::model::run::{Ending, RunCommand};
use crate::model::task::TaskNode;
use crate::model::tree::Tree;
use crate::model::{Live, Project};
use crate::tools::mcp::ToolChange;

/// The number of an effect, given by the machine. Joins it with the input that says what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EffectId(pub u64);

/// What the machine is allowed to do, from the settings.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How far below the root tasks may be.
    pub max_depth: u32,
    /// How many open tasks there may be before an agent that creates one more waits for the user's answer.
    pub max_tasks: u32,
    /// How many tasks an agent may create in one turn before it waits for the user's answer.
    pub max_tasks_per_turn: u32,
    /// How many agents may work at once.
    pub max_running: u32,
    /// When a question with a default answers itself.
    pub clarify_timeout: Option<std::time::Duration>,
    /// What a task may cost for which the user has said nothing else.
    pub budget: Option<MicroUsd>,
    /// What the whole project may cost from now on.
    pub project_budget: Option<MicroUsd>,
    /// What checks the work of tasks that say nothing else.
    pub verify: Option<String>,
    /// Whether the person looks at work before it counts as done.
    pub review: bool,
    /// Nothing is launched: only what is said and changed is kept.
    pub hold: bool,
}

impl Default for Limits {
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

/// Where things are and what they are called: everything the machine has to know of the outside.
#[derive(Clone, Debug)]
pub struct Ground {
    pub project: Project,
    /// Where worktrees are made.
    pub worktrees: PathBuf,
    /// The model of the root, if one is set up.
    pub model: Option<String>,
    /// The tool servers that the repository asks for and nobody has decided about.
    pub servers: Vec<Unapproved>,
    /// What the user has decided about everything else that needs their word.
    pub approvals: Approvals,
    /// The tool servers whose list of tools is not the one that the user accepted.
    pub changed_tools: Vec<ToolChange>,
}

/// A tool server that the repository asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unapproved {
    pub name: String,
    /// The hash of its entry: what is approved is exactly this.
    pub hash: String,
    /// What would run, line by line.
    pub entry: Vec<String>,
}

/// Something that happened.
#[derive(Debug)]
pub enum Input {
    /// What the sessions say, at the start. Comes first, once.
    Boot {
        sessions: Vec<(TaskId, SessionState)>,
    },
    Command {
        id: CommandId,
        actor: Actor,
        command: Command,
    },
    /// An event is on the disk. All of them come here, of all sessions, in the order of the disk.
    Observed {
        task: TaskId,
        event: Arc<Event>,
    },
    /// The lists of tools that wait for a decision are other ones now.
    ToolsChanged {
        changes: Vec<ToolChange>,
    },
    /// An append was carried out; its events were observed before.
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
    /// What a run shows of itself.
    Live {
        task: TaskId,
        live: Live,
    },
    /// How far a launch has come.
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
    /// A run is over. An error: the disk, or a fault of our own.
    RunOver {
        task: TaskId,
        ending: Result<Ending, Fault>,
    },
    /// A worktree was put away.
    Cleared {
        then: Clearing,
        result: Result<SetAside, Fault>,
    },
    /// A worktree was brought back.
    Restored {
        then: Restoring,
        result: Result<RestoredWorktree, Fault>,
    },
    /// A conversation was copied.
    Copied {
        then: Copying,
        result: Result<usize, Fault>,
    },
    /// A job with a task's work is done, or could not be.
    Worked(Box<Worked>),
    /// A deleted task was looked for in its session: it and what was deleted with it, parents first.
    Recalled {
        then: Recalling,
        result: Result<Vec<Recalled>, Fault>,
    },
    /// What the user decided is in the settings, or could not be written.
    Decided {
        decision: Box<Decision>,
        result: Result<(), Fault>,
    },
    Timer {
        timer: Timer,
    },
    /// A recurring task comes round, or its file is new here. Then `session` is what the task's session adds up to.
    Round {
        task: TaskId,
        facts: Box<Facts>,
        session: Box<SessionState>,
    },
    /// The files of recurring tasks are as they were to be, or not. The hash is that of a file that was written.
    WrittenDown {
        then: WritingDown,
        result: Result<Option<String>, Fault>,
    },
    /// Another project's root says something.
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
    /// Something is not as it must be: the sentence says what and what to do.
    Refused(Fault),
    /// The disk refused something: it may take it later.
    Disk(Fault),
    /// The worktree's setup hook did not succeed.
    SetupHook { exit: String, output: String },
    /// The user has not decided whether this setup hook may run.
    UnapprovedHook { hash: String, script: String },
    /// The person stopped it.
    Cancelled,
}

/// Something that will happen by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// An Ask answers itself.
    AskDeadline { task: TaskId, ask: AskId },
    /// Something the disk refused is tried again.
    TryAgain { task: TaskId },
    /// No word may have come from a model for a while.
    Silence { task: TaskId },
}

/// Something to be done.
#[derive(Debug)]
pub enum Effect {
    /// Append, and answer with [`Input::Appended`] or [`Input::AppendFailed`].
    Append {
        ticket: EffectId,
        task: TaskId,
        bodies: Vec<Body>,
    },
    /// As [`Effect::Append`], unless the session has the message already in what came after `since`.
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
    /// Say something to a run.
    Tell {
        task: TaskId,
        command: RunCommand,
    },
    /// Archive a worktree's work, then take it away. Answered by [`Input::Cleared`].
    Clear {
        task: TaskId,
        place: Place,
        branch: BranchFate,
        then: Clearing,
    },
    /// Bring a worktree back. Answered by [`Input::Restored`].
    Restore {
        task: TaskId,
        place: Place,
        then: Restoring,
    },
    /// Look for a task that is not in the tree, with what was below it. Answered by [`Input::Recalled`].
    Recall {
        task: TaskId,
        known: BTreeSet<TaskId>,
        then: Recalling,
    },
    /// Copy a conversation. Answered by [`Input::Copied`].
    Copy {
        from: TaskId,
        to: TaskId,
        title: String,
        description: String,
        then: Copying,
    },
    /// Do something with a task's work. Answered by [`Input::Worked`].
    Work {
        task: TaskId,
        job: Box<Job>,
    },
    /// Make the files of recurring tasks say what the tree says. Answered by [`Input::WrittenDown`].
    WriteDown {
        change: PlanChange,
        then: WritingDown,
    },
    /// Write down what the user decided, and do what follows from it outside of the machine. Answered by
    /// [`Input::Decided`].
    Decide(Box<Decision>),
    /// Remove a letter of a project whose messages the user does not want.
    DiscardLetter {
        message: MessageId,
    },
    Wake {
        timer: Timer,
        at: Timestamp,
    },
    /// The answer to a command.
    Reply {
        id: CommandId,
        result: Result<Outcome, Fault>,
    },
    Notify(Notice),
    /// Everything is stopped and kept.
    Ended,
}

/// A worktree and its branch, as the tree has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub worktree: PathBuf,
    pub branch: String,
    /// The branch of the task above: what is in it is not lost when this one goes.
    pub base: String,
}

/// What becomes of a branch whose worktree goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchFate {
    Keep,
    Delete,
}

/// Everything needed to start a run.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchOrder {
    pub node: TaskNode,
    pub above: Option<(TaskId, String)>,
    /// Nothing: the task is the root and works in the project's own checkout.
    pub place: Option<Place>,
    /// Whether the agent may make sub tasks.
    pub may_delegate: bool,
    /// Every limit that applies, with what was spent of it.
    pub accounts: Vec<AccountOrder>,
    pub hook: Hook,
    /// What the user decided about setup hooks.
    pub approvals: Approvals,
    /// Where its shell stood at last: below its folder, or an absolute path. Nothing: at the top of it.
    pub cwd: Option<String>,
}

/// What is done with the project's setup hook in a new worktree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hook {
    /// The one that the worktree has runs.
    #[default]
    Run,
    /// It failed and the person has edited it: the one in their own checkout runs.
    RunEdited,
    /// It failed, and the person said to go on without it.
    Skip,
}

/// A limit that a run pays from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountOrder {
    /// Whose limit it is. Nothing: the project's.
    pub owner: Option<TaskId>,
    pub scope: BudgetScope,
    pub limit: MicroUsd,
    pub spent: MicroUsd,
}

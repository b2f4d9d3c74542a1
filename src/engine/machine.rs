//! The orchestrator as a pure state machine: `step(&mut self, now, input) -> Vec<Effect>`.
//!
//! It uses no async runtime, clock, disk or git. Invariants:
//! - A task has at most one run: the step that decides to launch also takes the slot.
//! - Nothing becomes visible to others before the tree or the event that records it is on disk.
//! - A completion reaches the parent task exactly once: its message id is derived from the event that ended the run.
//! - A waiting task always has a named reason.

mod admission;
mod approvals;
mod asks;
mod authority;
mod budget;
mod capability;
mod commands;
mod completion;
mod delivery;
mod edits;
mod handover;
mod held_calls;
mod io;
mod job;
pub(in crate::engine) mod modes;
mod plans;
mod recurring;
mod reviews;
mod rewind;
mod run_end;
mod scheduler;
mod server_approvals;
mod slot;
mod startup;
mod stop;
mod task_limit;
mod task_messages;
mod tree_queries;
mod tree_save;
mod views;
mod work;

use std::collections::{BTreeMap, BTreeSet};

pub use approvals::Approvals;
pub use edits::{CopyContinuation, DeletedTaskContinuation, RemovalContinuation, RestoreContinuation};
pub use handover::{PendingHandover, SessionNote};
pub use held_calls::{JudgedCall, RuleChange, WaitingCall};
pub use io::{
    BranchFate, BudgetLimit, Effect, EffectId, EngineLimits, HookPolicy, Input, LaunchFailure, LaunchOrder, ProjectEnv,
    Timer, UnapprovedServer, WorktreeLocation,
};
pub use job::{CatchUpPreview, Job, JobOutcome, MergePreparation, MergeResult, RewindJob, RewindOutcome, UndoneMerge};
pub use modes::ModeSettings;
pub use server_approvals::ApprovalDecision;
pub use tree_save::PlanWriteContinuation;

use crate::base::{AskId, Fault, IdSource, MessageId, MicroUsd, TaskId, Timestamp};
use crate::engine::backend::Capabilities;
use crate::engine::backend::registry::BackendTable;
use crate::engine::command::{CommandId, Outcome};
use crate::engine::profiles::Profiles;
use crate::engine::snapshot::Retry;
use crate::model::fold::SessionState;
use crate::model::live::{Activity, Live};
use crate::model::message::{Message, MessageSource};
use crate::model::task::{Status, TaskNode};
use crate::model::tree::Tree;
use commands::Origin;
use delivery::{DeliveryPlan, HeldMessage, Withdrawal};
use held_calls::PolicyState;
use slot::{CompletionState, DiskHealth, Holds, Slot, StreamActivity};
use tree_save::Saves;

/// How long a request may produce no output before the task counts as silent.
const SILENCE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);

/// The orchestrator of one project.
#[derive(Debug)]
pub struct Machine {
    ids: IdSource,
    limits: EngineLimits,
    env: ProjectEnv,
    profiles: Profiles,
    backends: BackendTable,
    tree: Tree,
    runtimes: BTreeMap<TaskId, TaskRuntime>,
    saves: Saves,
    /// Number of outstanding effects: work outside of the machine that one input will answer.
    outstanding_effects: usize,
    /// Continuations of outstanding appends.
    pending: BTreeMap<EffectId, AppendContinuation>,
    /// How to deliver messages whose append is outstanding.
    delivery_plans: BTreeMap<MessageId, DeliveryPlan>,
    /// Completion messages whose append to the parent's session is outstanding, with the task that completed.
    completions: BTreeMap<MessageId, TaskId>,
    /// Asks whose answer is being written.
    answering: BTreeSet<AskId>,
    approvals: Approvals,
    /// Approval Asks that are being written.
    approving: BTreeSet<AskId>,
    /// Tasks that wait for the user's decision about a setup hook, by the hook's hash.
    waiting_for_hook: BTreeMap<String, BTreeSet<TaskId>>,
    /// Asks about tool servers that are open or being written.
    server_asks: BTreeSet<AskId>,
    /// Changes that wait for runs to end.
    deferred: Vec<edits::Deferred>,
    /// Tasks with a queued merge that has not started.
    merge_queue: BTreeSet<TaskId>,
    /// Recurring tasks with a schedule. The others recur when they get a message.
    timed: BTreeSet<TaskId>,
    /// Tasks that wait for a slot, in order of admission.
    queue: Vec<TaskId>,
    /// Cost since the start, including deleted tasks.
    spent: MicroUsd,
    leaving: Option<Leaving>,
    ended: bool,
    last_effect: u64,
    changed: BTreeSet<TaskId>,
    removed: Vec<TaskId>,
    /// What watchers know of the progress and the waits of tasks. A wait depends on other tasks.
    known_waits: views::KnownWaits,
    policies: PolicyState,
    modes: ModeSettings,
    out: Vec<Effect>,
}

/// How the engine is coming to its end. Nothing is started meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaving {
    /// Turns in progress finish, for the process that takes over.
    HandingOver,
    Quitting,
}

/// The runtime state of a task: everything besides its node in the tree.
#[derive(Debug, Default)]
struct TaskRuntime {
    state: SessionState,
    slot: Slot,
    /// Everything that keeps a run from starting.
    holds: Holds,
    /// Progress of reporting the end of the last run.
    completion: CompletionState,
    activity: Activity,
    since: Option<Timestamp>,
    retry: Option<Retry>,
    stream: StreamActivity,
    /// The current step of a launch.
    step: Option<String>,
    model: Option<String>,
    disk: DiskHealth,
    diff: Option<crate::engine::snapshot::DiffStat>,
    drift: Option<crate::engine::review::Drift>,
    clashes: Vec<crate::engine::review::BranchConflict>,
    /// The first message of a new task, until it is on disk.
    first_message: Option<Box<(Message, DeliveryPlan)>>,
    /// User messages that arrived while the task was being stopped.
    held_messages: Vec<HeldMessage>,
    /// Withdrawals that wait until the session shows whether the messages were already consumed.
    to_withdraw: Vec<Withdrawal>,
    /// Number of tasks that its agent created in this turn.
    created: u32,
    /// The Ask about the task limit is being written.
    is_asking_for_tasks: bool,
    /// The Ask about its profile is being written.
    is_asking_for_profile: bool,
}

impl TaskRuntime {
    /// Returns true if nothing will happen here without outside input.
    ///
    /// A sleeping run waits for a process or is about to end, so something follows, unless it also waits for the user.
    /// A question with a deadline and a default answers itself, and a scheduled disk retry will fire.
    fn is_quiet(&self) -> bool {
        let asks = &self.state.asks;
        let is_idle = !self.slot.has_run() || (self.slot.is_asleep() && !asks.is_empty());
        is_idle
            && !self.disk.is_retry_scheduled()
            && !asks.iter().any(|ask| ask.deadline.is_some() && ask.default.is_some())
    }
}

/// The continuation of an append: runs once the append is on disk or has failed.
#[derive(Debug)]
enum AppendContinuation {
    Nothing,
    /// A message from another project.
    ProjectMessage(MessageId),
    Reply(CommandId, Outcome),
    /// The first message of a new task. The task exists even if this fails.
    Begin {
        task: TaskId,
        origin: Origin,
    },
    /// A completion message to the parent. Retried on failure.
    Completion(TaskId),
    /// The event that records that the parent was notified. Retried on failure.
    CompletionMarker(TaskId),
    /// An Ask about a task that is otherwise stuck. Retried on failure.
    Question(TaskId),
    /// The user's stop. Retried on failure.
    Stop(TaskId),
    /// An answer from the user, or from a default at its deadline.
    Answer {
        task: TaskId,
        ask: AskId,
        command: Option<CommandId>,
    },
    Withdrawal(TaskId, CommandId),
    Edit(Box<edits::EditContinuation>),
    /// The record of a job on a task's work.
    Work(Box<work::WorkContinuation>),
    Approval(AskId),
    /// The Ask about the task limit, with the fault that the agent gets.
    TaskLimit(TaskId, CommandId, Fault),
}

impl Machine {
    pub fn new(tree: Tree, env: ProjectEnv, limits: EngineLimits, ids: IdSource) -> Self {
        let (approvals, modes) = (env.approvals.clone(), env.modes);
        Self {
            ids,
            limits,
            profiles: Profiles::built_in(),
            backends: BackendTable::single("mxd", Capabilities::ALL),
            saves: Saves::new(&tree),
            tree,
            env,
            runtimes: BTreeMap::new(),
            outstanding_effects: 0,
            pending: BTreeMap::new(),
            delivery_plans: BTreeMap::new(),
            completions: BTreeMap::new(),
            answering: BTreeSet::new(),
            approvals,
            approving: BTreeSet::new(),
            waiting_for_hook: BTreeMap::new(),
            server_asks: BTreeSet::new(),
            deferred: Vec::new(),
            merge_queue: BTreeSet::new(),
            timed: BTreeSet::new(),
            queue: Vec::new(),
            spent: MicroUsd::ZERO,
            leaving: None,
            ended: false,
            last_effect: 0,
            changed: BTreeSet::new(),
            removed: Vec::new(),
            known_waits: views::KnownWaits::default(),
            policies: PolicyState::default(),
            modes,
            out: Vec::new(),
        }
    }

    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns the folded session state of a task.
    pub fn state(&self, task: TaskId) -> Option<&SessionState> {
        self.runtimes.get(&task).map(|runtime| &runtime.state)
    }

    /// Returns true if nothing will happen without a new command or event.
    pub fn is_quiet(&self) -> bool {
        self.queue.is_empty()
            && self.saves.is_idle()
            && self.pending.is_empty()
            && self.outstanding_effects == 0
            && self.completions.is_empty()
            && self.deferred.is_empty()
            && self.runtimes.values().all(TaskRuntime::is_quiet)
    }

    /// Handles one input and returns the resulting effects in order.
    pub fn step(&mut self, now: Timestamp, input: Input) -> Vec<Effect> {
        self.outstanding_effects = self.outstanding_effects.saturating_sub(usize::from(input.ends_work()));
        self.handle(now, input);
        self.run_deferred(now);
        self.start_queued_merges(now);
        self.publish_policies();
        self.save_if_needed();
        self.outstanding_effects += self.out.iter().filter(|effect| effect.begins_work()).count();
        self.end_if_over();
        std::mem::take(&mut self.out)
    }

    /// Drains the tasks whose view changed, and those that were removed, since the last call.
    pub fn take_changes(&mut self) -> (BTreeSet<TaskId>, Vec<TaskId>) {
        self.mark_changed_waits();
        (std::mem::take(&mut self.changed), std::mem::take(&mut self.removed))
    }

    fn handle(&mut self, now: Timestamp, input: Input) {
        match input {
            Input::Boot { sessions } => self.boot(now, sessions),
            Input::Command { id, actor, command } => self.on_command(now, id, actor, command),
            Input::Observed { task, event } => self.on_event(now, task, &event),
            Input::Appended { ticket } => self.on_appended(now, ticket),
            Input::AppendFailed { ticket, fault } => self.on_append_failed(now, ticket, &fault.message),
            Input::TreeSaved { ticket } => self.on_tree_saved(now, ticket),
            Input::TreeSaveFailed { ticket, fault } => self.on_tree_save_failed(now, ticket, &fault.message),
            Input::Live { task, live } => self.on_live(now, task, live),
            Input::Launching { task, step } => self.on_launch_step(task, step),
            Input::Launched { task, model } => self.on_launched(task, model),
            Input::LaunchFailed { task, failure } => self.on_launch_failed(now, task, failure),
            Input::RunOver { task, ending } => self.on_run_over(now, task, ending),
            Input::WorktreeRemoved { then, result } => self.on_worktree_removed(now, then, result),
            Input::WorktreeRestored { then, result } => self.on_worktree_restored(now, then, result),
            Input::ConversationCopied { then, result } => self.on_conversation_copied(now, then, result),
            Input::JobDone(outcome) => self.on_job_done(now, *outcome),
            Input::DecisionSaved { decision, result } => self.on_decision_saved(now, *decision, result),
            Input::ToolsChanged { changes } => {
                self.env.changed_tools = changes;
                self.ask_about_servers();
            }
            Input::DeletedTaskRead { then, result } => self.on_deleted_task_read(now, then, result),
            Input::RulesSaved { change, result } => self.on_rules_saved(*change, result),
            Input::RulesChanged(settings) => self.on_mode_settings(settings),
            Input::CallsJudged(judged) => self.on_calls_judged(now, judged),
            Input::Timer { timer } => self.on_timer(now, timer),
            Input::RecurringDue { task, facts, session } => self.on_recurring_due(now, task, &facts, *session),
            Input::PlanWritten { then, result } => self.on_plan_written(now, then, result),
            Input::FromProject { project, name, message, body } => {
                let from = MessageSource::CrossProject { project, name: name.clone() };
                self.on_project_message(project, &name, Message::new(message, now, from, body));
            }
        }
    }

    /// Appends a message from another project to the root's session.
    fn deliver_project_message(&mut self, message: Message) {
        self.delivery_plans.insert(message.id, DeliveryPlan::default());
        let ticket = self.next_effect_id();
        self.pending.insert(ticket, AppendContinuation::ProjectMessage(message.id));
        let since = crate::base::EventId::from_ulid(message.id.ulid());
        self.out.push(Effect::SendOnce { ticket, task: self.tree.root_id(), message: Box::new(message), since });
    }

    fn next_effect_id(&mut self) -> EffectId {
        self.last_effect += 1;
        EffectId(self.last_effect)
    }

    fn runtime(&mut self, task: TaskId) -> &mut TaskRuntime {
        self.changed.insert(task);
        self.runtimes.entry(task).or_default()
    }

    fn node(&self, task: TaskId) -> Result<&TaskNode, Fault> {
        self.tree.get(task).ok_or_else(|| {
            Fault::user(format!("there is no task {task} in this project")).hint("`mxd tree` lists the tasks")
        })
    }

    fn status(&self, task: TaskId) -> Option<Status> {
        self.tree.get(task).map(|node| node.status)
    }

    fn message(&self, now: Timestamp, from: MessageSource, body: impl Into<String>) -> Message {
        Message::new(MessageId::fresh(&self.ids), now, from, body)
    }

    fn on_live(&mut self, now: Timestamp, task: TaskId, live: Live) {
        self.on_model_output(now, task);
        match live {
            Live::Activity { activity } => self.set_activity(now, task, activity),
            Live::Retry { attempt, of, until, reason } => {
                self.runtime(task).retry = Some(Retry { attempt, of, until, reason });
                self.set_activity(now, task, Activity::Retrying);
            }
            Live::TextDelta { .. } | Live::ThinkingDelta { .. } | Live::CallDelta { .. } => {
                self.set_activity(now, task, Activity::Streaming);
            }
            Live::OutputChunk { .. } | Live::ProcessOutput { .. } | Live::Discarded => {}
        }
    }

    /// Records output of a run, which ends its silence.
    fn on_model_output(&mut self, now: Timestamp, task: TaskId) {
        let Some(runtime) = self.runtimes.get_mut(&task) else { return };
        if matches!(std::mem::replace(&mut runtime.stream, StreamActivity::Last(now)), StreamActivity::Silent(_)) {
            self.changed.insert(task);
        }
    }

    /// Marks a request as silent if it produced no output for a while, else checks again later.
    fn check_silence(&mut self, now: Timestamp, task: TaskId) {
        let Some(runtime) = self.runtimes.get_mut(&task) else { return };
        let asks = matches!(runtime.activity, Activity::Thinking | Activity::Streaming | Activity::Compacting);
        let Some(last) = runtime.stream.last().filter(|_| asks && runtime.slot.has_run()) else { return };
        if now.since(last) >= SILENCE_TIMEOUT {
            runtime.stream = StreamActivity::Silent(last);
            self.changed.insert(task);
        } else {
            self.out.push(Effect::SetTimer { timer: Timer::Silence { task }, at: last.later(SILENCE_TIMEOUT) });
        }
    }

    fn set_activity(&mut self, now: Timestamp, task: TaskId, activity: Activity) {
        if self.runtimes.get(&task).is_some_and(|runtime| runtime.activity == activity) {
            return;
        }
        let runtime = self.runtime(task);
        runtime.activity = activity;
        runtime.since = Some(now);
        if activity != Activity::Retrying {
            runtime.retry = None;
        }
        if matches!(activity, Activity::Thinking | Activity::Compacting) {
            self.out.push(Effect::SetTimer { timer: Timer::Silence { task }, at: now.later(SILENCE_TIMEOUT) });
        }
        let runtime = self.runtime(task);
        let asleep = matches!(activity, Activity::Idle | Activity::Waiting);
        if let Slot::Running { asleep: was, .. } = &mut runtime.slot {
            *was = asleep;
        }
        if asleep {
            self.admit(now);
        }
    }
}

mod in_flight;
#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;

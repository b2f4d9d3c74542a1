//! Schedules runs: at most one per task, and no more at work than the limit.

use crate::base::{TaskId, Timestamp};
use crate::engine::machine::admission::{Admission, problem_of};
use crate::engine::machine::asks::NOT_STARTED;
use crate::engine::machine::completion::PriorSend;
use crate::engine::machine::slot::{DiskHealth, Hold, Slot, StopRequest};
use crate::engine::machine::tree_save::SaveContinuation;
use crate::engine::machine::{
    AppendContinuation, Effect, HookPolicy, LaunchFailure, LaunchOrder, Machine, TaskRuntime, Timer, WorktreeLocation,
};
use crate::git::branch;
use crate::model::AskKind;
use crate::model::ask::ChoiceId;
use crate::model::event::{AskWithdrawn, Body, Exit, InterruptReason, Verdict};
use crate::model::fold::{LastExit, SessionState};
use crate::model::live::Activity;
use crate::model::resume;
use crate::model::run::RunCommand;
use crate::model::task::{Recurring, Status, TaskNode};
use crate::model::work::DequeueReason;

/// Where a task enters the queue for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueuePosition {
    /// For tasks that the user waits for.
    First,
    Last,
}

/// Number of disk errors, about a minute with the delays between them, before the user is asked.
const MAX_DISK_FAILURES: u32 = 5;

impl Machine {
    /// Queues a run for a task that has work.
    pub(super) fn wake(&mut self, now: Timestamp, task: TaskId, position: QueuePosition) {
        if self.leaving.is_some() || self.limits.hold || self.tree.get(task).is_none() || !self.has_work(task) {
            return;
        }
        if self.runtimes.get(&task).is_some_and(TaskRuntime::is_held) || self.is_completing(task) {
            return;
        }
        // Queued merges run before the agent; messages are checked again after them.
        if self.start_queued_merge_into(now, task) {
            return;
        }
        if let Some(ask) = self.blocking_ask(task) {
            if position == QueuePosition::Last || self.needs_profile(task) {
                return;
            }
            // A message instead of an answer means: retry.
            let reason = "a message was sent and the task is retried".to_owned();
            self.append(task, vec![AskWithdrawn { id: ask, reason }.into()], AppendContinuation::Nothing);
        }
        if self.starts_recurrence(task) {
            return self.reset_for_recurrence(now, task);
        }
        let withdrawn = self.withdraw_review(task, "a message was sent and the task continues");
        if !withdrawn.is_empty() {
            self.append(task, withdrawn, AppendContinuation::Nothing);
        }
        match (self.queue.iter().position(|waiting| *waiting == task), position) {
            (None, QueuePosition::Last) => self.queue.push(task),
            (None, QueuePosition::First) => self.queue.insert(0, task),
            (Some(at), QueuePosition::First) => {
                self.queue.remove(at);
                self.queue.insert(0, task);
            }
            (Some(_), QueuePosition::Last) => {}
        }
        self.admit(now);
    }

    pub(super) fn has_work(&self, task: TaskId) -> bool {
        let Some(state) = self.state(task) else { return false };
        let SessionState { asks, messages, decisions, turns, held_calls, .. } = state;
        // A stopped task needs a message to resume, even if a background process of it has ended.
        let stop = turns.last_exit.as_ref().filter(|last| is_users_stop(&last.exit));
        let has_message =
            |stop: &LastExit| messages.iter().any(|message| state.is_woken_by(message) && stop.precedes(message));
        let is_answered = !decisions.is_empty() || held_calls.has_released();
        if !is_answered && stop.is_some_and(|stop| !has_message(stop)) {
            return false;
        }
        // A run that asks the user is woken only by the user. Any other message would start it and leave it idle again,
        // forever.
        let waits_for_user = asks.iter().any(|ask| ask.kind().is_raised_by_run()) && decisions.is_empty();
        if waits_for_user && !messages.iter().any(|message| message.from.is_from_user()) {
            return false;
        }
        self.runtimes.get(&task).is_some_and(|runtime| resume::of(&runtime.state).has_work(&runtime.state))
    }

    /// Returns an open Ask that blocks the launch of a task.
    pub(super) fn blocking_ask(&self, task: TaskId) -> Option<crate::base::AskId> {
        let asks = self.runtimes.get(&task)?.state.asks.iter();
        asks.filter(|ask| matches!(ask.kind(), AskKind::LaunchFailed | AskKind::SetupHook | AskKind::Bind))
            .map(|ask| ask.id)
            .next()
    }

    /// Gives free slots to queued tasks.
    pub(super) fn admit(&mut self, now: Timestamp) {
        while !self.queue.is_empty() && self.at_work() < self.limits.max_running.max(1) as usize {
            let task = self.queue.remove(0);
            self.changed.insert(task);
            // Its messages may have been withdrawn meanwhile.
            if self.has_work(task) {
                self.take_slot(now, task);
            }
        }
        self.changed.extend(&self.queue);
    }

    fn at_work(&self) -> usize {
        self.runtimes.values().filter(|runtime| runtime.slot.is_at_work()).count()
    }

    /// Takes the slot, updates the tree and launches once the tree is saved. One step, so nothing can come in between.
    fn take_slot(&mut self, now: Timestamp, task: TaskId) {
        let bound = match self.admission(task) {
            Admission::Run => None,
            Admission::Bind(profile) => Some(profile),
            Admission::NeedsProfile(problem) => return self.ask_for_profile(task, problem),
            Admission::Never => return,
        };
        self.drop_queued_merge(task, DequeueReason::TaskWorks);
        let Some(node) = self.tree.get(task) else { return };
        let location = (task != self.tree.root_id() && node.worktree.is_none()).then(|| self.new_worktree(node));
        let starts = node.status != Status::InProgress;
        let runtime = self.runtime(task);
        runtime.slot = Slot::Launching { ordered: false, stop: None };
        runtime.activity = Activity::Idle;
        runtime.step = None;
        runtime.since = Some(now);
        if location.is_none() && !starts && bound.is_none() {
            return self.launch(now, task);
        }
        let changed = self.tree.edit(task, |node| {
            // A recurring run and a new goal for the root are work of their own, not answers.
            let answers = node.recurring == Recurring::None && node.parent.is_some();
            node.woken_from = match node.status {
                Status::Passed if answers => Some(Verdict::Passed),
                Status::Failed if answers => Some(Verdict::Failed),
                Status::InProgress => node.woken_from,
                Status::Draft | Status::Pending | Status::Passed | Status::Failed | Status::Closed => None,
            };
            node.status = Status::InProgress;
            node.starting = false;
            node.updated_at = now;
            if bound.is_some() {
                node.profile = bound;
            }
            if let Some((branch, worktree)) = location {
                node.branch = Some(branch);
                node.worktree = Some(worktree);
            }
        });
        debug_assert!(changed.is_ok(), "the task was there a moment ago");
        self.commit([task], SaveContinuation::Launch(task));
    }

    pub(super) fn new_worktree(&self, node: &TaskNode) -> (String, std::path::PathBuf) {
        let branch = node.branch.clone().unwrap_or_else(|| branch::name(node.id, &node.title));
        (branch, self.env.worktrees.join(branch::folder(node.id, &node.title)))
    }

    pub(super) fn launch(&mut self, now: Timestamp, task: TaskId) {
        match self.runtimes.get_mut(&task).map(|runtime| &mut runtime.slot) {
            Some(Slot::Launching { stop: Some(_), .. }) => {
                return self.on_launch_failed(now, task, LaunchFailure::Cancelled);
            }
            Some(Slot::Launching { ordered, .. }) => *ordered = true,
            Some(Slot::Free | Slot::Running { .. } | Slot::Leaving { .. } | Slot::Halting) | None => {}
        }
        let Some(node) = self.tree.get(task).cloned() else { return };
        let accounts = self.accounts(&node);
        let order = LaunchOrder {
            above: node.parent.and_then(|above| Some((above, self.tree.get(above)?.title.clone()))),
            place: self.worktree_location(&node),
            may_delegate: self.tree.depth(task) < self.deepest_below(task),
            mode: self.mode_of(&node),
            accounts,
            hook: self.runtimes.get(&task).map(TaskRuntime::hook_policy).unwrap_or_default(),
            model: self.runtimes.get(&task).and_then(TaskRuntime::chosen_model),
            approvals: self.approvals.clone(),
            cwd: self.state(task).and_then(|state| state.cwd.folder()).map(str::to_owned),
            node: TaskNode { budget: self.budget_of(&node), ..node },
        };
        self.out.push(Effect::Launch(Box::new(order)));
    }

    /// Returns the worktree of a task, with the branch that its work goes into.
    pub(super) fn worktree_location(&self, node: &TaskNode) -> Option<WorktreeLocation> {
        let (branch, worktree) = (node.branch.clone()?, node.worktree.clone()?);
        Some(WorktreeLocation { worktree, branch, base: self.base_of(node.id) })
    }

    /// Returns the branch of the nearest ancestor that has one.
    pub(super) fn base_of(&self, task: TaskId) -> String {
        let own = self.tree.ancestors(task).find_map(|above| above.branch.clone());
        own.unwrap_or_else(|| self.env.project.base_branch.clone())
    }

    pub(super) fn on_launch_step(&mut self, task: TaskId, step: String) {
        self.runtime(task).step = Some(step);
    }

    pub(super) fn on_launched(&mut self, task: TaskId, model: String) {
        for tasks in self.waiting_for_hook.values_mut() {
            tasks.remove(&task);
        }
        let runtime = self.runtime(task);
        runtime.step = None;
        runtime.model = Some(model);
        runtime.disk = DiskHealth::Healthy;
        let Slot::Launching { stop, .. } = &runtime.slot else { return };
        let stop = stop.clone();
        runtime.slot = Slot::Running { asleep: false, stop: stop.clone() };
        // The run started before the stop reached the launch.
        if let Some(StopRequest { reason, .. }) = stop {
            self.out.push(Effect::SendToRun { task, command: RunCommand::Teardown(reason) });
        }
        let open =
            self.runtime(task).to_withdraw.iter().map(|withdrawal| RunCommand::Withdraw(withdrawal.open.clone()));
        let effects: Vec<Effect> = open.map(|command| Effect::SendToRun { task, command }).collect();
        self.out.extend(effects);
    }

    pub(super) fn on_launch_failed(&mut self, now: Timestamp, task: TaskId, failure: LaunchFailure) {
        let stopped = self.release_slot(task).is_some_and(|stop| stop.reason == InterruptReason::Stopped);
        let runtime = self.runtime(task);
        runtime.step = None;
        runtime.activity = Activity::Stopped;
        match failure {
            _ if stopped => self.record_stop(task),
            LaunchFailure::Cancelled => {}
            LaunchFailure::Disk(fault) if self.runtime(task).disk.failures() < MAX_DISK_FAILURES => {
                self.on_disk_error(now, task, "cannot start it", &fault.message);
            }
            LaunchFailure::Profile(fault) => {
                self.ask_for_profile(task, Some(problem_of(fault)));
            }
            LaunchFailure::SetupHook { exit, output } => self.ask_about_setup(task, &exit, &output),
            LaunchFailure::UnapprovedHook { hash, script } => {
                self.runtime(task).activity = Activity::Waiting;
                self.ask_about_hook(task, hash, &script);
            }
            // A disk error that lasts a minute needs the user.
            LaunchFailure::Disk(fault) | LaunchFailure::Refused(fault) => {
                self.runtime(task).disk = DiskHealth::Healthy;
                self.ask_to_retry(now, task, NOT_STARTED, fault);
            }
            LaunchFailure::UnknownModel { fault, models } => self.ask_for_model(now, task, fault, models),
        }
        self.on_run_gone(now, task);
    }

    /// Retries a launch whose tree could not be saved.
    pub(super) fn on_launch_not_saved(&mut self, now: Timestamp, task: TaskId) {
        if self.release_slot(task).is_some_and(|stop| stop.reason == InterruptReason::Stopped) {
            self.record_stop(task);
        } else {
            self.schedule_retry(now, task);
        }
        self.on_run_gone(now, task);
    }

    /// Frees the slot of a task. Returns its stop request, if there was one.
    pub(super) fn release_slot(&mut self, task: TaskId) -> Option<StopRequest> {
        let runtime = self.runtime(task);
        let slot = std::mem::take(&mut runtime.slot);
        // First, so that withdrawn messages do not start the next run.
        let withdrawals = std::mem::take(&mut runtime.to_withdraw);
        withdrawals.into_iter().for_each(|withdrawal| self.withdraw_again(task, withdrawal));
        slot.stop().cloned()
    }

    pub(super) fn on_run_gone(&mut self, now: Timestamp, task: TaskId) {
        self.deliver_held_messages(task);
        self.admit(now);
    }

    pub(super) fn on_timer(&mut self, now: Timestamp, timer: Timer) {
        if let Timer::Retry { task } = timer
            && let Some(runtime) = self.runtimes.get_mut(&task)
        {
            runtime.disk = DiskHealth::Failing(runtime.disk.failures());
        }
        match timer {
            Timer::AskDeadline { task, ask } => self.on_ask_deadline(now, task, ask),
            Timer::Retry { task } if self.runtimes.get(&task).is_some_and(|runtime| runtime.slot == Slot::Halting) => {
                self.append_stop(task);
            }
            Timer::Silence { task } => self.check_silence(now, task),
            Timer::Rules => self.on_rules_timer(now),
            Timer::Retry { task } if self.retry_first_message(task) => {}
            Timer::Retry { task } => {
                self.finish_start(now, task);
                self.complete(now, task, PriorSend::Perhaps);
                self.reconsider(now, task);
            }
        }
    }

    /// Returns true if a task would start or resume as soon as it may.
    pub(super) fn is_due(&self, task: TaskId) -> bool {
        let (Some(status), Some(runtime)) = (self.status(task), self.runtimes.get(&task)) else { return false };
        let has_message = runtime.state.messages.iter().any(|message| runtime.state.is_woken_by(message));
        let is_due = status == Status::InProgress || has_message || !runtime.state.decisions.is_empty();
        is_due && self.has_work(task)
    }

    /// Wakes a task without a run that has work.
    pub(super) fn reconsider(&mut self, now: Timestamp, task: TaskId) {
        let Some(runtime) = self.runtimes.get(&task).filter(|_| self.is_due(task)) else { return };
        // The user sent a message instead of answering, and did not stop the task since.
        let stop = runtime.state.turns.last_exit.as_ref().filter(|last| is_users_stop(&last.exit));
        let overrides_ask = self.blocking_ask(task).is_some_and(|ask| {
            let mut words = runtime.state.messages.iter().filter(|message| message.from.is_from_user());
            words.any(|message| message.id.ulid() > ask.ulid() && stop.is_none_or(|stop| stop.precedes(message)))
        });
        self.wake(now, task, if overrides_ask { QueuePosition::First } else { QueuePosition::Last });
    }
}

impl TaskRuntime {
    /// Returns true if something is under way that keeps a run from starting.
    pub(super) fn is_held(&self) -> bool {
        self.is_occupied() || self.holds.has(Hold::Merge)
    }

    /// As [`TaskRuntime::is_held`], apart from merges into its checkout.
    pub(super) fn is_occupied(&self) -> bool {
        self.slot != Slot::Free || self.holds.has(Hold::Change) || self.holds.has(Hold::Withdrawal)
    }

    /// Returns the user's last answer about the setup hook, if it is not acted on yet.
    fn hook_policy(&self) -> HookPolicy {
        let mut answers = self.state.decisions.iter().filter(|decision| decision.ask.kind() == AskKind::SetupHook);
        answers.next_back().map(super::asks::hook_policy).unwrap_or_default()
    }

    /// Returns the model that the user chose in place of an unknown one, if no run has started with it yet.
    fn chosen_model(&self) -> Option<String> {
        let mut answers = self.state.decisions.iter().filter(|decision| decision.ask.kind() == AskKind::LaunchFailed);
        match answers.next_back().and_then(|decision| decision.ask.choice_of(&decision.answer)) {
            Some(ChoiceId::Model(name)) => Some(name.clone()),
            _ => None,
        }
    }
}

fn is_users_stop(exit: &Exit) -> bool {
    *exit == Exit::Interrupted(InterruptReason::Stopped)
}

/// Returns the events that withdraw all open Asks of a session.
pub(super) fn withdraw_asks(runtime: &TaskRuntime, reason: &str) -> Vec<Body> {
    runtime.state.asks.iter().map(|ask| AskWithdrawn { id: ask.id, reason: reason.to_owned() }.into()).collect()
}

//! Interrupting turns, stopping and resuming runs, quitting and handing over. Stopped tasks stay in progress.

use crate::base::{Fault, TaskId, Timestamp};
use crate::engine::command::{Actor, CommandId, Outcome, StopScope};
use crate::engine::machine::delivery::DeliveryPlan;
use crate::engine::machine::slot::Slot;
use crate::engine::machine::{AppendContinuation, Effect, Leaving, Machine, TaskRuntime};
use crate::model::AskKind;
use crate::model::event::{Exit, InterruptReason, RunEnded};
use crate::model::fold::SessionState;
use crate::model::live::Activity;
use crate::model::message::{self, MessageSource, TreeAction};
use crate::model::run::RunCommand;
use crate::model::task::Status;

impl Machine {
    fn is_alive(&self, task: TaskId) -> bool {
        self.runtimes.get(&task).is_some_and(|runtime| runtime.slot.is_alive())
    }

    pub(super) fn interrupt(&mut self, now: Timestamp, id: CommandId, task: TaskId) -> Result<(), Fault> {
        if self.interrupt_held_calls(now, id, task) {
            return Ok(());
        }
        self.send_run_command(id, task, RunCommand::Interrupt)
    }

    /// Sends a command to the run of a task.
    pub(super) fn send_run_command(&mut self, id: CommandId, task: TaskId, command: RunCommand) -> Result<(), Fault> {
        self.node(task)?;
        if !self.is_alive(task) {
            return Err(Fault::user("no agent is at work on this task"));
        }
        self.out.push(Effect::SendToRun { task, command });
        self.out.push(Effect::Reply { id, result: Ok(Outcome::Done) });
        Ok(())
    }

    pub(super) fn stop(&mut self, now: Timestamp, id: CommandId, actor: Actor, scope: StopScope) -> Result<(), Fault> {
        let tasks: Vec<TaskId> = match scope {
            StopScope::Task(task) => vec![self.node(task)?.id],
            StopScope::Subtree(task) => {
                self.node(task)?;
                self.tree.walk(task).map(|node| node.id).collect()
            }
            StopScope::All => self.tree.all().map(|node| node.id).collect(),
        };
        let mut agents = 0;
        for task in &tasks {
            let ended =
                self.stop_run(*task, &InterruptReason::Stopped) || (scope != StopScope::All && self.stop_idle(*task));
            agents += usize::from(ended);
        }
        if let (StopScope::Task(task) | StopScope::Subtree(task), 1..) = (scope, agents) {
            let title = self.tree.get(task).map(|node| node.title.clone()).unwrap_or_default();
            self.notify_of_edit(now, actor, task, &title, TreeAction::Stopped, "");
        }
        self.out.push(Effect::Reply { id, result: Ok(Outcome::Stopped { agents }) });
        Ok(())
    }

    /// Stops the run of a task, or removes it from the queue. Returns false if there was none.
    pub(super) fn stop_run(&mut self, task: TaskId, reason: &InterruptReason) -> bool {
        if let Some(at) = self.queue.iter().position(|waiting| *waiting == task) {
            self.queue.remove(at);
            self.changed.extend(&self.queue);
            // A restart must not start it either.
            if *reason == InterruptReason::Stopped {
                self.record_stop(task);
            }
            return true;
        }
        let Some(runtime) = self.runtimes.get_mut(&task) else { return false };
        if !runtime.slot.has_run() {
            return false;
        }
        runtime.slot.request_stop(reason);
        self.changed.insert(task);
        match runtime.slot {
            Slot::Launching { ordered: true, .. } => self.out.push(Effect::CancelLaunch { task }),
            Slot::Running { .. } | Slot::Leaving { .. } => {
                self.out.push(Effect::SendToRun { task, command: RunCommand::Teardown(reason.clone()) });
            }
            Slot::Launching { ordered: false, .. } | Slot::Free | Slot::Halting => {}
        }
        true
    }

    /// Stops an idle agent, or one that would start as soon as launches are allowed. Returns false if there was none.
    fn stop_idle(&mut self, task: TaskId) -> bool {
        let Some(runtime) = self.runtimes.get(&task).filter(|runtime| !runtime.slot.has_run()) else { return false };
        let is_idle = self.status(task) == Some(Status::InProgress) && runtime.state.turns.last_role.is_some();
        // Otherwise it would have started already.
        let waits = self.limits.hold || runtime.disk.is_retry_scheduled();
        let is_new = self.tree.get(task).is_some_and(|node| node.starting && node.status == Status::Pending);
        let starts = is_new && !runtime.state.is_ended();
        let would_start = waits && (starts || self.is_due(task)) && self.blocking_ask(task).is_none();
        // A task whose end is being reported is over, unless the user just chose to retry it.
        let is_over = self.is_completing(task) && runtime.state.decisions.is_empty();
        let stops = (is_idle || would_start) && !is_over;
        if stops {
            self.record_stop(task);
        }
        stops
    }

    /// Returns true if the user stopped a task and no message resumed it since.
    pub(super) fn is_stopped(&self, task: TaskId) -> bool {
        self.runtimes.get(&task).is_some_and(|runtime| was_stopped(&runtime.state))
    }

    /// Records the user's stop in the session of a task without a run.
    pub(super) fn record_stop(&mut self, task: TaskId) {
        let runtime = self.runtime(task);
        runtime.activity = Activity::Stopped;
        if runtime.slot != Slot::Halting {
            runtime.slot = Slot::Halting;
            self.append_stop(task);
        }
    }

    pub(super) fn append_stop(&mut self, task: TaskId) {
        let ended = RunEnded::from(Exit::Interrupted(InterruptReason::Stopped));
        self.append(task, vec![ended.into()], AppendContinuation::Stop(task));
    }

    /// Returns true if the user stopped a task and the stop is not on disk yet.
    pub(super) fn is_being_stopped(&self, task: TaskId) -> bool {
        self.runtimes.get(&task).is_some_and(|runtime| runtime.slot.is_stopped_by_user())
    }

    /// Returns true if a decision of the user about a task is being written: a stop, or an answer that determines how
    /// its run continues.
    pub(super) fn is_decision_pending(&self, task: TaskId) -> bool {
        let decides = |kind: AskKind| {
            kind.is_raised_by_run() || matches!(kind, AskKind::LaunchFailed | AskKind::SetupHook | AskKind::Bind)
        };
        let open = |runtime: &TaskRuntime| {
            let mut asks = runtime.state.asks.iter().filter(|ask| decides(ask.kind()));
            asks.any(|ask| self.answering.contains(&ask.id))
        };
        self.is_being_stopped(task) || self.runtimes.get(&task).is_some_and(open)
    }

    /// The stop is on disk: delivers the messages that were held until then.
    pub(super) fn on_stop_recorded(&mut self, now: Timestamp, task: TaskId) {
        let runtime = self.runtime(task);
        if runtime.slot == Slot::Halting {
            runtime.slot = Slot::Free;
        }
        self.deliver_held_messages(task);
        self.reconsider(now, task);
    }

    /// Starts or resumes a task with a message.
    pub(super) fn resume(&mut self, now: Timestamp, id: CommandId, task: TaskId) -> Result<(), Fault> {
        let node = self.node(task)?;
        if self.is_alive(task) && !self.is_being_stopped(task) {
            return Err(Fault::user("this task is already at work"));
        }
        let (from, words) = match node.status {
            Status::Draft | Status::Pending => (MessageSource::Begin, message::BEGIN),
            Status::InProgress | Status::Passed | Status::Failed | Status::Closed => {
                (MessageSource::Continue, message::CONTINUE)
            }
        };
        let message = self.message(now, from, words);
        self.deliver(task, message, DeliveryPlan::from_user(), AppendContinuation::Reply(id, Outcome::Done));
        Ok(())
    }

    pub(super) fn quit(&mut self, id: CommandId) {
        self.leaving = Some(Leaving::Quitting);
        self.drop_deferred();
        self.queue.clear();
        let tasks: Vec<TaskId> = self.runtimes.keys().copied().collect();
        for task in tasks {
            self.stop_run(task, &InterruptReason::Quit);
        }
        self.out.push(Effect::Reply { id, result: Ok(Outcome::Done) });
    }

    /// Starts nothing more and lets turns in progress finish. What waits is in the sessions, for the process that takes
    /// over.
    pub(super) fn hand_over(&mut self, id: CommandId, interrupts: bool) {
        let is_first = self.leaving.is_none();
        self.leaving.get_or_insert(Leaving::HandingOver);
        self.changed.extend(&self.queue);
        self.queue.clear();
        let tasks: Vec<TaskId> = self.runtimes.keys().copied().collect();
        for task in tasks {
            if interrupts {
                self.stop_run(task, &InterruptReason::Quit);
            } else if is_first {
                self.wrap_up_run(task);
            }
        }
        self.out.push(Effect::Reply { id, result: Ok(Outcome::Done) });
    }

    fn wrap_up_run(&mut self, task: TaskId) {
        match self.runtimes.get(&task).map(|runtime| &runtime.slot) {
            // Nothing was begun yet.
            Some(Slot::Launching { .. }) => drop(self.stop_run(task, &InterruptReason::Quit)),
            Some(Slot::Running { stop: None, .. } | Slot::Leaving { stop: None }) => {
                self.out.push(Effect::SendToRun { task, command: RunCommand::WrapUp });
            }
            Some(Slot::Running { .. } | Slot::Leaving { .. } | Slot::Free | Slot::Halting) | None => {}
        }
    }

    /// Emits [`Effect::Ended`] once everything is stopped and on disk.
    pub(super) fn end_if_over(&mut self) {
        // An outstanding append may be the first of several that belong together.
        let is_saved = self.saves.is_idle()
            && self.pending.is_empty()
            && self.outstanding_effects == 0
            && self.completions.is_empty();
        let is_over =
            self.leaving.is_some() && is_saved && self.runtimes.values().all(|runtime| !runtime.slot.has_run());
        if is_over && !std::mem::replace(&mut self.ended, true) {
            self.out.push(Effect::Ended);
        }
    }
}

/// Returns true if the last run in a session was stopped by the user.
pub(super) fn was_stopped(state: &SessionState) -> bool {
    state.turns.exit() == Some(&Exit::Interrupted(InterruptReason::Stopped))
}

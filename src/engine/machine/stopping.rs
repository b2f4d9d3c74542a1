//! Stopping: one turn, one run, a subtree, everything. Tasks stay in progress; nothing is lost.

use crate::base::{Fault, TaskId, Timestamp};
use crate::engine::command::{Actor, CommandId, Outcome, StopScope};
use crate::engine::machine::delivering::Plan;
use crate::engine::machine::slot::Slot;
use crate::engine::machine::{Effect, Life, Machine, Pending};
use crate::model::AskKind;
use crate::model::event::{Exit, InterruptReason, RunEnded};
use crate::model::fold::SessionState;
use crate::model::live::Activity;
use crate::model::message::{self, Source, TreeAction};
use crate::model::run::RunCommand;
use crate::model::task::Status;

impl Machine {
    fn is_alive(&self, task: TaskId) -> bool {
        self.lives.get(&task).is_some_and(|life| life.slot.is_alive())
    }

    pub(super) fn interrupt(&mut self, id: CommandId, task: TaskId) -> Result<(), Fault> {
        self.pass_on(id, task, RunCommand::Interrupt)
    }

    /// Passes something on to a run, if there is one.
    pub(super) fn pass_on(&mut self, id: CommandId, task: TaskId, command: RunCommand) -> Result<(), Fault> {
        self.node(task)?;
        if !self.is_alive(task) {
            return Err(Fault::user("no agent is at work on this task"));
        }
        self.out.push(Effect::Tell { task, command });
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
            let ended = self.stop_run(*task, &InterruptReason::Stopped)
                || (scope != StopScope::All && self.stop_sleeper(*task));
            agents += usize::from(ended);
        }
        if let (StopScope::Task(task) | StopScope::Subtree(task), 1..) = (scope, agents) {
            let title = self.tree.get(task).map(|node| node.title.clone()).unwrap_or_default();
            self.note_edit(now, actor, task, &title, TreeAction::Stopped, "");
        }
        self.out.push(Effect::Reply { id, result: Ok(Outcome::Stopped { agents }) });
        Ok(())
    }

    /// Ends the run of one task, wherever it stands. Tells whether there was one.
    pub(super) fn stop_run(&mut self, task: TaskId, reason: &InterruptReason) -> bool {
        if let Some(at) = self.queue.iter().position(|waiting| *waiting == task) {
            self.queue.remove(at);
            self.changed.extend(&self.queue);
            // What it was to do is not begun at the next start either.
            if *reason == InterruptReason::Stopped {
                self.put_to_rest(task);
            }
            return true;
        }
        let Some(life) = self.lives.get_mut(&task) else { return false };
        if !life.slot.has_run() {
            return false;
        }
        life.slot.tell_to_stop(reason);
        self.changed.insert(task);
        match life.slot {
            Slot::Launching { ordered: true, .. } => self.out.push(Effect::CancelLaunch { task }),
            Slot::Running { .. } | Slot::Leaving { .. } => {
                self.out.push(Effect::Tell { task, command: RunCommand::Teardown(reason.clone()) });
            }
            Slot::Launching { ordered: false, .. } | Slot::Free | Slot::Halting => {}
        }
        true
    }

    /// Stops an agent that sleeps, or would begin as soon as agents may. Tells whether there was one.
    fn stop_sleeper(&mut self, task: TaskId) -> bool {
        let Some(life) = self.lives.get(&task).filter(|life| !life.slot.has_run()) else { return false };
        let sleeps = self.status(task) == Some(Status::InProgress) && life.state.turns.voice.is_some();
        // Where agents may start, and the disk may be written, it would have begun.
        let waits = self.limits.hold || life.disk.is_tried_again();
        let is_new = self.tree.get(task).is_some_and(|node| node.starting && node.status == Status::Pending);
        let starts = is_new && !life.state.is_ended();
        let begins = waits && (starts || self.owes_work(task)) && self.blocking_ask(task).is_none();
        // What is being reported above is over, unless the user has just answered that it is to be tried again.
        let is_over = self.is_completing(task) && life.state.decisions.is_empty();
        let stops = (sleeps || begins) && !is_over;
        if stops {
            self.put_to_rest(task);
        }
        stops
    }

    /// Tells whether the person stopped a task and nothing was said to it since.
    pub(super) fn is_stopped(&self, task: TaskId) -> bool {
        self.lives.get(&task).is_some_and(|life| was_stopped(&life.state))
    }

    /// Says in the session of a task without a run that the person stopped it.
    pub(super) fn put_to_rest(&mut self, task: TaskId) {
        let life = self.life(task);
        life.activity = Activity::Stopped;
        if life.slot != Slot::Halting {
            life.slot = Slot::Halting;
            self.append_halt(task);
        }
    }

    pub(super) fn append_halt(&mut self, task: TaskId) {
        let ended = RunEnded::from(Exit::Interrupted(InterruptReason::Stopped));
        self.append(task, vec![ended.into()], Pending::Halt(task));
    }

    /// Tells whether the person stopped a task and its session does not say so yet.
    pub(super) fn is_being_stopped(&self, task: TaskId) -> bool {
        self.lives.get(&task).is_some_and(|life| life.slot.is_stopped_by_user())
    }

    /// Tells whether the user has decided about a task, and its session does not say so yet: it is being stopped, or an
    /// answer that decides how its run goes on is being written.
    pub(super) fn is_deciding(&self, task: TaskId) -> bool {
        let decides = |kind: AskKind| kind.is_of_run() || matches!(kind, AskKind::LaunchFailed | AskKind::SetupHook);
        let open = |life: &Life| {
            let mut asks = life.state.asks.iter().filter(|ask| decides(ask.kind()));
            asks.any(|ask| self.answering.contains(&ask.id))
        };
        self.is_being_stopped(task) || self.lives.get(&task).is_some_and(open)
    }

    /// The session says that the person stopped it. What was said since is said now, and comes after it.
    pub(super) fn halted(&mut self, now: Timestamp, task: TaskId) {
        let life = self.life(task);
        if life.slot == Slot::Halting {
            life.slot = Slot::Free;
        }
        self.say_what_waited(task);
        self.reconsider(now, task);
    }

    /// Lets a task work: one that was stopped, one that failed, one that has not begun.
    pub(super) fn resume(&mut self, now: Timestamp, id: CommandId, task: TaskId) -> Result<(), Fault> {
        let node = self.node(task)?;
        if self.is_alive(task) && !self.is_being_stopped(task) {
            return Err(Fault::user("this task is at work already"));
        }
        let (from, words) = match node.status {
            Status::Draft | Status::Pending => (Source::Begin, message::BEGIN),
            Status::InProgress | Status::Passed | Status::Failed | Status::Closed => {
                (Source::Continue, message::CONTINUE)
            }
        };
        let message = self.message(now, from, words);
        self.deliver(task, message, Plan::of_user(), Pending::Reply(id, Outcome::Done));
        Ok(())
    }

    pub(super) fn quit(&mut self, id: CommandId) {
        self.quitting = true;
        self.drop_deferred();
        self.queue.clear();
        let tasks: Vec<TaskId> = self.lives.keys().copied().collect();
        for task in tasks {
            self.stop_run(task, &InterruptReason::Quit);
        }
        self.out.push(Effect::Reply { id, result: Ok(Outcome::Done) });
    }

    /// Says that it is over, once it is.
    pub(super) fn end_if_over(&mut self) {
        // What was said is also told: an append that is under way may be the first of several that belong together.
        let kept =
            self.saves.is_idle() && self.pending.is_empty() && self.under_way == 0 && self.completions.is_empty();
        let over = self.quitting && kept && self.lives.values().all(|life| !life.slot.has_run());
        if over && !std::mem::replace(&mut self.ended, true) {
            self.out.push(Effect::Ended);
        }
    }
}

/// Tells whether a session's last word is that the person stopped it.
pub(super) fn was_stopped(state: &SessionState) -> bool {
    state.turns.exit() == Some(&Exit::Interrupted(InterruptReason::Stopped))
}

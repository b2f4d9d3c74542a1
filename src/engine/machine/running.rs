//! Runs: who gets one, and when. One per task, and no more at work at once than allowed.

use crate::base::{TaskId, Timestamp};
use crate::engine::machine::completing::Sent;
use crate::engine::machine::saving::Then;
use crate::engine::machine::slot::{Disk, Hold, Slot, Stop};
use crate::engine::machine::{Effect, Hook, LaunchFailure, LaunchOrder, Life, Machine, Pending, Place as Spot, Timer};
use crate::git::branch;
use crate::model::AskKind;
use crate::model::event::{AskWithdrawn, Body, Exit, InterruptReason};
use crate::model::fold::{LastExit, SessionState};
use crate::model::live::Activity;
use crate::model::resume;
use crate::model::run::RunCommand;
use crate::model::task::{Status, TaskNode};
use crate::model::work::DequeueReason;

/// Where a task stands among those that wait for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The person waits for it.
    First,
    Last,
}

/// How often the disk may refuse a launch before the person is asked: a minute, with the pauses between.
const PATIENCE: u32 = 5;

impl Machine {
    /// Starts a run for a task that has something to do, as soon as there is a slot.
    pub(super) fn wake(&mut self, now: Timestamp, task: TaskId, line: Place) {
        if self.quitting || self.limits.hold || self.tree.get(task).is_none() || !self.has_work(task) {
            return;
        }
        if self.lives.get(&task).is_some_and(Life::is_held) || self.is_completing(task) {
            return;
        }
        // Files come in before its agent goes on: what is said to it meanwhile is looked at when they are there.
        if self.start_queued_merge_into(now, task) {
            return;
        }
        if let Some(ask) = self.blocking_ask(task) {
            if line == Place::Last {
                return;
            }
            // The person speaks instead of answering: that is the answer.
            let reason = "the task was spoken to and is tried again".to_owned();
            self.append(task, vec![AskWithdrawn { id: ask, reason }.into()], Pending::Nothing);
        }
        if self.begins_round(task) {
            return self.reset_for_round(now, task);
        }
        let withdrawn = self.withdraw_review(task, "the task was spoken to and goes on with its work");
        if !withdrawn.is_empty() {
            self.append(task, withdrawn, Pending::Nothing);
        }
        match (self.queue.iter().position(|waiting| *waiting == task), line) {
            (None, Place::Last) => self.queue.push(task),
            (None, Place::First) => self.queue.insert(0, task),
            (Some(at), Place::First) => {
                self.queue.remove(at);
                self.queue.insert(0, task);
            }
            (Some(_), Place::Last) => {}
        }
        self.admit(now);
    }

    fn has_work(&self, task: TaskId) -> bool {
        let Some(state) = self.state(task) else { return false };
        let SessionState { asks, messages, decisions, turns, .. } = state;
        // What the person stopped stays so until somebody speaks, also if a process of its own is gone meanwhile.
        let stop = turns.last_exit.as_ref().filter(|last| is_users_stop(&last.exit));
        let spoken_to =
            |stop: &LastExit| messages.iter().any(|message| state.is_called_by(message) && stop.precedes(message));
        if decisions.is_empty() && stop.is_some_and(|stop| !spoken_to(stop)) {
            return false;
        }
        // A run with a question of its own hears only the person. For anybody else it would rise, and rest, for ever.
        let deaf = asks.iter().any(|ask| ask.kind().is_of_run()) && decisions.is_empty();
        if deaf && !messages.iter().any(|message| message.from.is_of_user()) {
            return false;
        }
        self.lives.get(&task).is_some_and(|life| resume::of(&life.state).owes_work(&life.state))
    }

    /// Returns an open Ask without whose answer the task cannot be launched.
    pub(super) fn blocking_ask(&self, task: TaskId) -> Option<crate::base::AskId> {
        let asks = self.lives.get(&task)?.state.asks.iter();
        asks.filter(|ask| matches!(ask.kind(), AskKind::LaunchFailed | AskKind::SetupHook)).map(|ask| ask.id).next()
    }

    /// Gives free slots to those who wait.
    pub(super) fn admit(&mut self, now: Timestamp) {
        while !self.queue.is_empty() && self.at_work() < self.limits.max_running.max(1) as usize {
            let task = self.queue.remove(0);
            self.changed.insert(task);
            // What it was to do may have been taken back meanwhile.
            if self.has_work(task) {
                self.begin(now, task);
            }
        }
        self.changed.extend(&self.queue);
    }

    fn at_work(&self) -> usize {
        self.lives.values().filter(|life| life.slot.is_at_work()).count()
    }

    /// Takes the slot, says so in the tree, and launches when the tree is saved: one step, so nobody comes in between.
    fn begin(&mut self, now: Timestamp, task: TaskId) {
        self.drop_queued_merge(task, DequeueReason::TaskWorks);
        let Some(node) = self.tree.get(task) else { return };
        let spot = (task != self.tree.root_id() && node.worktree.is_none()).then(|| self.new_spot(node));
        let starts = node.status != Status::InProgress;
        let life = self.life(task);
        life.slot = Slot::Launching { ordered: false, stop: None };
        life.activity = Activity::Idle;
        life.step = None;
        life.since = Some(now);
        if spot.is_none() && !starts {
            return self.launch(now, task);
        }
        let changed = self.tree.edit(task, |node| {
            node.status = Status::InProgress;
            node.starting = false;
            node.updated_at = now;
            if let Some((branch, worktree)) = spot {
                node.branch = Some(branch);
                node.worktree = Some(worktree);
            }
        });
        debug_assert!(changed.is_ok(), "the task was there a moment ago");
        self.commit([task], Then::Launch(task));
    }

    pub(super) fn new_spot(&self, node: &TaskNode) -> (String, std::path::PathBuf) {
        let branch = node.branch.clone().unwrap_or_else(|| branch::name(node.id, &node.title));
        (branch, self.ground.worktrees.join(branch::folder(node.id, &node.title)))
    }

    pub(super) fn launch(&mut self, now: Timestamp, task: TaskId) {
        match self.lives.get_mut(&task).map(|life| &mut life.slot) {
            Some(Slot::Launching { stop: Some(_), .. }) => {
                return self.launch_failed(now, task, LaunchFailure::Cancelled);
            }
            Some(Slot::Launching { ordered, .. }) => *ordered = true,
            Some(Slot::Free | Slot::Running { .. } | Slot::Leaving { .. } | Slot::Halting) | None => {}
        }
        let Some(node) = self.tree.get(task).cloned() else { return };
        let accounts = self.accounts(&node);
        let order = LaunchOrder {
            above: node.parent.and_then(|above| Some((above, self.tree.get(above)?.title.clone()))),
            place: self.spot(&node),
            may_delegate: self.tree.depth(task) < self.limits.max_depth as usize,
            accounts,
            hook: self.lives.get(&task).map(Life::hook).unwrap_or_default(),
            approvals: self.approvals.clone(),
            cwd: self.state(task).and_then(|state| state.whereabouts.folder()).map(str::to_owned),
            node: TaskNode { budget: self.budget_of(&node), ..node },
        };
        self.out.push(Effect::Launch(Box::new(order)));
    }

    /// Returns where a task works, and where its work goes.
    pub(super) fn spot(&self, node: &TaskNode) -> Option<Spot> {
        let (branch, worktree) = (node.branch.clone()?, node.worktree.clone()?);
        Some(Spot { worktree, branch, base: self.base_of(node.id) })
    }

    /// Returns the branch of the nearest task above that has one.
    pub(super) fn base_of(&self, task: TaskId) -> String {
        let own = self.tree.ancestors(task).find_map(|above| above.branch.clone());
        own.unwrap_or_else(|| self.ground.project.base_branch.clone())
    }

    pub(super) fn launching(&mut self, task: TaskId, step: String) {
        self.life(task).step = Some(step);
    }

    pub(super) fn launched(&mut self, task: TaskId, model: String) {
        for tasks in self.waiting_for_hook.values_mut() {
            tasks.remove(&task);
        }
        let life = self.life(task);
        life.step = None;
        life.model = Some(model);
        life.disk = Disk::Takes;
        let Slot::Launching { stop, .. } = &life.slot else { return };
        let stop = stop.clone();
        life.slot = Slot::Running { asleep: false, stop: stop.clone() };
        // It was quicker than whoever stopped it.
        if let Some(Stop { reason, .. }) = stop {
            self.out.push(Effect::Tell { task, command: RunCommand::Teardown(reason) });
        }
        let open = self.life(task).to_withdraw.iter().map(|withdrawal| RunCommand::Withdraw(withdrawal.open.clone()));
        let effects: Vec<Effect> = open.map(|command| Effect::Tell { task, command }).collect();
        self.out.extend(effects);
    }

    pub(super) fn launch_failed(&mut self, now: Timestamp, task: TaskId, failure: LaunchFailure) {
        let stopped = self.end_of_run(task).is_some_and(|stop| stop.reason == InterruptReason::Stopped);
        let life = self.life(task);
        life.step = None;
        life.activity = Activity::Stopped;
        match failure {
            _ if stopped => self.put_to_rest(task),
            LaunchFailure::Cancelled => {}
            LaunchFailure::Disk(fault) if self.life(task).disk.refusals() < PATIENCE => {
                self.disk_refused(now, task, "it could not be started", &fault.message);
            }
            LaunchFailure::SetupHook { exit, output } => self.ask_about_setup(task, &exit, &output),
            LaunchFailure::UnapprovedHook { hash, script } => {
                self.life(task).activity = Activity::Waiting;
                self.ask_about_hook(task, hash, &script);
            }
            // What the disk refuses for a minute, it refuses until somebody does something about it.
            LaunchFailure::Disk(fault) | LaunchFailure::Refused(fault) => {
                self.life(task).disk = Disk::Takes;
                self.give_up_until_answered(now, task, "could not be started", fault);
            }
        }
        self.run_is_gone(now, task);
    }

    /// The tree that says that a task is at work could not be saved.
    pub(super) fn not_launched(&mut self, now: Timestamp, task: TaskId) {
        if self.end_of_run(task).is_some_and(|stop| stop.reason == InterruptReason::Stopped) {
            self.put_to_rest(task);
        } else {
            self.try_again_later(now, task);
        }
        self.run_is_gone(now, task);
    }

    /// Gives the slot of a task back. Returns why its run was told to end, if it was.
    pub(super) fn end_of_run(&mut self, task: TaskId) -> Option<Stop> {
        let life = self.life(task);
        let slot = std::mem::take(&mut life.slot);
        // Before anything else: what the person takes back must not start the next run.
        let withdrawals = std::mem::take(&mut life.to_withdraw);
        withdrawals.into_iter().for_each(|withdrawal| self.withdraw_again(task, withdrawal));
        slot.stop().cloned()
    }

    /// Does what waited for the end of a run.
    pub(super) fn run_is_gone(&mut self, now: Timestamp, task: TaskId) {
        self.say_what_waited(task);
        self.admit(now);
    }

    pub(super) fn rang(&mut self, now: Timestamp, timer: Timer) {
        if let Timer::TryAgain { task } = timer
            && let Some(life) = self.lives.get_mut(&task)
        {
            life.disk = Disk::Refused(life.disk.refusals());
        }
        match timer {
            Timer::AskDeadline { task, ask } => self.deadline(now, task, ask),
            Timer::TryAgain { task } if self.lives.get(&task).is_some_and(|life| life.slot == Slot::Halting) => {
                self.append_halt(task);
            }
            Timer::Silence { task } => self.look_for_words(now, task),
            Timer::TryAgain { task } if self.begin_again(task) => {}
            Timer::TryAgain { task } => {
                self.finish_start(now, task);
                self.complete(now, task, Sent::Perhaps);
                self.reconsider(now, task);
            }
        }
    }

    /// Tells whether a task would begin, or go on, as soon as it may.
    pub(super) fn owes_work(&self, task: TaskId) -> bool {
        let (Some(status), Some(life)) = (self.status(task), self.lives.get(&task)) else { return false };
        let spoken_to = life.state.messages.iter().any(|message| life.state.is_called_by(message));
        let called = status == Status::InProgress || spoken_to || !life.state.decisions.is_empty();
        called && self.has_work(task)
    }

    /// Looks whether a task without a run has something to do.
    pub(super) fn reconsider(&mut self, now: Timestamp, task: TaskId) {
        let Some(life) = self.lives.get(&task).filter(|_| self.owes_work(task)) else { return };
        // The user said something instead of answering, and did not stop the task since.
        let stop = life.state.turns.last_exit.as_ref().filter(|last| is_users_stop(&last.exit));
        let insists = self.blocking_ask(task).is_some_and(|ask| {
            let mut words = life.state.messages.iter().filter(|message| message.from.is_of_user());
            words.any(|message| message.id.ulid() > ask.ulid() && stop.is_none_or(|stop| stop.precedes(message)))
        });
        self.wake(now, task, if insists { Place::First } else { Place::Last });
    }
}

impl Life {
    /// Tells whether something is under way that a run must not come in between of.
    pub(super) fn is_held(&self) -> bool {
        self.is_occupied() || self.holds.has(Hold::Merge)
    }

    /// The same, but for merges: several may come in one after the other.
    pub(super) fn is_occupied(&self) -> bool {
        self.slot != Slot::Free || self.holds.has(Hold::Change) || self.holds.has(Hold::Withdrawal)
    }

    /// Returns what the person said about the setup hook, if nothing has been done since.
    fn hook(&self) -> Hook {
        let mut answers = self.state.decisions.iter().filter(|decision| decision.ask.kind() == AskKind::SetupHook);
        answers.next_back().map(super::asking::hook).unwrap_or_default()
    }
}

fn is_users_stop(exit: &Exit) -> bool {
    *exit == Exit::Interrupted(InterruptReason::Stopped)
}

/// Returns what takes back everything that waits for the person in a session.
pub(super) fn withdraw_asks(life: &Life, reason: &str) -> Vec<Body> {
    life.state.asks.iter().map(|ask| AskWithdrawn { id: ask.id, reason: reason.to_owned() }.into()).collect()
}

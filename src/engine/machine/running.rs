//! Runs: who gets one, when, and what their end means. One per task, and no more at work at once than allowed.

use std::time::Duration;

use crate::agent::driver::Ending;
use crate::agent::resume;
use crate::base::{MicroUsd, TaskId, Timestamp};
use crate::engine::machine::saving::Then;
use crate::engine::machine::{
    AccountOrder, Effect, LaunchFailure, LaunchOrder, Life, Machine, Pending, Place as Spot, Timer,
};
use crate::engine::update::{Level, Notice};
use crate::git::branch;
use crate::model::AskKind;
use crate::model::event::{AskWithdrawn, Body, BudgetScope, Exit, InterruptReason, Verdict};
use crate::model::live::Activity;
use crate::model::message::Source;
use crate::model::task::{Status, TaskNode};

/// How long to wait before something that the disk refused is tried again, and how long at most.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A slot that a task has taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Run {
    /// Decided; the tree is being saved, the worktree made ready.
    Launching,
    Alive {
        /// It waits for a process of its own or for the person.
        asleep: bool,
    },
}

impl Run {
    pub(super) fn is_asleep(&self) -> bool {
        matches!(self, Self::Alive { asleep: true })
    }
}

/// Where a task stands among those that wait for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The person waits for it.
    First,
    Last,
}

impl Machine {
    /// Starts a run for a task that has something to do, as soon as there is a slot.
    pub(super) fn wake(&mut self, now: Timestamp, task: TaskId, line: Place) {
        if self.quitting || self.limits.hold || self.tree.get(task).is_none() || !self.has_work(task) {
            return;
        }
        if self.lives.get(&task).is_some_and(|life| life.run.is_some() || life.edited) || self.is_completing(task) {
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
        self.lives.get(&task).is_some_and(|life| resume::of(&life.state).owes_work(&life.state))
    }

    /// Returns an open Ask without whose answer the task cannot be launched.
    fn blocking_ask(&self, task: TaskId) -> Option<crate::base::AskId> {
        let asks = self.lives.get(&task)?.state.asks.iter();
        asks.filter(|ask| matches!(ask.kind, AskKind::LaunchFailed | AskKind::SetupHook)).map(|ask| ask.id).next()
    }

    /// Gives free slots to those who wait.
    pub(super) fn admit(&mut self, now: Timestamp) {
        while !self.queue.is_empty() && self.at_work() < self.limits.max_running.max(1) as usize {
            let task = self.queue.remove(0);
            self.changed.extend(&self.queue);
            self.begin(now, task);
        }
        self.changed.extend(&self.queue);
    }

    fn at_work(&self) -> usize {
        self.lives.values().filter(|life| life.run.as_ref().is_some_and(|run| !run.is_asleep())).count()
    }

    /// Takes the slot, says so in the tree, and launches when the tree is saved: one step, so nobody comes in between.
    fn begin(&mut self, now: Timestamp, task: TaskId) {
        let Some(node) = self.tree.get(task) else { return };
        let spot = (task != self.tree.root_id() && node.worktree.is_none()).then(|| self.new_spot(node));
        let starts = node.status != Status::InProgress;
        let life = self.life(task);
        life.run = Some(Run::Launching);
        life.activity = Activity::Idle;
        life.since = Some(now);
        if spot.is_none() && !starts {
            return self.launch(task);
        }
        let changed = self.tree.edit(task, |node| {
            node.status = Status::InProgress;
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

    pub(super) fn launch(&mut self, task: TaskId) {
        let Some(node) = self.tree.get(task).cloned() else { return };
        let order = LaunchOrder {
            above: node.parent.and_then(|above| Some((above, self.tree.get(above)?.title.clone()))),
            place: self.spot(&node),
            may_delegate: self.tree.depth(task) < self.limits.max_depth as usize,
            accounts: self.accounts(&node),
            without_setup: self.lives.get(&task).is_some_and(Life::goes_without_setup),
            node,
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

    /// Returns every limit that a task spends from: its own, those above it, the project's.
    fn accounts(&self, node: &TaskNode) -> Vec<AccountOrder> {
        let mut accounts = Vec::new();
        for limited in std::iter::once(node).chain(self.tree.ancestors(node.id)) {
            let Some(limit) = limited.budget else { continue };
            let scope = if limited.id == node.id { BudgetScope::Task } else { BudgetScope::Subtree };
            accounts.push(AccountOrder { owner: Some(limited.id), scope, limit, spent: self.spent_below(limited.id) });
        }
        if let Some(limit) = self.limits.project_budget {
            let spent = self.spent_below(self.tree.root_id()).saturating_sub(self.spent_before);
            accounts.push(AccountOrder { owner: None, scope: BudgetScope::Project, limit, spent });
        }
        accounts
    }

    pub(super) fn spent_below(&self, task: TaskId) -> MicroUsd {
        let costs = self.tree.walk(task).filter_map(|node| self.lives.get(&node.id));
        costs.map(|life| life.state.usage.cost()).sum()
    }

    pub(super) fn launching(&mut self, task: TaskId, step: String) {
        self.life(task).step = Some(step);
    }

    pub(super) fn launched(&mut self, task: TaskId, model: String) {
        let life = self.life(task);
        life.step = None;
        life.model = Some(model);
        life.refusals = 0;
        if life.run == Some(Run::Launching) {
            life.run = Some(Run::Alive { asleep: false });
        }
    }

    pub(super) fn launch_failed(&mut self, now: Timestamp, task: TaskId, failure: LaunchFailure) {
        let life = self.life(task);
        life.run = None;
        life.step = None;
        life.activity = Activity::Stopped;
        match failure {
            LaunchFailure::Cancelled => {}
            LaunchFailure::SetupHook { exit, output } => self.ask_about_setup(task, &exit, &output),
            LaunchFailure::Refused(reason) => {
                self.ask_about_launch(task, &reason);
                // Nobody waits for a dead task.
                self.fail(now, task, &format!("It could not be started: {reason}"));
            }
        }
        self.admit(now);
    }

    pub(super) fn run_over(&mut self, now: Timestamp, task: TaskId, ending: Result<Ending, String>) {
        let life = self.life(task);
        if life.run.take().is_none() {
            return;
        }
        life.retry = None;
        life.since = Some(now);
        life.activity = match &ending {
            Ok(Ending::Resting) if !life.state.asks.is_empty() => Activity::Waiting,
            Ok(Ending::Resting) => Activity::Idle,
            Ok(Ending::Exited(_)) | Err(_) => Activity::Stopped,
        };
        match ending {
            Ok(Ending::Resting) => {
                self.reconsider(now, task);
                self.tell_of_rest(now, task);
            }
            // What follows from these, follows from the event.
            Ok(Ending::Exited(Exit::DonePassed | Exit::DoneFailed)) => {}
            Ok(Ending::Exited(Exit::Interrupted(reason))) => self.interrupted(now, task, &reason),
            Err(reason) => self.disk_refused(now, task, &reason),
        }
        self.admit(now);
    }

    fn interrupted(&mut self, now: Timestamp, task: TaskId, reason: &InterruptReason) {
        match reason {
            InterruptReason::Stopped | InterruptReason::Quit | InterruptReason::TaskGone => {}
            InterruptReason::Storage(reason) => self.disk_refused(now, task, reason),
            InterruptReason::Internal(reason) | InterruptReason::Provider(reason) => {
                self.ask_about_launch(task, reason);
                self.fail(now, task, &format!("Its run ended: {reason}"));
            }
            InterruptReason::Budget => self.fail(now, task, "Its budget is spent."),
            InterruptReason::TurnLimit => self.fail(now, task, "It has had as many turns as it may have."),
        }
    }

    fn disk_refused(&mut self, now: Timestamp, task: TaskId, reason: &str) {
        let text = format!("the run ended because its session could not be written: {reason}");
        self.out.push(Effect::Notify(Notice { level: Level::Error, text, task: Some(task) }));
        self.try_again_later(now, task);
    }

    /// Tries again when the cause may be gone.
    pub(super) fn try_again_later(&mut self, now: Timestamp, task: TaskId) {
        let life = self.life(task);
        let pause = FIRST_PAUSE.saturating_mul(1 << life.refusals.min(5)).min(LONGEST_PAUSE);
        life.refusals += 1;
        self.out.push(Effect::Wake { timer: Timer::TryAgain { task }, at: now.later(pause) });
    }

    pub(super) fn rang(&mut self, now: Timestamp, timer: Timer) {
        match timer {
            Timer::AskDeadline { task, ask } => self.deadline(now, task, ask),
            Timer::TryAgain { task } => {
                self.complete_if_done(now, task);
                self.reconsider(now, task);
            }
        }
    }

    /// Looks whether a task without a run has something to do.
    pub(super) fn reconsider(&mut self, now: Timestamp, task: TaskId) {
        let Some(status) = self.status(task) else { return };
        let spoken_to =
            self.lives.get(&task).is_some_and(|life| life.state.messages.iter().any(|message| message.from.wakes()));
        if status == Status::InProgress || spoken_to {
            self.wake(now, task, Place::Last);
        }
    }

    /// An agent that sleeps without having said that it is done, and waits for nobody, would never be looked at again:
    /// the task above is told.
    fn tell_of_rest(&mut self, now: Timestamp, task: TaskId) {
        let Some(node) = self.tree.get(task) else { return };
        let Some(above) = node.parent.filter(|_| node.status == Status::InProgress) else { return };
        let Some(life) = self.lives.get(&task) else { return };
        let waits = life.run.is_some()
            || self.queue.contains(&task)
            || life.asked_above
            || !life.state.asks.is_empty()
            || self.works_below(task);
        if waits || life.state.turns.exit().is_some() {
            return;
        }
        let body = format!(
            "The sub task \"{}\" ({}) ended its turn without calling done and sleeps. Nothing below it is at work. Tell it \
             what to do next, or close it.",
            node.title, node.id
        );
        let message = self.message(now, Source::Notice, body);
        self.deliver(above, message, super::delivering::Plan::default(), Pending::Nothing);
    }

    /// Tells whether anything below a task is at work, or will be.
    pub(super) fn works_below(&self, task: TaskId) -> bool {
        self.tree.walk(task).skip(1).any(|node| node.status == Status::InProgress)
    }

    /// A run ended without a verdict: the task above is told that it failed.
    fn fail(&mut self, now: Timestamp, task: TaskId, why: &str) {
        self.announce(now, task, Verdict::Failed, why.to_owned(), crate::base::MessageId::fresh(&self.ids));
    }
}

impl Life {
    /// Tells whether the person said to go on without the setup hook, and nothing has been done since.
    fn goes_without_setup(&self) -> bool {
        let answers = self.state.decisions.iter().filter(|decision| decision.ask.kind == AskKind::SetupHook);
        answers.map(|decision| &decision.answer).any(super::asking::is_without_setup)
    }
}

/// Returns what takes back everything that waits for the person in a session.
pub(super) fn withdraw_asks(life: &Life, reason: &str) -> Vec<Body> {
    life.state.asks.iter().map(|ask| AskWithdrawn { id: ask.id, reason: reason.to_owned() }.into()).collect()
}

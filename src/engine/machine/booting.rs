//! The start: every task is judged on its own by what its session says. What sleeps goes on sleeping.

use crate::base::{TaskId, Timestamp};
use crate::engine::command::Actor;
use crate::engine::machine::completing::Sent;
use crate::engine::machine::running::Place;
use crate::engine::machine::stopping::was_stopped;
use crate::engine::machine::{Life, Machine, Origin};
use crate::model::fold::SessionState;
use crate::model::live::Activity;
use crate::model::task::{EditedBy, Status};
use crate::model::{Ask, AskKind};

impl Machine {
    fn could_not_start(&self, task: TaskId) -> bool {
        let asks = self.lives.get(&task).map(|life| life.state.asks.iter());
        asks.is_some_and(|mut asks| asks.any(|ask| ask.kind() == AskKind::LaunchFailed))
    }

    /// Sends the first message to a task that was made to begin at once, if its creation was cut short: the tree has it,
    /// its session has nothing.
    pub(super) fn finish_start(&mut self, now: Timestamp, task: TaskId) {
        let is_untouched = |state: &SessionState| !state.is_ended() && !state.replies.has_heard();
        let Some(node) = self.tree.get(task).filter(|node| node.starting && node.status == Status::Pending) else {
            return;
        };
        if self.limits.hold || node.half_made || !self.state(task).is_none_or(is_untouched) {
            return;
        }
        let actor = match (node.edited_by, node.parent) {
            (EditedBy::Agent, Some(above)) => Actor::Agent(above),
            (EditedBy::Agent | EditedBy::User, _) => Actor::User,
        };
        self.begin_work(now, Origin { actor, command: None }, task);
    }

    pub(super) fn boot(&mut self, now: Timestamp, sessions: Vec<(TaskId, SessionState)>) {
        for (task, state) in sessions {
            let activity = if !state.asks.is_empty() {
                Activity::Waiting
            } else if was_stopped(&state) {
                Activity::Stopped
            } else {
                Activity::Idle
            };
            self.lives.insert(task, Life { state, activity, ..Life::default() });
        }
        self.find_queued_merges();
        self.changed = self.tree.all().map(|node| node.id).collect();
        let tasks: Vec<TaskId> = self.tree.all().map(|node| node.id).collect();
        for &task in &tasks {
            let asks: Vec<Ask> =
                self.lives.get(&task).map(|life| life.state.asks.iter().cloned().collect()).unwrap_or_default();
            asks.iter().for_each(|ask| self.asked(task, ask));
            self.complete(now, task, Sent::Perhaps);
            self.tell_of_failure(now, task);
        }
        for &task in &tasks {
            self.undo_half_made(now, task);
            self.finish_moving(task);
        }
        for task in tasks {
            self.reconsider(now, task);
            // A crash may have come between a summary and the tree that says that it was only that.
            self.finish_again(now, task);
            self.finish_start(now, task);
        }
        self.finish_rounds(now);
        self.ask_about_servers();
        // What kept the root from starting, a missing key above all, may be gone; nobody above it is told twice.
        let root = self.tree.root_id();
        if self.could_not_start(root) {
            self.wake(now, root, Place::First);
        }
    }
}

//! Startup: decides for each task by its session what to resume. Idle tasks stay idle.

use crate::base::{TaskId, Timestamp};
use crate::engine::command::Actor;
use crate::engine::machine::completion::PriorSend;
use crate::engine::machine::scheduler::QueuePosition;
use crate::engine::machine::stop::was_stopped;
use crate::engine::machine::{Machine, Origin, TaskRuntime};
use crate::model::fold::SessionState;
use crate::model::live::Activity;
use crate::model::task::{EditedBy, Status};
use crate::model::{Ask, AskKind};

impl Machine {
    fn has_failed_launch(&self, task: TaskId) -> bool {
        let asks = self.runtimes.get(&task).map(|runtime| runtime.state.asks.iter());
        asks.is_some_and(|mut asks| asks.any(|ask| ask.kind() == AskKind::LaunchFailed))
    }

    /// Sends the first message of a task that was created to start at once, if a crash came before it.
    pub(super) fn finish_start(&mut self, now: Timestamp, task: TaskId) {
        let is_untouched = |state: &SessionState| !state.is_ended() && !state.replies.has_received();
        let Some(node) = self.tree.get(task).filter(|node| node.starting && node.status == Status::Pending) else {
            return;
        };
        if self.limits.hold || node.unfinished_fork || !self.state(task).is_none_or(is_untouched) {
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
            self.runtimes.insert(task, TaskRuntime { state, activity, ..TaskRuntime::default() });
        }
        self.follow_handovers(now);
        self.find_queued_merges();
        // Judges the waiting calls, too: a rule may have been saved just before the end.
        self.policies_changed();
        self.publish_policies();
        self.changed = self.tree.all().map(|node| node.id).collect();
        let tasks: Vec<TaskId> = self.tree.all().map(|node| node.id).collect();
        for &task in &tasks {
            let asks: Vec<Ask> = self
                .runtimes
                .get(&task)
                .map(|runtime| runtime.state.asks.iter().cloned().collect())
                .unwrap_or_default();
            asks.iter().for_each(|ask| self.on_ask_raised(task, ask));
            self.complete(now, task, PriorSend::Perhaps);
            self.report_launch_failure(now, task);
        }
        for &task in &tasks {
            self.undo_unfinished_fork(now, task);
            self.resume_interrupted_rewind(task);
        }
        for task in tasks {
            self.reconsider(now, task);
            // A crash may have come between a compaction and the tree with the restored status.
            self.restore_finished_status(now, task);
            self.finish_start(now, task);
        }
        self.resume_recurrences(now);
        self.ask_about_servers();
        self.on_rules_timer(now);
        // The cause of a failed root launch, such as a missing key, may be gone. The root has no parent that would be
        // notified twice.
        let root = self.tree.root_id();
        if self.has_failed_launch(root) {
            self.wake(now, root, QueuePosition::First);
        }
    }
}

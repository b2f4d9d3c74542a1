//! The queue of merges that wait because an agent, the host, works where their target is checked out. The sessions of
//! the tasks to be merged hold the queue: [`Work::MergeQueued`] until [`Work::MergeDequeued`] or [`Work::Merged`], so
//! it survives a restart.
//!
//! When the host's run is over, its merges run one by one, oldest first, before its next run. Each is tried once; a
//! failed one leaves the queue with a notice. A task whose agent starts to work leaves the queue, too: its branch will
//! no longer be the one that the user decided to merge.

use super::merging::PendingMerge;
use crate::base::{Fault, TaskId, Timestamp};
use crate::engine::command::{CommandId, Outcome};
use crate::engine::machine::slot::Hold;
use crate::engine::machine::{AppendContinuation, Effect, Job, Machine, TaskRuntime};
use crate::engine::review::MergeTarget;
use crate::engine::update::{Level, Notice};
use crate::engine::work_queries::TaskLocation;
use crate::model::event::{Body, Event};
use crate::model::work::{DequeueReason, QueuedMerge, Work};

impl Machine {
    /// Records a merge that waits for `host`, with the answer to the Ask that requested it.
    pub(super) fn queue_merge(&mut self, now: Timestamp, merge: PendingMerge, host: TaskId) {
        let PendingMerge { command, task, target, how, conflicts, ask, .. } = merge;
        // Hold the task until the record is on disk.
        self.runtime(task).holds.add(Hold::Change);
        let host_title = self.tree.get(host).map(|node| node.title.clone()).unwrap_or_default();
        let outcome = Outcome::MergeQueued { task, target: target.clone(), host, host_title };
        let bodies = vec![Work::MergeQueued { queued: QueuedMerge { target, host, how, conflicts, at: now } }.into()];
        match ask {
            Some(ask) => self.approve_with(now, command, task, ask, bodies, outcome),
            None => self.append_work(task, bodies, command, outcome),
        }
    }

    pub(in crate::engine::machine) fn cancel_merge(&mut self, command: CommandId, task: TaskId) -> Result<(), Fault> {
        self.node(task)?;
        let Some(target) = self.queued_merge(task).map(|queued| queued.target.clone()) else {
            return Err(Fault::user(format!("{} has no queued merge", self.task_label(task))));
        };
        if self.runtimes.get(&task).is_some_and(|runtime| runtime.holds.has(Hold::Change)) {
            return Err(Fault::user(format!(
                "cannot cancel the merge of {} now: it is being merged or changed",
                self.task_label(task)
            ))
            .hint("once it is merged, you can undo the merge"));
        }
        // Hold the task, so that the merge does not start while its cancellation is written.
        self.runtime(task).holds.add(Hold::Change);
        let bodies = vec![Work::MergeDequeued { reason: DequeueReason::Cancelled }.into()];
        self.append_work(task, bodies, Some(command), Outcome::MergeCancelled { target });
        Ok(())
    }

    fn queued_merge(&self, task: TaskId) -> Option<&QueuedMerge> {
        self.state(task)?.work.queued.as_ref()
    }

    /// Loads the queue from the sessions.
    pub(in crate::engine::machine) fn find_queued_merges(&mut self) {
        let is_queued = |(task, runtime): (&TaskId, &TaskRuntime)| runtime.state.work.queued.is_some().then_some(*task);
        self.merge_queue = self.runtimes.iter().filter_map(is_queued).collect();
    }

    /// Updates the queue after an event.
    pub(in crate::engine::machine) fn update_merge_queue(&mut self, task: TaskId, event: &Event) {
        if matches!(event.body, Body::Work(Work::MergeQueued { .. })) {
            self.merge_queue.insert(task);
        } else if self.queued_merge(task).is_none() {
            self.merge_queue.remove(&task);
        }
    }

    /// Starts every queued merge whose host and task are idle.
    pub(in crate::engine::machine) fn start_queued_merges(&mut self, now: Timestamp) {
        while let Some((task, host)) = self.next_queued_merge(None) {
            self.start_queued_merge(now, task, host);
        }
    }

    /// Starts the next queued merge that waits for `host`. Returns false if there is none.
    pub(in crate::engine::machine) fn start_queued_merge_into(&mut self, now: Timestamp, host: TaskId) -> bool {
        while let Some((task, host)) = self.next_queued_merge(Some(host)) {
            if self.start_queued_merge(now, task, host) {
                return true;
            }
        }
        false
    }

    /// Returns the oldest queued merge that can be started, and its host.
    fn next_queued_merge(&self, wanted: Option<TaskId>) -> Option<(TaskId, TaskId)> {
        if self.leaving.is_some() || self.limits.hold {
            return None;
        }
        let due = self.merge_queue.iter().filter_map(|task| {
            let queued = self.queued_merge(*task)?;
            let host = self.host_of(*task, &queued.target);
            let is_due = wanted.is_none_or(|wanted| wanted == host) && self.can_merge_into(*task, host);
            is_due.then_some((queued.at, *task, host))
        });
        due.min().map(|(_, task, host)| (task, host))
    }

    fn can_merge_into(&self, task: TaskId, host: TaskId) -> bool {
        let is_merging = self.runtimes.get(&host).is_some_and(|runtime| runtime.holds.has(Hold::Merge));
        // A completion under way is no obstacle: it does not touch files.
        let is_free = !self.queue.contains(&task) && !self.runtimes.get(&task).is_some_and(TaskRuntime::is_held);
        // A task that is about to run is no longer what the user decided to merge.
        !is_merging && !self.is_working(host) && is_free && !self.is_due(task)
    }

    /// Starts a queued merge and holds its host until it is over. Returns false if the merge is no longer possible.
    fn start_queued_merge(&mut self, now: Timestamp, task: TaskId, host: TaskId) -> bool {
        self.merge_queue.remove(&task);
        let Some(QueuedMerge { target, how, conflicts, .. }) = self.queued_merge(task).cloned() else { return false };
        let (command, ask) = (None, None);
        let merge = PendingMerge { command, task, target: target.clone(), how, conflicts, ask, host: Some(host) };
        match self.queued_location(task, &target) {
            Ok(location) => {
                self.hold_host(host);
                self.start_job(task, Job::PrepareMerge { location, target, conflicts, then: merge });
                true
            }
            Err(fault) => {
                self.on_merge_failed(now, &merge, fault);
                false
            }
        }
    }

    /// Returns the location of a task, if `target` is still one of its merge targets.
    fn queued_location(&self, task: TaskId, target: &str) -> Result<TaskLocation, Fault> {
        let location = self.location_of(task)?;
        location.own_branch()?;
        if ![MergeTarget::Parent, MergeTarget::Base].into_iter().any(|goal| location.target(goal) == target) {
            return Err(Fault::user(format!(
                "nothing was merged: {target} is no longer a branch that the task merges into"
            ))
            .hint("merge it again from its new place"));
        }
        Ok(location)
    }

    /// Returns the event that drops a task's queued merge, if it has one, and notifies the user.
    pub(in crate::engine::machine) fn take_queued_merge(
        &mut self,
        task: TaskId,
        reason: DequeueReason,
    ) -> Option<Body> {
        let target = self.queued_merge(task)?.target.clone();
        self.merge_queue.remove(&task);
        let notice = match &reason {
            // The reply or a more detailed notice says this.
            DequeueReason::Cancelled | DequeueReason::Failed(_) => None,
            DequeueReason::TaskWorks => {
                Some((Level::Warning, "its agent is at work again. Merge it when it is done.".to_owned()))
            }
            DequeueReason::TaskChanged => Some((Level::Info, "the task was closed, reset or rewound".to_owned())),
            DequeueReason::NothingToMerge => Some((Level::Info, format!("{target} already has all of it"))),
            DequeueReason::AgentAsked => {
                let why = format!(
                    "it conflicts with {target}. Its agent was asked to resolve the conflicts. Merge it when it is done."
                );
                Some((Level::Warning, why))
            }
        };
        // No notice about a deleted task.
        if let Some((level, why)) = notice.filter(|_| self.tree.get(task).is_some()) {
            let text = format!("the queued merge of {} was dropped: {why}", self.task_label(task));
            self.out.push(Effect::Notify(Notice { level, text, task: Some(task) }));
        }
        Some(Work::MergeDequeued { reason }.into())
    }

    /// Drops a task's queued merge, if it has one.
    pub(in crate::engine::machine) fn drop_queued_merge(&mut self, task: TaskId, reason: DequeueReason) {
        if let Some(dequeued) = self.take_queued_merge(task, reason) {
            self.append(task, vec![dequeued], AppendContinuation::Nothing);
        }
    }

    /// Notifies the user of a completed queued merge.
    pub(super) fn notify_merged(&mut self, task: TaskId, outcome: &Outcome) {
        if let Outcome::Merged { target, .. } = outcome {
            let text = format!("merged {} into {target} (queued merge)", self.task_label(task));
            self.out.push(Effect::Notify(Notice { level: Level::Info, text, task: Some(task) }));
        }
    }

    pub(super) fn notify_merge_failed(&mut self, task: TaskId, fault: &Fault) {
        let mut fault = fault.clone();
        if fault.hints.is_empty() {
            fault = fault.hint("fix that and merge again");
        }
        let text = format!("the queued merge of {} was dropped: {fault}", self.task_label(task));
        self.out.push(Effect::Notify(Notice { level: Level::Warning, text, task: Some(task) }));
    }

    /// The merge is done but could not be recorded. The next start records it.
    pub(super) fn notify_merge_unrecorded(&mut self, task: TaskId, fault: &Fault) {
        let text = format!("cannot save the result of the queued merge of {}: {fault}", self.task_label(task));
        self.out.push(Effect::Notify(Notice { level: Level::Error, text, task: Some(task) }));
    }
}

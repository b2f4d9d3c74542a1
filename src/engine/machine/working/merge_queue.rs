//! Merges that wait because an agent, the host, works where their target is checked out. The queue is in the sessions of the
//! tasks to be merged: [`Work::MergeQueued`] until [`Work::MergeDequeued`] or [`Work::Landed`], so a restart knows it.
//!
//! When the host's run is over, its merges are made one after another, oldest first, before its next run begins. Each is tried
//! once: what fails leaves the queue with a notice. A task whose agent begins to work leaves it, too, because its branch is
//! about to be something else than what the user decided to merge.

use super::merging::Merging;
use crate::base::{Fault, TaskId, Timestamp};
use crate::engine::command::{CommandId, Outcome};
use crate::engine::machine::slot::Hold;
use crate::engine::machine::{Effect, Job, Life, Machine, Pending};
use crate::engine::reading::Spot;
use crate::engine::review::Goal;
use crate::engine::update::{Level, Notice};
use crate::model::event::{Body, Event};
use crate::model::work::{DequeueReason, QueuedMerge, Work};

impl Machine {
    /// Says in the session that a merge waits for `host`, with the answer to the question that asked for it.
    pub(super) fn queue_merge(&mut self, now: Timestamp, merging: Merging, host: TaskId) {
        let Merging { command, task, target, how, conflicts, ask, .. } = merging;
        // Nothing else is done with the task before its session says so.
        self.life(task).holds.add(Hold::Change);
        let host_title = self.tree.get(host).map(|node| node.title.clone()).unwrap_or_default();
        let outcome = Outcome::MergeQueued { task, target: target.clone(), host, host_title };
        let bodies = vec![Work::MergeQueued { queued: QueuedMerge { target, host, how, conflicts, at: now } }.into()];
        match ask {
            Some(ask) => self.approve_with(now, command, task, ask, bodies, outcome),
            None => self.keep_work(task, bodies, command, outcome),
        }
    }

    pub(in crate::engine::machine) fn cancel_merge(&mut self, command: CommandId, task: TaskId) -> Result<(), Fault> {
        self.node(task)?;
        let Some(target) = self.queued_merge(task).map(|queued| queued.target.clone()) else {
            return Err(Fault::user(format!("no merge of {} is queued", self.named(task))));
        };
        if self.lives.get(&task).is_some_and(|life| life.holds.has(Hold::Change)) {
            return Err(Fault::user(format!("{} is being merged or changed at this moment", self.named(task)))
                .hint("once it is merged, that can be taken back"));
        }
        // It does not start while the disk is being told that it will not.
        self.life(task).holds.add(Hold::Change);
        let bodies = vec![Work::MergeDequeued { reason: DequeueReason::Cancelled }.into()];
        self.keep_work(task, bodies, Some(command), Outcome::MergeCancelled { target });
        Ok(())
    }

    fn queued_merge(&self, task: TaskId) -> Option<&QueuedMerge> {
        self.state(task)?.work.queued.as_ref()
    }

    /// Finds the merges that were queued before the start.
    pub(in crate::engine::machine) fn find_queued_merges(&mut self) {
        let is_queued = |(task, life): (&TaskId, &Life)| life.state.work.queued.is_some().then_some(*task);
        self.merge_queue = self.lives.iter().filter_map(is_queued).collect();
    }

    /// Takes note of what an event means for the queue.
    pub(in crate::engine::machine) fn note_queued_merge(&mut self, task: TaskId, event: &Event) {
        if matches!(event.body, Body::Work(Work::MergeQueued { .. })) {
            self.merge_queue.insert(task);
        } else if self.queued_merge(task).is_none() {
            self.merge_queue.remove(&task);
        }
    }

    /// Starts every queued merge whose host and whose task rest.
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
        if self.quitting || self.limits.hold {
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
        let receives = self.lives.get(&host).is_some_and(|life| life.holds.has(Hold::Merge));
        // That a task is still being reported as done is no obstacle: nobody touches its files for that.
        let is_free = !self.queue.contains(&task) && !self.lives.get(&task).is_some_and(Life::is_held);
        // A task that is about to work is no longer what the user decided to merge.
        !receives && !self.is_working(host) && is_free && !self.owes_work(task)
    }

    /// Starts a queued merge and holds its host until it is over. Returns false if it cannot be made any more.
    fn start_queued_merge(&mut self, now: Timestamp, task: TaskId, host: TaskId) -> bool {
        self.merge_queue.remove(&task);
        let Some(QueuedMerge { target, how, conflicts, .. }) = self.queued_merge(task).cloned() else { return false };
        let (command, ask) = (None, None);
        let merging = Merging { command, task, target: target.clone(), how, conflicts, ask, host: Some(host) };
        match self.spot_for(task, &target) {
            Ok(spot) => {
                self.visit(host);
                self.start_job(task, Job::Prepare { spot, target, conflicts, then: merging });
                true
            }
            Err(fault) => {
                self.merge_failed(now, &merging, fault);
                false
            }
        }
    }

    /// Returns where a task works, if its work can still go into `target`.
    fn spot_for(&self, task: TaskId, target: &str) -> Result<Spot, Fault> {
        let spot = self.spot_of(task)?;
        spot.own_branch()?;
        if ![Goal::Above, Goal::Base].into_iter().any(|goal| spot.target(goal) == target) {
            return Err(Fault::user(format!("nothing was merged: the task is no longer below the one of {target}"))
                .hint("merge it again, from where it is now"));
        }
        Ok(spot)
    }

    /// Returns the event that takes a task's merge out of the queue, if it has one, and tells the user why.
    pub(in crate::engine::machine) fn take_queued_merge(
        &mut self,
        task: TaskId,
        reason: DequeueReason,
    ) -> Option<Body> {
        let target = self.queued_merge(task)?.target.clone();
        self.merge_queue.remove(&task);
        let said = match &reason {
            // Told by the answer to a command, or in more words by whoever found out.
            DequeueReason::Cancelled | DequeueReason::Failed(_) => None,
            DequeueReason::TaskWorks => {
                Some((Level::Warning, "its agent works again. Merge it when it is done.".to_owned()))
            }
            DequeueReason::TaskChanged => Some((Level::Info, "the task was closed, reset or rewound".to_owned())),
            DequeueReason::NothingToMerge => Some((Level::Info, format!("{target} has everything already"))),
            DequeueReason::AgentAsked => {
                let why = format!(
                    "it conflicts with {target}. Its agent was asked to resolve that: merge it when it is done."
                );
                Some((Level::Warning, why))
            }
        };
        // Of a task that is gone there is nothing to say.
        if let Some((level, why)) = said.filter(|_| self.tree.get(task).is_some()) {
            let text = format!("the queued merge of {} was dropped: {why}", self.named(task));
            self.out.push(Effect::Notify(Notice { level, text, task: Some(task) }));
        }
        Some(Work::MergeDequeued { reason }.into())
    }

    /// Takes a task's merge out of the queue, if it has one.
    pub(in crate::engine::machine) fn drop_queued_merge(&mut self, task: TaskId, reason: DequeueReason) {
        if let Some(dequeued) = self.take_queued_merge(task, reason) {
            self.append(task, vec![dequeued], Pending::Nothing);
        }
    }

    /// Tells the user what came of a queued merge.
    pub(super) fn say_merged(&mut self, task: TaskId, outcome: &Outcome) {
        if let Outcome::Merged { target, .. } = outcome {
            let text = format!("{} was merged into {target}, as queued", self.named(task));
            self.out.push(Effect::Notify(Notice { level: Level::Info, text, task: Some(task) }));
        }
    }

    pub(super) fn say_merge_failed(&mut self, task: TaskId, fault: &Fault) {
        let mut fault = fault.clone();
        if fault.hints.is_empty() {
            fault = fault.hint("merge it again when that is settled");
        }
        let text = format!("the queued merge of {} was dropped: {fault}", self.named(task));
        self.out.push(Effect::Notify(Notice { level: Level::Warning, text, task: Some(task) }));
    }

    /// The merge is there, and the session could not be told: the next start tells it.
    pub(super) fn say_not_kept(&mut self, task: TaskId, fault: &Fault) {
        let text = format!("what became of the queued merge of {} could not be kept: {fault}", self.named(task));
        self.out.push(Effect::Notify(Notice { level: Level::Error, text, task: Some(task) }));
    }
}

//! Closing, resetting and deleting tasks. Their work is archived before the worktree is removed.

use super::deferring::DeferredChange;
use super::steps::{AfterAppend, AfterRemoval, Edit, RemovalContinuation};
use crate::base::{Fault, TaskId, Timestamp};
use crate::config::recurring::PlanChange;
use crate::engine::command::{Actor, ArchivedWork, Outcome};
use crate::engine::machine::scheduler::withdraw_asks;
use crate::engine::machine::slot::Hold;
use crate::engine::machine::tree_save::SaveContinuation;
use crate::engine::machine::{AppendContinuation, BranchFate, Effect, Machine, Origin, TaskRuntime};
use crate::engine::stall::TaskProgress;
use crate::engine::update::{Level, Notice};
use crate::model::event::{Body, HeadMoved, MessagesWithdrawn, MoveReason};
use crate::model::fold::SessionState;
use crate::model::message::TreeAction;
use crate::model::task::{Recurring, Status};
use crate::model::work::DequeueReason;

impl Machine {
    /// Refuses a change while an agent works in the subtree.
    fn check_subtree_idle(&self, actor: Actor, task: TaskId, verb: &str) -> Result<(), Fault> {
        let busy: Vec<String> = self
            .tree
            .walk(task)
            .filter(|node| self.is_busy(node.id))
            .map(|node| format!("\"{}\"", node.title))
            .collect();
        if busy.is_empty() {
            return Ok(());
        }
        let fault = Fault::user(format!("{} cannot be {verb}: {} at work", self.task_label(task), with_verb(&busy)));
        Err(actor.advise(fault, &["stop it first, or wait until it is idle"], "stop it first with stop_task"))
    }

    /// Returns true if a task in progress does nothing by itself, and nothing below it does.
    fn is_idle(&self, task: TaskId) -> bool {
        self.task_progress(task) == TaskProgress::Idle && !self.has_work_below(task)
    }

    pub(in crate::engine::machine) fn is_busy(&self, task: TaskId) -> bool {
        self.is_working(task) || self.runtimes.get(&task).is_some_and(TaskRuntime::is_held)
    }

    /// Returns true if a task has work under way, apart from merges into its checkout.
    pub(in crate::engine::machine) fn is_working(&self, task: TaskId) -> bool {
        let occupied = self.runtimes.get(&task).is_some_and(TaskRuntime::is_occupied);
        occupied || self.queue.contains(&task) || self.is_completing(task)
    }

    pub(in crate::engine::machine) fn task_label(&self, task: TaskId) -> String {
        self.tree.get(task).map_or_else(|| task.to_string(), |node| format!("\"{}\"", node.title))
    }

    pub(super) fn check_not_root(&self, task: TaskId, verb: &str) -> Result<(), Fault> {
        if task == self.tree.root_id() {
            return Err(Fault::user(format!("the root cannot be {verb}")));
        }
        Ok(())
    }

    pub(in crate::engine::machine) fn close(
        &mut self,
        now: Timestamp,
        origin: Origin,
        task: TaskId,
    ) -> Result<(), Fault> {
        self.node(task)?;
        self.check_not_root(task, "closed")?;
        if self.defer(origin, task, DeferredChange::Close) {
            return Ok(());
        }
        self.check_subtree_idle(origin.actor, task, "closed")?;
        let open: Vec<String> = self
            .tree
            .walk(task)
            .filter(|node| node.status == Status::InProgress && !self.is_stopped(node.id))
            .filter(|node| node.id != task || !self.is_idle(task))
            .map(|node| format!("\"{}\"", node.title))
            .collect();
        if !open.is_empty() {
            let fault =
                Fault::user(format!("{} cannot be closed: {} in progress", self.task_label(task), with_verb(&open)));
            let user = ["wait until it is done, or stop it first: `mxd stop TASK`"];
            return Err(origin.actor.advise(fault, &user, "wait until it is done, or stop it first with stop_task"));
        }
        if self.node(task)?.status == Status::Closed {
            return Err(Fault::user(format!("{} is already closed", self.task_label(task))));
        }
        // Closing a recurring task that resets is a reset.
        let (next, branch) = match self.node(task)?.recurring {
            Recurring::Reset => (AfterRemoval::Reset, BranchFate::Delete),
            Recurring::None | Recurring::Continue => (AfterRemoval::Close, BranchFate::Keep),
        };
        self.remove_worktree(now, Edit { origin, task }, next, task, branch);
        Ok(())
    }

    pub(in crate::engine::machine) fn delete(
        &mut self,
        now: Timestamp,
        origin: Origin,
        task: TaskId,
    ) -> Result<(), Fault> {
        self.node(task)?;
        self.check_not_root(task, "deleted")?;
        if self.defer(origin, task, DeferredChange::Delete) {
            return Ok(());
        }
        self.check_subtree_idle(origin.actor, task, "deleted")?;
        // Deepest first, so that the tree is valid at every step.
        let mut remaining: Vec<TaskId> = self.tree.walk(task).map(|node| node.id).collect();
        remaining.iter().for_each(|task| self.runtime(*task).holds.add(Hold::Change));
        let Some(deepest) = remaining.pop() else { return Ok(()) };
        self.remove_worktree(
            now,
            Edit { origin, task },
            AfterRemoval::Delete { remaining },
            deepest,
            BranchFate::Delete,
        );
        Ok(())
    }

    pub(in crate::engine::machine) fn reset(
        &mut self,
        now: Timestamp,
        origin: Origin,
        task: TaskId,
    ) -> Result<(), Fault> {
        self.node(task)?;
        if self.defer(origin, task, DeferredChange::Reset) {
            return Ok(());
        }
        if self.is_busy(task) {
            return Err(Fault::user(format!(
                "{} cannot be reset: another change to it is in progress",
                self.task_label(task)
            ))
            .hint("try again in a moment"));
        }
        self.remove_worktree(now, Edit { origin, task }, AfterRemoval::Reset, task, BranchFate::Delete);
        Ok(())
    }

    /// Removes the worktree of `whose`, then continues the change.
    fn remove_worktree(&mut self, now: Timestamp, edit: Edit, next: AfterRemoval, whose: TaskId, branch: BranchFate) {
        self.runtime(whose).holds.add(Hold::Change);
        let then = RemovalContinuation { edit, next };
        let place = self.tree.get(whose).and_then(|node| self.worktree_location(node));
        let Some(place) = place else { return self.on_worktree_removed(now, then, Ok(ArchivedWork::default())) };
        self.out.push(Effect::RemoveWorktree { task: whose, place, branch, then });
    }

    /// Removes an incomplete fork from the tree, with its worktree.
    pub(in crate::engine::machine) fn discard_task(&mut self, now: Timestamp, task: TaskId) {
        let origin = Origin::ENGINE;
        self.remove_worktree(now, Edit { origin, task }, AfterRemoval::Discard, task, BranchFate::Delete);
    }

    pub(super) fn on_task_discarded(&mut self, task: TaskId, stays: Option<Fault>) {
        if let Some(fault) = stays {
            // `mxd gc` reports the stray worktree.
            let text = format!(
                "cannot remove the worktree of {}, whose fork failed: {}",
                self.task_label(task),
                fault.message
            );
            self.out.push(Effect::Notify(Notice { level: Level::Warning, text, task: None }));
        }
        let above = self.tree.get(task).and_then(|node| node.parent);
        if self.tree.remove(task).is_ok() {
            self.removed.push(task);
            self.after_save(SaveContinuation::Removed(vec![task]));
            self.commit(std::iter::once(task).chain(above), SaveContinuation::Removed(Vec::new()));
        }
    }

    /// Drops the state of tasks that left the tree.
    pub(in crate::engine::machine) fn forget(&mut self, tasks: &[TaskId]) {
        // A task that was restored before the save stays.
        let gone: Vec<TaskId> = tasks.iter().copied().filter(|task| self.tree.get(*task).is_none()).collect();
        for task in &gone {
            let bodies = self.withdraw_all(*task, "the task was deleted");
            if !bodies.is_empty() {
                self.append(*task, bodies, AppendContinuation::Nothing);
            }
            self.runtimes.remove(task);
        }
    }

    pub(super) fn finish_close(&mut self, now: Timestamp, edit: Edit, set_aside: ArchivedWork) {
        let task = edit.task;
        let _ = self.tree.edit(task, |node| {
            node.status = if node.recurring == Recurring::None { Status::Closed } else { Status::Pending };
            node.last_recurring_run = None;
            node.worktree = None;
            node.edited_by = edit.origin.actor.editor();
            node.updated_at = now;
        });
        self.notify_of_action(now, edit, TreeAction::Closed);
        let recurs = self.status(task) == Some(Status::Pending);
        self.commit([task], SaveContinuation::Reply(edit.origin, Outcome::Closed { task, recurs, set_aside }));
        self.release_holds(now, &[task]);
    }

    /// Returns the events that withdraw everything that waits in a session: Asks, messages and a queued merge.
    fn withdraw_all(&mut self, task: TaskId, reason: &str) -> Vec<Body> {
        let queued = self.take_queued_merge(task, DequeueReason::TaskChanged);
        let Some(runtime) = self.runtimes.get(&task) else { return Vec::new() };
        let mut bodies = withdraw_asks(runtime, reason);
        bodies.extend(queued);
        let unread: Vec<_> = runtime.state.messages.iter().map(|message| message.id).collect();
        if !unread.is_empty() {
            bodies.push(MessagesWithdrawn { ids: unread }.into());
        }
        bodies
    }

    /// Withdraws what waits before the tree is saved, so that an earlier message does not start the closed task.
    pub(super) fn withdraw_before_close(&mut self, now: Timestamp, edit: Edit, set_aside: ArchivedWork) {
        let bodies = self.withdraw_all(edit.task, "the task was closed");
        if bodies.is_empty() {
            return self.finish_close(now, edit, set_aside);
        }
        self.append_edit(edit, bodies, AfterAppend::Close { set_aside });
    }

    pub(super) fn clear_conversation(&mut self, now: Timestamp, edit: Edit) {
        let task = edit.task;
        let mut bodies = self.withdraw_all(task, "the task was reset");
        if self.runtimes.get(&task).is_some_and(|runtime| runtime.state.turns != SessionState::default().turns) {
            let (to, from, reason) = (None, None, MoveReason::Rewind);
            bodies.push(Body::from(HeadMoved { to, from, reason, carry: Box::default() }));
        }
        if bodies.is_empty() {
            return self.finish_reset(now, edit);
        }
        self.append_edit(edit, bodies, AfterAppend::Reset);
    }

    /// Removes the worktree of the last recurring run, because a message starts a new one. Messages stay.
    pub(in crate::engine::machine) fn reset_for_recurrence(&mut self, now: Timestamp, task: TaskId) {
        let origin = Origin::ENGINE;
        self.remove_worktree(now, Edit { origin, task }, AfterRemoval::Recurrence, task, BranchFate::Delete);
    }

    /// Clears the conversation of the last recurring run.
    pub(super) fn clear_last_recurrence(&mut self, edit: Edit) {
        let task = edit.task;
        let mut bodies =
            self.runtimes.get(&task).map(|runtime| withdraw_asks(runtime, "a new run begins")).unwrap_or_default();
        bodies.extend(self.take_queued_merge(task, DequeueReason::TaskChanged));
        let (to, from, reason) = (None, None, MoveReason::Rewind);
        bodies.push(HeadMoved { to, from, reason, carry: Box::default() }.into());
        self.append_edit(edit, bodies, AfterAppend::Recurrence);
    }

    pub(super) fn on_recurrence_failed(&mut self, now: Timestamp, edit: Edit, fault: Fault) {
        // Not reconsidered before the user is asked: it would be retried forever.
        self.runtime(edit.task).holds.remove(Hold::Change);
        self.ask_to_retry(now, edit.task, "could not start a new run", fault);
    }

    pub(super) fn finish_recurrence_reset(&mut self, now: Timestamp, edit: Edit) {
        let task = edit.task;
        let _ = self.tree.edit(task, |node| {
            node.status = Status::Pending;
            node.worktree = None;
            node.branch = None;
            node.last_recurring_run = Some(now);
            node.updated_at = now;
        });
        self.commit([task], SaveContinuation::Removed(Vec::new()));
        self.release_holds(now, &[task]);
    }

    pub(super) fn finish_reset(&mut self, now: Timestamp, edit: Edit) {
        let task = edit.task;
        let is_recurring_run = edit.origin.actor == Actor::Engine;
        let _ = self.tree.edit(task, |node| {
            node.status = Status::Pending;
            node.worktree = None;
            node.branch = None;
            node.last_recurring_run = is_recurring_run.then_some(now);
            node.starting = false;
            node.edited_by = edit.origin.actor.editor();
            node.updated_at = now;
        });
        if is_recurring_run {
            self.begin_recurrence(task);
            return self.release_holds(now, &[task]);
        }
        self.notify_of_action(now, edit, TreeAction::Reset);
        let recurs = self.tree.get(task).is_some_and(|node| node.recurring != Recurring::None);
        self.commit([task], SaveContinuation::Reply(edit.origin, Outcome::Reset { recurs }));
        self.release_holds(now, &[task]);
    }

    pub(super) fn delete_next(&mut self, now: Timestamp, edit: Edit, mut remaining: Vec<TaskId>) {
        if let Some(next) = remaining.pop() {
            return self.remove_worktree(now, edit, AfterRemoval::Delete { remaining }, next, BranchFate::Delete);
        }
        let gone: Vec<TaskId> = self.tree.walk(edit.task).map(|node| node.id).collect();
        let recurring = self.tree.walk(edit.task).filter(|node| node.recurring != Recurring::None);
        let plans: Vec<TaskId> = recurring.map(|node| node.id).collect();
        self.notify_of_action(now, edit, TreeAction::Deleted);
        let above = self.tree.get(edit.task).and_then(|node| node.parent);
        let cost = self.spent_below(edit.task);
        if let Some(above) = above {
            // The parent exists.
            let _ = self.tree.edit(above, |node| node.deleted_cost += cost);
        }
        for task in gone.iter().rev() {
            // It has no sub tasks any more and is not the root.
            let _ = self.tree.remove(*task);
        }
        self.removed.extend(&gone);
        self.after_save(SaveContinuation::Removed(gone.clone()));
        let plans = (!plans.is_empty()).then_some(PlanChange::Remove(plans));
        let then = SaveContinuation::Reply(edit.origin, Outcome::Done).after_writing(plans);
        self.commit(gone.into_iter().chain(above), then);
    }
}

fn with_verb(names: &[String]) -> String {
    match names {
        [one] => format!("{one} is"),
        many => format!("{} are", many.join(", ")),
    }
}

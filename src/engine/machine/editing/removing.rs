//! Closing, resetting and deleting: worktrees go. What they held is archived first.

use super::deferring::Removal;
use super::steps::{AfterAppend, AfterClear, Clearing, Edit};
use crate::base::{Fault, TaskId, Timestamp};
use crate::config::recurring::PlanChange;
use crate::engine::command::{Actor, Outcome, SetAside};
use crate::engine::machine::running::withdraw_asks;
use crate::engine::machine::saving::Then;
use crate::engine::machine::slot::Hold;
use crate::engine::machine::{BranchFate, Effect, Life, Machine, Origin, Pending};
use crate::engine::update::{Level, Notice};
use crate::model::event::{Body, HeadMoved, MessagesWithdrawn, MoveReason};
use crate::model::fold::SessionState;
use crate::model::message::TreeAction;
use crate::model::task::{Recurring, Status};
use crate::model::work::DequeueReason;

impl Machine {
    /// Refuses what must not happen while an agent is at work in the subtree.
    fn nobody_at_work(&self, actor: Actor, task: TaskId, verb: &str) -> Result<(), Fault> {
        let busy: Vec<String> = self
            .tree
            .walk(task)
            .filter(|node| self.is_busy(node.id))
            .map(|node| format!("\"{}\"", node.title))
            .collect();
        if busy.is_empty() {
            return Ok(());
        }
        let fault = Fault::user(format!("{} cannot be {verb}: {} at work", self.named(task), are(&busy)));
        Err(actor.advise(fault, &["stop it first, or wait until it rests"], "stop it first with stop_task"))
    }

    pub(in crate::engine::machine) fn is_busy(&self, task: TaskId) -> bool {
        self.is_working(task) || self.lives.get(&task).is_some_and(Life::is_held)
    }

    /// Tells whether somebody works on a task, as opposed to files that only come in from another.
    pub(in crate::engine::machine) fn is_working(&self, task: TaskId) -> bool {
        let occupied = self.lives.get(&task).is_some_and(Life::is_occupied);
        occupied || self.queue.contains(&task) || self.is_completing(task)
    }

    pub(in crate::engine::machine) fn named(&self, task: TaskId) -> String {
        self.tree.get(task).map_or_else(|| task.to_string(), |node| format!("\"{}\"", node.title))
    }

    pub(super) fn not_the_root(&self, task: TaskId, verb: &str) -> Result<(), Fault> {
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
        self.not_the_root(task, "closed")?;
        if self.defer(origin, task, Removal::Close) {
            return Ok(());
        }
        self.nobody_at_work(origin.actor, task, "closed")?;
        let open: Vec<String> = self
            .tree
            .walk(task)
            .filter(|node| node.status == Status::InProgress && !self.is_stopped(node.id))
            .map(|node| format!("\"{}\"", node.title))
            .collect();
        if !open.is_empty() {
            let fault = Fault::user(format!("{} cannot be closed: {} in progress", self.named(task), are(&open)));
            let user = ["wait until it is done, or stop it first: `mxd stop TASK`"];
            return Err(origin.actor.advise(fault, &user, "wait until it is done, or stop it first with stop_task"));
        }
        if self.node(task)?.status == Status::Closed {
            return Err(Fault::user(format!("{} is closed already", self.named(task))));
        }
        // A recurring task comes round again: with an empty conversation, it is as if it had been reset.
        let (next, branch) = match self.node(task)?.recurring {
            Recurring::Reset => (AfterClear::Reset, BranchFate::Delete),
            Recurring::None | Recurring::Continue => (AfterClear::Close, BranchFate::Keep),
        };
        self.clear(now, Edit { origin, task }, next, task, branch);
        Ok(())
    }

    pub(in crate::engine::machine) fn delete(
        &mut self,
        now: Timestamp,
        origin: Origin,
        task: TaskId,
    ) -> Result<(), Fault> {
        self.node(task)?;
        self.not_the_root(task, "deleted")?;
        if self.defer(origin, task, Removal::Delete) {
            return Ok(());
        }
        self.nobody_at_work(origin.actor, task, "deleted")?;
        // The deepest first, so that the tree is whole at every step. Nobody begins to work there meanwhile.
        let mut left: Vec<TaskId> = self.tree.walk(task).map(|node| node.id).collect();
        left.iter().for_each(|task| self.life(*task).holds.add(Hold::Change));
        let Some(deepest) = left.pop() else { return Ok(()) };
        self.clear(now, Edit { origin, task }, AfterClear::Delete { left }, deepest, BranchFate::Delete);
        Ok(())
    }

    pub(in crate::engine::machine) fn reset(
        &mut self,
        now: Timestamp,
        origin: Origin,
        task: TaskId,
    ) -> Result<(), Fault> {
        self.node(task)?;
        if self.defer(origin, task, Removal::Reset) {
            return Ok(());
        }
        if self.is_busy(task) {
            return Err(Fault::user(format!(
                "{} cannot be reset: another change to it is under way",
                self.named(task)
            ))
            .hint("try again in a moment"));
        }
        self.clear(now, Edit { origin, task }, AfterClear::Reset, task, BranchFate::Delete);
        Ok(())
    }

    /// Puts the worktree of `whose` away, then goes on with the change.
    fn clear(&mut self, now: Timestamp, edit: Edit, next: AfterClear, whose: TaskId, branch: BranchFate) {
        self.life(whose).holds.add(Hold::Change);
        let then = Clearing { edit, next };
        let place = self.tree.get(whose).and_then(|node| self.spot(node));
        let Some(place) = place else { return self.cleared(now, then, Ok(SetAside::default())) };
        self.out.push(Effect::Clear { task: whose, place, branch, then });
    }

    /// Takes a task out of the tree that never was whole, and whatever there is of its worktree.
    pub(in crate::engine::machine) fn unmake(&mut self, now: Timestamp, task: TaskId) {
        let origin = Origin::ENGINE;
        self.clear(now, Edit { origin, task }, AfterClear::Unmake, task, BranchFate::Delete);
    }

    pub(super) fn unmade(&mut self, task: TaskId, stays: Option<Fault>) {
        if let Some(fault) = stays {
            // It is found as a stray later, and named there.
            let text = format!("the worktree of {}, which is undone, stays: {}", self.named(task), fault.message);
            self.out.push(Effect::Notify(Notice { level: Level::Warning, text, task: None }));
        }
        let above = self.tree.get(task).and_then(|node| node.parent);
        if self.tree.remove(task).is_ok() {
            self.removed.push(task);
            self.once_saved(Then::Removed(vec![task]));
            self.commit(std::iter::once(task).chain(above), Then::Removed(Vec::new()));
        }
    }

    /// Forgets tasks that are out of the tree.
    pub(in crate::engine::machine) fn forget(&mut self, tasks: &[TaskId]) {
        // One that was brought back before the disk knew that it was gone is not forgotten.
        let gone: Vec<TaskId> = tasks.iter().copied().filter(|task| self.tree.get(*task).is_none()).collect();
        for task in &gone {
            let bodies = self.unread_and_unanswered(*task, "the task was deleted");
            if !bodies.is_empty() {
                self.append(*task, bodies, Pending::Nothing);
            }
            self.lives.remove(task);
        }
    }

    pub(super) fn closed(&mut self, now: Timestamp, edit: Edit, set_aside: SetAside) {
        let task = edit.task;
        let _ = self.tree.edit(task, |node| {
            node.status = if node.recurring == Recurring::None { Status::Closed } else { Status::Pending };
            node.round = None;
            node.worktree = None;
            node.edited_by = edit.origin.actor.editor();
            node.updated_at = now;
        });
        self.note(now, edit, TreeAction::Closed);
        let recurs = self.status(task) == Some(Status::Pending);
        self.commit([task], Then::Settle(edit.origin, Outcome::Closed { task, recurs, set_aside }));
        self.let_go(now, &[task]);
    }

    /// Returns what takes back everything that waits in a session: for the person, for the agent, and for a merge.
    fn unread_and_unanswered(&mut self, task: TaskId, reason: &str) -> Vec<Body> {
        let queued = self.take_queued_merge(task, DequeueReason::TaskChanged);
        let Some(life) = self.lives.get(&task) else { return Vec::new() };
        let mut bodies = withdraw_asks(life, reason);
        bodies.extend(queued);
        let unread: Vec<_> = life.state.messages.iter().map(|message| message.id).collect();
        if !unread.is_empty() {
            bodies.push(MessagesWithdrawn { ids: unread }.into());
        }
        bodies
    }

    /// On the disk before the tree, so that a closed task is not started again for something that was said before.
    pub(super) fn take_everything_back(&mut self, now: Timestamp, edit: Edit, set_aside: SetAside) {
        let bodies = self.unread_and_unanswered(edit.task, "the task was closed");
        if bodies.is_empty() {
            return self.closed(now, edit, set_aside);
        }
        self.keep(edit, bodies, AfterAppend::Close { set_aside });
    }

    pub(super) fn empty_conversation(&mut self, now: Timestamp, edit: Edit) {
        let task = edit.task;
        let mut bodies = self.unread_and_unanswered(task, "the task was reset");
        if self.lives.get(&task).is_some_and(|life| life.state.turns != SessionState::default().turns) {
            let (to, from, reason) = (None, None, MoveReason::Rewind);
            bodies.push(Body::from(HeadMoved { to, from, reason, carry: Box::default() }));
        }
        if bodies.is_empty() {
            return self.start_over(now, edit);
        }
        self.keep(edit, bodies, AfterAppend::Reset);
    }

    /// Puts the last round of a recurring task away, because it was sent a message. What was said to it stays.
    pub(in crate::engine::machine) fn reset_for_round(&mut self, now: Timestamp, task: TaskId) {
        let origin = Origin::ENGINE;
        self.clear(now, Edit { origin, task }, AfterClear::NewRound, task, BranchFate::Delete);
    }

    /// Puts the conversation of the last round away.
    pub(super) fn empty_round(&mut self, edit: Edit) {
        let task = edit.task;
        let mut bodies =
            self.lives.get(&task).map(|life| withdraw_asks(life, "a new round begins")).unwrap_or_default();
        bodies.extend(self.take_queued_merge(task, DequeueReason::TaskChanged));
        let (to, from, reason) = (None, None, MoveReason::Rewind);
        bodies.push(HeadMoved { to, from, reason, carry: Box::default() }.into());
        self.keep(edit, bodies, AfterAppend::NewRound);
    }

    pub(super) fn no_new_round(&mut self, now: Timestamp, edit: Edit, fault: Fault) {
        // Not looked at again before the user has heard of it: it would be tried for ever.
        self.life(edit.task).holds.remove(Hold::Change);
        self.give_up_until_answered(now, edit.task, "could not begin a new round", fault);
    }

    pub(super) fn new_round(&mut self, now: Timestamp, edit: Edit) {
        let task = edit.task;
        let _ = self.tree.edit(task, |node| {
            node.status = Status::Pending;
            node.worktree = None;
            node.branch = None;
            node.round = Some(now);
            node.updated_at = now;
        });
        self.commit([task], Then::Removed(Vec::new()));
        self.let_go(now, &[task]);
    }

    pub(super) fn start_over(&mut self, now: Timestamp, edit: Edit) {
        let task = edit.task;
        let is_round = edit.origin.actor == Actor::Engine;
        let _ = self.tree.edit(task, |node| {
            node.status = Status::Pending;
            node.worktree = None;
            node.branch = None;
            node.round = is_round.then_some(now);
            node.starting = false;
            node.edited_by = edit.origin.actor.editor();
            node.updated_at = now;
        });
        if is_round {
            self.begin_round(task);
            return self.let_go(now, &[task]);
        }
        self.note(now, edit, TreeAction::Reset);
        let recurs = self.tree.get(task).is_some_and(|node| node.recurring != Recurring::None);
        self.commit([task], Then::Settle(edit.origin, Outcome::Reset { recurs }));
        self.let_go(now, &[task]);
    }

    pub(super) fn delete_next(&mut self, now: Timestamp, edit: Edit, mut left: Vec<TaskId>) {
        if let Some(next) = left.pop() {
            return self.clear(now, edit, AfterClear::Delete { left }, next, BranchFate::Delete);
        }
        let gone: Vec<TaskId> = self.tree.walk(edit.task).map(|node| node.id).collect();
        let recurring = self.tree.walk(edit.task).filter(|node| node.recurring != Recurring::None);
        let plans: Vec<TaskId> = recurring.map(|node| node.id).collect();
        self.note(now, edit, TreeAction::Deleted);
        let above = self.tree.get(edit.task).and_then(|node| node.parent);
        let cost = self.spent_below(edit.task);
        if let Some(above) = above {
            // It was there a moment ago.
            let _ = self.tree.edit(above, |node| node.deleted_cost += cost);
        }
        for task in gone.iter().rev() {
            // Nobody is below it any more, and it is not the root.
            let _ = self.tree.remove(*task);
        }
        self.removed.extend(&gone);
        self.once_saved(Then::Removed(gone.clone()));
        let plans = (!plans.is_empty()).then_some(PlanChange::Remove(plans));
        let then = Then::Settle(edit.origin, Outcome::Done).after_writing(plans);
        self.commit(gone.into_iter().chain(above), then);
    }
}

fn are(names: &[String]) -> String {
    match names {
        [one] => format!("{one} is"),
        many => format!("{} are", many.join(", ")),
    }
}

//! Bringing back and copying: a worktree from its branch or archive, a deleted task from its session, a conversation into
//! another task.

use super::steps::{Continuation, Step, What};
use crate::base::{Fault, TaskId, Timestamp};
use crate::config::recurring::Schedule;
use crate::engine::command::{Actor, Outcome, RestoredWorktree, Revived};
use crate::engine::machine::saving::Then;
use crate::engine::machine::slot::Hold;
use crate::engine::machine::{Effect, EffectId, Life, Machine, Origin, Pending, Place};
use crate::engine::recall::Recalled;
use crate::model::message::TreeAction;
use crate::model::task::{Recurring, Status, TaskNode};

impl Machine {
    pub(in crate::engine::machine) fn restore(&mut self, origin: Origin, task: TaskId) -> Result<(), Fault> {
        if self.tree.get(task).is_none() {
            let ticket = self.number();
            self.pending.insert(ticket, Pending::Recall(origin, task));
            let known = self.tree.all().map(|node| node.id).collect();
            self.out.push(Effect::Recall { ticket, task, known });
            return Ok(());
        }
        self.not_the_root(task, "restored")?;
        if self.is_busy(task) {
            return Err(Fault::user(format!("{} is at work: there is nothing to restore", self.named(task))));
        }
        self.bring_back(Continuation { origin, task, what: What::Restore }, task);
        Ok(())
    }

    /// Asks for the worktree of `whose`, then goes on with the change.
    fn bring_back(&mut self, edit: Continuation, whose: TaskId) {
        let Some((branch, worktree)) = self.tree.get(whose).map(|node| self.new_spot(node)) else { return };
        let place = Place { worktree, branch, base: self.base_of(whose) };
        self.life(whose).holds.add(Hold::Change);
        let ticket = self.wait_for(edit);
        self.out.push(Effect::Restore { ticket, task: whose, place });
    }

    /// The worktree of a task is there again: its node says so.
    fn stands_again(&mut self, now: Timestamp, task: TaskId) -> bool {
        let Some((branch, worktree)) = self.tree.get(task).map(|node| self.new_spot(node)) else { return false };
        let edited = self.tree.edit(task, |node| {
            node.branch = Some(branch);
            node.worktree = Some(worktree);
            if node.status == Status::Closed {
                node.status = Status::Pending;
            }
            node.updated_at = now;
        });
        edited.is_ok()
    }

    pub(super) fn restored(&mut self, now: Timestamp, edit: &Continuation, worktree: RestoredWorktree) {
        let task = edit.task;
        if !self.stands_again(now, task) {
            return self.refuse(edit.origin, Fault::user(format!("there is no task {task} any more")));
        }
        self.commit([task], Then::Settle(edit.origin, Outcome::Restored(worktree)));
        self.let_go(now, &[task]);
    }

    /// A deleted task was found in its session, with what was below it, or was not.
    pub(in crate::engine::machine) fn recalled(
        &mut self,
        now: Timestamp,
        ticket: EffectId,
        result: Result<Vec<Recalled>, Fault>,
    ) {
        let Some(Pending::Recall(origin, task)) = self.pending.remove(&ticket) else { return };
        let result = result.and_then(|found| self.revive(now, origin, task, found));
        if let Err(fault) = result {
            self.refuse(origin, fault);
        }
    }

    /// Puts a deleted task back into the tree: below the task it was below, or below the root if that is gone.
    fn revive(&mut self, now: Timestamp, origin: Origin, task: TaskId, found: Vec<Recalled>) -> Result<(), Fault> {
        let Some(old) = found.first().map(|top| top.node.parent) else {
            return Err(Fault::user(format!("there is no task {task} in this project, and no session remembers one"))
                .hint("`mxd restore` lists what was deleted and can be brought back"));
        };
        let takes_it = |above: &TaskId| self.tree.get(*above).is_some_and(|node| node.status != Status::Closed);
        let above = old.filter(takes_it).unwrap_or(self.tree.root_id());
        let mut revived = Vec::new();
        for Recalled { node, state } in found {
            let id = node.id;
            let parent = if id == task { above } else { node.parent.unwrap_or(task) };
            self.tree.insert(asleep(node, now), parent)?;
            self.lives.insert(id, Life { state, ..Life::default() });
            self.life(id).holds.add(Hold::Change);
            revived.push(id);
        }
        let cost = self.spent_below(task);
        if let Some(old) = old {
            // If that is gone as well, the task above it counts the costs once more: never less than was spent.
            let _ = self.tree.edit(old, |node| node.deleted_cost = node.deleted_cost.saturating_sub(cost));
        }
        let edit = Continuation { origin, task, what: What::Restore };
        self.note(now, &edit, TreeAction::Restored);
        // A task that never had a branch has nothing to be brought back but itself.
        let mut left: Vec<TaskId> =
            revived.into_iter().filter(|id| self.tree.get(*id).is_some_and(|node| node.branch.is_some())).collect();
        left.reverse();
        self.revive_worktrees(now, &edit, left, Vec::new());
        Ok(())
    }

    fn revive_worktrees(
        &mut self,
        now: Timestamp,
        edit: &Continuation,
        mut left: Vec<TaskId>,
        back: Vec<(TaskId, Result<RestoredWorktree, String>)>,
    ) {
        let Some(of) = left.pop() else { return self.revived(now, edit, back) };
        let edit = edit.goes_on_with(What::Revive { of, left, back });
        self.bring_back(edit, of);
    }

    /// One worktree is back, or could not be; the next follows.
    pub(super) fn revive_next(&mut self, now: Timestamp, edit: Continuation, result: Result<Step, Fault>) {
        let Continuation { origin, task, what: What::Revive { of, left, mut back } } = edit else { return };
        match result {
            Ok(Step::Restored(worktree)) if self.stands_again(now, of) => back.push((of, Ok(worktree))),
            // The disk refused the tree meanwhile.
            Ok(_) => return self.refuse(origin, Fault::user(format!("there is no task {task} any more"))),
            // Its conversation is back all the same, and a worktree is made for it when it works again.
            Err(fault) => back.push((of, Err(fault.message))),
        }
        self.revive_worktrees(now, &Continuation { origin, task, what: What::Restore }, left, back);
    }

    fn revived(&mut self, now: Timestamp, edit: &Continuation, back: Vec<(TaskId, Result<RestoredWorktree, String>)>) {
        let held: Vec<TaskId> = self.tree.walk(edit.task).map(|node| node.id).collect();
        let above = self.tree.get(edit.task).and_then(|node| node.parent);
        let title = |task: TaskId| self.tree.get(task).map(|node| node.title.clone()).unwrap_or_default();
        let outcome = Outcome::Revived(Revived {
            title: title(edit.task),
            parent: above.map(title).unwrap_or_default(),
            sub_tasks: held.len().saturating_sub(1),
            worktrees: back.into_iter().map(|(of, worktree)| (title(of), worktree)).collect(),
        });
        let mut then = Then::Settle(edit.origin, outcome);
        for task in &held {
            let recurring = self.tree.get(*task).map_or(Recurring::None, |node| node.recurring);
            then = then.after_writing(self.plan_change(*task, recurring, None, Schedule::default()));
        }
        self.commit(held.iter().copied().chain(above), then);
        self.let_go(now, &held);
    }

    /// Copies the conversation of one task into another that has none.
    pub(in crate::engine::machine) fn fork_context(
        &mut self,
        origin: Origin,
        from: TaskId,
        to: TaskId,
    ) -> Result<(), Fault> {
        let talks = self.state(from).is_some_and(|state| state.turns.voice.is_some());
        if origin.actor != Actor::Agent(from) && !talks {
            return Err(Fault::user(format!("{} has no conversation to copy yet", self.named(from))));
        }
        let node = self.node(to)?;
        let (title, description) = (node.title.clone(), node.description.clone());
        if self.is_busy(to) || self.lives.get(&to).is_some_and(|life| life.state.turns.voice.is_some()) {
            return Err(Fault::user(format!("{} has a conversation of its own already", self.named(to)))
                .hint("make a new task and fork into that"));
        }
        self.life(to).holds.add(Hold::Change);
        let ticket = self.wait_for(Continuation { origin, task: to, what: What::Fork });
        self.out.push(Effect::Copy { ticket, from, to, title, description });
        Ok(())
    }
}

/// Returns a deleted node as it comes back: without a worktree, and not at work until somebody speaks to it.
fn asleep(node: TaskNode, now: Timestamp) -> TaskNode {
    let status = match node.status {
        Status::InProgress | Status::Closed => Status::Pending,
        Status::Draft | Status::Pending | Status::Passed | Status::Failed => node.status,
    };
    TaskNode { status, starting: false, worktree: None, children: Vec::new(), updated_at: now, ..node }
}

//! Bringing back and copying: a worktree from its branch or archive, a deleted task from its session, a conversation into
//! another task.

use super::steps::{AfterRestore, Copying, Edit, Recalling, Restoring, Worktrees};
use crate::base::{Fault, TaskId, Timestamp};
use crate::config::recurring::Schedule;
use crate::engine::command::{Actor, Outcome, RestoredWorktree, Revived};
use crate::engine::machine::saving::Then;
use crate::engine::machine::slot::Hold;
use crate::engine::machine::{Effect, Life, Machine, Origin, Place};
use crate::engine::recall::Recalled;
use crate::model::message::TreeAction;
use crate::model::task::{Recurring, Status, TaskNode};

impl Machine {
    pub(in crate::engine::machine) fn restore(&mut self, origin: Origin, task: TaskId) -> Result<(), Fault> {
        if self.tree.get(task).is_none() {
            let known = self.tree.all().map(|node| node.id).collect();
            self.out.push(Effect::Recall { task, known, then: Recalling(Edit { origin, task }) });
            return Ok(());
        }
        self.not_the_root(task, "restored")?;
        if self.is_busy(task) {
            return Err(Fault::user(format!("{} is at work: there is nothing to restore", self.named(task))));
        }
        self.bring_back(Edit { origin, task }, AfterRestore::Restore, task);
        Ok(())
    }

    /// Asks for the worktree of `whose`, then goes on with the change.
    fn bring_back(&mut self, edit: Edit, next: AfterRestore, whose: TaskId) {
        let Some((branch, worktree)) = self.tree.get(whose).map(|node| self.new_spot(node)) else { return };
        let place = Place { worktree, branch, base: self.base_of(whose) };
        self.life(whose).holds.add(Hold::Change);
        self.out.push(Effect::Restore { task: whose, place, then: Restoring { edit, next } });
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

    pub(super) fn restored(&mut self, now: Timestamp, edit: Edit, worktree: RestoredWorktree) {
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
        Recalling(edit): Recalling,
        result: Result<Vec<Recalled>, Fault>,
    ) {
        let result = result.and_then(|found| self.revive(now, edit, found));
        if let Err(fault) = result {
            self.refuse(edit.origin, fault);
        }
    }

    /// Puts a deleted task back into the tree: below the task it was below, or below the root if that is gone.
    fn revive(&mut self, now: Timestamp, edit: Edit, found: Vec<Recalled>) -> Result<(), Fault> {
        let task = edit.task;
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
        self.note(now, edit, TreeAction::Restored);
        // A task that never had a branch has nothing to be brought back but itself.
        let mut left: Vec<TaskId> =
            revived.into_iter().filter(|id| self.tree.get(*id).is_some_and(|node| node.branch.is_some())).collect();
        left.reverse();
        self.revive_worktrees(now, edit, left, Vec::new());
        Ok(())
    }

    fn revive_worktrees(&mut self, now: Timestamp, edit: Edit, mut left: Vec<TaskId>, back: Worktrees) {
        let Some(of) = left.pop() else { return self.revived(now, edit, back) };
        self.bring_back(edit, AfterRestore::Revive { of, left, back }, of);
    }

    /// One worktree is back, or could not be; the next follows.
    pub(super) fn revive_next(
        &mut self,
        now: Timestamp,
        edit: Edit,
        of: TaskId,
        left: Vec<TaskId>,
        mut back: Worktrees,
        result: Result<RestoredWorktree, Fault>,
    ) {
        match result {
            Ok(worktree) if self.stands_again(now, of) => back.push((of, Ok(worktree))),
            // The disk refused the tree meanwhile.
            Ok(_) => return self.refuse(edit.origin, Fault::user(format!("there is no task {} any more", edit.task))),
            // Its conversation is back all the same, and a worktree is made for it when it works again.
            Err(fault) => back.push((of, Err(fault.message))),
        }
        self.revive_worktrees(now, edit, left, back);
    }

    fn revived(&mut self, now: Timestamp, edit: Edit, back: Worktrees) {
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
        let then = Copying(Edit { origin, task: to });
        self.out.push(Effect::Copy { from, to, title, description, then });
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

//! Restores worktrees and deleted tasks, and copies conversations.

use super::steps::{AfterRestore, CopyContinuation, DeletedTaskContinuation, Edit, RestoreContinuation, Worktrees};
use crate::base::{Fault, TaskId, Timestamp};
use crate::config::recurring::Schedule;
use crate::engine::command::{Actor, Outcome, RestoredWorktree, RevivedTask};
use crate::engine::deleted_tasks::DeletedTask;
use crate::engine::machine::slot::Hold;
use crate::engine::machine::tree_save::SaveContinuation;
use crate::engine::machine::{Effect, Machine, Origin, TaskRuntime, WorktreeLocation};
use crate::model::message::TreeAction;
use crate::model::task::{Recurring, Status, TaskNode};

impl Machine {
    pub(in crate::engine::machine) fn restore(&mut self, origin: Origin, task: TaskId) -> Result<(), Fault> {
        if self.tree.get(task).is_none() {
            let known = self.tree.all().map(|node| node.id).collect();
            self.out.push(Effect::ReadDeletedTask {
                task,
                known,
                then: DeletedTaskContinuation(Edit { origin, task }),
            });
            return Ok(());
        }
        self.check_not_root(task, "restored")?;
        if self.is_busy(task) {
            return Err(Fault::user(format!("nothing to restore: {} is at work", self.task_label(task))));
        }
        self.restore_worktree(Edit { origin, task }, AfterRestore::Restore, task);
        Ok(())
    }

    /// Restores the worktree of `whose`, then continues the change.
    fn restore_worktree(&mut self, edit: Edit, next: AfterRestore, whose: TaskId) {
        let Some((branch, worktree)) = self.tree.get(whose).map(|node| self.new_worktree(node)) else { return };
        let place = WorktreeLocation { worktree, branch, base: self.base_of(whose) };
        self.runtime(whose).holds.add(Hold::Change);
        self.out.push(Effect::RestoreWorktree { task: whose, place, then: RestoreContinuation { edit, next } });
    }

    /// Sets branch and worktree in the node, and reopens a closed task. Returns false if the task is gone.
    fn mark_worktree_restored(&mut self, now: Timestamp, task: TaskId) -> bool {
        let Some((branch, worktree)) = self.tree.get(task).map(|node| self.new_worktree(node)) else { return false };
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

    pub(super) fn finish_restore(&mut self, now: Timestamp, edit: Edit, worktree: RestoredWorktree) {
        let task = edit.task;
        if !self.mark_worktree_restored(now, task) {
            return self.refuse(edit.origin, Fault::user(format!("task {task} no longer exists")));
        }
        self.commit([task], SaveContinuation::Reply(edit.origin, Outcome::Restored(worktree)));
        self.release_holds(now, &[task]);
    }

    /// Restores a deleted task that was read from its session.
    pub(in crate::engine::machine) fn on_deleted_task_read(
        &mut self,
        now: Timestamp,
        DeletedTaskContinuation(edit): DeletedTaskContinuation,
        result: Result<Vec<DeletedTask>, Fault>,
    ) {
        let result = result.and_then(|found| self.revive(now, edit, found));
        if let Err(fault) = result {
            self.refuse(edit.origin, fault);
        }
    }

    /// Inserts a deleted task and its subtree into the tree, under its old parent or under the root.
    fn revive(&mut self, now: Timestamp, edit: Edit, found: Vec<DeletedTask>) -> Result<(), Fault> {
        let task = edit.task;
        let Some(old) = found.first().map(|top| top.node.parent) else {
            return Err(Fault::user(format!("there is no task {task} in this project, and no deleted one"))
                .hint("`mxd restore` lists the deleted tasks that can be restored"));
        };
        let takes_it = |above: &TaskId| self.tree.get(*above).is_some_and(|node| node.status != Status::Closed);
        let above = old.filter(takes_it).unwrap_or(self.tree.root_id());
        let mut revived = Vec::new();
        for DeletedTask { node, state } in found {
            let id = node.id;
            let parent = if id == task { above } else { node.parent.unwrap_or(task) };
            self.tree.insert(restored_node(node, now), parent)?;
            self.runtimes.insert(id, TaskRuntime { state, ..TaskRuntime::default() });
            self.runtime(id).holds.add(Hold::Change);
            revived.push(id);
        }
        let cost = self.spent_below(task);
        if let Some(old) = old {
            // If the old parent is gone as well, its own parent counts the cost twice: never less than was spent.
            let _ = self.tree.edit(old, |node| node.deleted_cost = node.deleted_cost.saturating_sub(cost));
        }
        self.notify_of_action(now, edit, TreeAction::Restored);
        // Only tasks with a branch have a worktree to restore.
        let mut remaining: Vec<TaskId> =
            revived.into_iter().filter(|id| self.tree.get(*id).is_some_and(|node| node.branch.is_some())).collect();
        remaining.reverse();
        self.revive_worktrees(now, edit, remaining, Vec::new());
        Ok(())
    }

    fn revive_worktrees(&mut self, now: Timestamp, edit: Edit, mut remaining: Vec<TaskId>, restored: Worktrees) {
        let Some(of) = remaining.pop() else { return self.finish_revival(now, edit, restored) };
        self.restore_worktree(edit, AfterRestore::Revive { of, remaining, restored }, of);
    }

    /// Records the result of one worktree and starts the next.
    pub(super) fn revive_next(
        &mut self,
        now: Timestamp,
        edit: Edit,
        of: TaskId,
        remaining: Vec<TaskId>,
        mut restored: Worktrees,
        result: Result<RestoredWorktree, Fault>,
    ) {
        match result {
            Ok(worktree) if self.mark_worktree_restored(now, of) => restored.push((of, Ok(worktree))),
            // A save failed meanwhile, so the task is gone again.
            Ok(_) => return self.refuse(edit.origin, Fault::user(format!("task {} no longer exists", edit.task))),
            // The conversation is restored anyway. The next run creates a worktree.
            Err(fault) => restored.push((of, Err(fault.message))),
        }
        self.revive_worktrees(now, edit, remaining, restored);
    }

    fn finish_revival(&mut self, now: Timestamp, edit: Edit, restored: Worktrees) {
        let held: Vec<TaskId> = self.tree.walk(edit.task).map(|node| node.id).collect();
        let above = self.tree.get(edit.task).and_then(|node| node.parent);
        let title = |task: TaskId| self.tree.get(task).map(|node| node.title.clone()).unwrap_or_default();
        let outcome = Outcome::Revived(RevivedTask {
            title: title(edit.task),
            parent: above.map(title).unwrap_or_default(),
            sub_tasks: held.len().saturating_sub(1),
            worktrees: restored.into_iter().map(|(of, worktree)| (title(of), worktree)).collect(),
        });
        let mut then = SaveContinuation::Reply(edit.origin, outcome);
        for task in &held {
            let recurring = self.tree.get(*task).map_or(Recurring::None, |node| node.recurring);
            then = then.after_writing(self.plan_change(*task, recurring, None, Schedule::default()));
        }
        self.commit(held.iter().copied().chain(above), then);
        self.release_holds(now, &held);
    }

    /// Copies the conversation of a task into another that has none.
    pub(in crate::engine::machine) fn fork_context(
        &mut self,
        origin: Origin,
        from: TaskId,
        to: TaskId,
    ) -> Result<(), Fault> {
        let has_conversation = self.state(from).is_some_and(|state| state.turns.last_role.is_some());
        if origin.actor != Actor::Agent(from) && !has_conversation {
            return Err(Fault::user(format!("cannot fork {}: it has no conversation yet", self.task_label(from))));
        }
        let node = self.node(to)?;
        let (title, description) = (node.title.clone(), node.description.clone());
        if self.is_busy(to) || self.runtimes.get(&to).is_some_and(|runtime| runtime.state.turns.last_role.is_some()) {
            return Err(Fault::user(format!(
                "cannot fork into {}: it already has a conversation",
                self.task_label(to)
            ))
            .hint("create a new task and fork into that"));
        }
        self.runtime(to).holds.add(Hold::Change);
        let then = CopyContinuation(Edit { origin, task: to });
        self.out.push(Effect::CopyConversation { from, to, title, description, then });
        Ok(())
    }
}

/// Returns a deleted node as it is restored: without a worktree, and not in progress.
fn restored_node(node: TaskNode, now: Timestamp) -> TaskNode {
    let status = match node.status {
        Status::InProgress | Status::Closed => Status::Pending,
        Status::Draft | Status::Pending | Status::Passed | Status::Failed => node.status,
    };
    TaskNode { status, starting: false, worktree: None, children: Vec::new(), updated_at: now, ..node }
}

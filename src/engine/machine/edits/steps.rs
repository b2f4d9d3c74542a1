//! Changes that take several steps: remove or restore a worktree, append events, then change the tree. The tasks of a
//! change are held meanwhile, so that no run starts there.
//!
//! The continuation of a step travels with its effect and returns with the result. Only continuations of appends stay
//! in the machine.

use crate::base::{Fault, TaskId, Timestamp};
use crate::engine::command::{ArchivedWork, Outcome, RestoredWorktree};
use crate::engine::machine::slot::Hold;
use crate::engine::machine::{AppendContinuation, Machine, Origin};
use crate::model::event::Body;
use crate::model::message::TreeAction;

#[derive(Clone, Copy, Debug)]
pub(in crate::engine::machine) struct Edit {
    pub(super) origin: Origin,
    pub(super) task: TaskId,
}

/// Continues a change after a worktree was removed.
#[derive(Clone, Debug)]
pub struct RemovalContinuation {
    pub(super) edit: Edit,
    pub(super) next: AfterRemoval,
}

#[derive(Clone, Debug)]
pub(super) enum AfterRemoval {
    Close,
    Reset,
    /// Keeps messages to the task.
    Recurrence,
    Delete {
        /// The tasks whose worktrees are still to be removed.
        remaining: Vec<TaskId>,
    },
    /// The task is an incomplete fork.
    Discard,
}

/// Continues a change after a worktree was restored.
#[derive(Clone, Debug)]
pub struct RestoreContinuation {
    pub(super) edit: Edit,
    pub(super) next: AfterRestore,
}

#[derive(Clone, Debug)]
pub(super) enum AfterRestore {
    Restore,
    /// The task was deleted. `of` is the worktree of this step, `remaining` are the next ones.
    Revive {
        of: TaskId,
        remaining: Vec<TaskId>,
        restored: Worktrees,
    },
}

/// The results of restoring worktrees.
pub(super) type Worktrees = Vec<(TaskId, Result<RestoredWorktree, String>)>;

/// Continues a change after the session of a deleted task was read.
#[derive(Clone, Copy, Debug)]
pub struct DeletedTaskContinuation(pub(super) Edit);

/// Continues a change after a conversation was copied.
#[derive(Clone, Copy, Debug)]
pub struct CopyContinuation(pub(super) Edit);

/// Continues a change with the tree after its events were appended.
#[derive(Debug)]
pub(in crate::engine::machine) struct EditContinuation {
    pub(super) edit: Edit,
    pub(super) next: AfterAppend,
}

#[derive(Debug)]
pub(super) enum AfterAppend {
    Close { set_aside: ArchivedWork },
    Reset,
    Recurrence,
}

impl Machine {
    /// Continues a change after a worktree was removed.
    pub(in crate::engine::machine) fn on_worktree_removed(
        &mut self,
        now: Timestamp,
        RemovalContinuation { edit, next }: RemovalContinuation,
        result: Result<ArchivedWork, Fault>,
    ) {
        match (next, result) {
            (AfterRemoval::Close, Ok(set_aside)) => self.withdraw_before_close(now, edit, set_aside),
            (AfterRemoval::Reset, Ok(_)) => self.clear_conversation(now, edit),
            (AfterRemoval::Delete { remaining }, Ok(_)) => self.delete_next(now, edit, remaining),
            (AfterRemoval::Close | AfterRemoval::Reset | AfterRemoval::Delete { .. }, Err(fault)) => {
                self.give_up(now, edit, fault);
            }
            (AfterRemoval::Recurrence, Ok(_)) => self.clear_last_recurrence(edit),
            (AfterRemoval::Recurrence, Err(fault)) => self.on_recurrence_failed(now, edit, fault),
            (AfterRemoval::Discard, result) => self.on_task_discarded(edit.task, result.err()),
        }
    }

    /// Appends the events of a change, then continues with the tree.
    pub(super) fn append_edit(&mut self, edit: Edit, bodies: Vec<Body>, next: AfterAppend) {
        self.append(edit.task, bodies, AppendContinuation::Edit(Box::new(EditContinuation { edit, next })));
    }

    /// Continues a change after its events were appended.
    pub(in crate::engine::machine) fn on_edit_appended(
        &mut self,
        now: Timestamp,
        EditContinuation { edit, next }: EditContinuation,
        result: Result<(), Fault>,
    ) {
        match (next, result) {
            (AfterAppend::Close { set_aside }, Ok(())) => self.finish_close(now, edit, set_aside),
            (AfterAppend::Reset, Ok(())) => self.finish_reset(now, edit),
            (AfterAppend::Recurrence, Ok(())) => self.finish_recurrence_reset(now, edit),
            (AfterAppend::Recurrence, Err(fault)) => self.on_recurrence_failed(now, edit, fault),
            (AfterAppend::Close { .. } | AfterAppend::Reset, Err(fault)) => self.give_up(now, edit, fault),
        }
    }

    /// Continues a change after a worktree was restored.
    pub(in crate::engine::machine) fn on_worktree_restored(
        &mut self,
        now: Timestamp,
        RestoreContinuation { edit, next }: RestoreContinuation,
        result: Result<RestoredWorktree, Fault>,
    ) {
        match (next, result) {
            (AfterRestore::Restore, Ok(worktree)) => self.finish_restore(now, edit, worktree),
            (AfterRestore::Restore, Err(fault)) => self.give_up(now, edit, fault),
            (AfterRestore::Revive { of, remaining, restored }, result) => {
                self.revive_next(now, edit, of, remaining, restored, result);
            }
        }
    }

    /// Replies after a conversation was copied.
    pub(in crate::engine::machine) fn on_conversation_copied(
        &mut self,
        now: Timestamp,
        CopyContinuation(edit): CopyContinuation,
        result: Result<usize, Fault>,
    ) {
        match result {
            Ok(events) => {
                self.reply(edit.origin, Outcome::Copied { events });
                self.release_holds(now, &[edit.task]);
            }
            Err(fault) => self.give_up(now, edit, fault),
        }
    }

    /// Refuses a change and releases its tasks.
    fn give_up(&mut self, now: Timestamp, edit: Edit, fault: Fault) {
        let held: Vec<TaskId> = self.tree.walk(edit.task).map(|node| node.id).collect();
        self.refuse(edit.origin, fault);
        self.release_holds(now, &held);
    }

    /// Releases the tasks of a change and checks whether they have work.
    pub(in crate::engine::machine) fn release_holds(&mut self, now: Timestamp, held: &[TaskId]) {
        for task in held {
            if let Some(runtime) = self.runtimes.get_mut(task) {
                runtime.holds.remove(Hold::Change);
            }
        }
        for task in held {
            self.reconsider(now, *task);
        }
    }

    /// Notifies the ancestors of a change.
    pub(super) fn notify_of_action(&mut self, now: Timestamp, edit: Edit, action: TreeAction) {
        let title = self.tree.get(edit.task).map(|node| node.title.clone()).unwrap_or_default();
        self.notify_of_edit(now, edit.origin.actor, edit.task, &title, action, "");
    }
}

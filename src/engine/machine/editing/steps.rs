//! Changes that take several steps: a worktree goes or comes back, an event is kept, then the tree changes. What a change
//! is about is held meanwhile, so that nobody begins to work there.
//!
//! The continuation of a step is sent out with its effect and comes back with the result. Only appends keep theirs in the
//! machine.

use crate::base::{Fault, TaskId, Timestamp};
use crate::engine::command::{Outcome, RestoredWorktree, SetAside};
use crate::engine::machine::slot::Hold;
use crate::engine::machine::{Machine, Origin, Pending};
use crate::model::event::Body;
use crate::model::message::TreeAction;

/// A change to a task that takes several steps.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::machine) struct Edit {
    pub(super) origin: Origin,
    pub(super) task: TaskId,
}

/// Continues a change after a worktree was removed.
#[derive(Clone, Debug)]
pub struct Clearing {
    pub(super) edit: Edit,
    pub(super) next: AfterClear,
}

#[derive(Clone, Debug)]
pub(super) enum AfterClear {
    Close,
    Reset,
    /// Messages to the task are kept.
    NewRound,
    Delete {
        /// These are still to be put away.
        left: Vec<TaskId>,
    },
    /// The task never was whole.
    Unmake,
}

/// Continues a change after a worktree was restored.
#[derive(Clone, Debug)]
pub struct Restoring {
    pub(super) edit: Edit,
    pub(super) next: AfterRestore,
}

#[derive(Clone, Debug)]
pub(super) enum AfterRestore {
    Restore,
    /// The task was deleted. The worktree of `of` is back, or is not; those of `left` are next.
    Revive {
        of: TaskId,
        left: Vec<TaskId>,
        back: Worktrees,
    },
}

/// The worktrees that are back, or could not be brought back.
pub(super) type Worktrees = Vec<(TaskId, Result<RestoredWorktree, String>)>;

/// Continues a change after the session of a deleted task was read.
#[derive(Clone, Copy, Debug)]
pub struct Recalling(pub(super) Edit);

/// Continues a change after a conversation was copied.
#[derive(Clone, Copy, Debug)]
pub struct Copying(pub(super) Edit);

/// Continues a change with the tree after its events were appended.
#[derive(Debug)]
pub(in crate::engine::machine) struct Keeping {
    pub(super) edit: Edit,
    pub(super) next: AfterAppend,
}

#[derive(Debug)]
pub(super) enum AfterAppend {
    Close { set_aside: SetAside },
    Reset,
    NewRound,
}

impl Machine {
    /// A worktree was put away, there was none, or it could not be.
    pub(in crate::engine::machine) fn cleared(
        &mut self,
        now: Timestamp,
        Clearing { edit, next }: Clearing,
        result: Result<SetAside, Fault>,
    ) {
        match (next, result) {
            (AfterClear::Close, Ok(set_aside)) => self.take_everything_back(now, edit, set_aside),
            (AfterClear::Reset, Ok(_)) => self.empty_conversation(now, edit),
            (AfterClear::Delete { left }, Ok(_)) => self.delete_next(now, edit, left),
            (AfterClear::Close | AfterClear::Reset | AfterClear::Delete { .. }, Err(fault)) => {
                self.give_up(now, edit, fault);
            }
            (AfterClear::NewRound, Ok(_)) => self.empty_round(edit),
            (AfterClear::NewRound, Err(fault)) => self.no_new_round(now, edit, fault),
            (AfterClear::Unmake, result) => self.unmade(edit.task, result.err()),
        }
    }

    /// Keeps events of a change in the session of its task; then the tree is next.
    pub(super) fn keep(&mut self, edit: Edit, bodies: Vec<Body>, next: AfterAppend) {
        self.append(edit.task, bodies, Pending::Edit(Box::new(Keeping { edit, next })));
    }

    /// The events of a change are in the session, or could not be kept.
    pub(in crate::engine::machine) fn kept(
        &mut self,
        now: Timestamp,
        Keeping { edit, next }: Keeping,
        result: Result<(), Fault>,
    ) {
        match (next, result) {
            (AfterAppend::Close { set_aside }, Ok(())) => self.closed(now, edit, set_aside),
            (AfterAppend::Reset, Ok(())) => self.start_over(now, edit),
            (AfterAppend::NewRound, Ok(())) => self.new_round(now, edit),
            (AfterAppend::NewRound, Err(fault)) => self.no_new_round(now, edit, fault),
            (AfterAppend::Close { .. } | AfterAppend::Reset, Err(fault)) => self.give_up(now, edit, fault),
        }
    }

    /// A worktree was brought back, or could not be.
    pub(in crate::engine::machine) fn worktree_restored(
        &mut self,
        now: Timestamp,
        Restoring { edit, next }: Restoring,
        result: Result<RestoredWorktree, Fault>,
    ) {
        match (next, result) {
            (AfterRestore::Restore, Ok(worktree)) => self.restored(now, edit, worktree),
            (AfterRestore::Restore, Err(fault)) => self.give_up(now, edit, fault),
            (AfterRestore::Revive { of, left, back }, result) => self.revive_next(now, edit, of, left, back, result),
        }
    }

    /// A conversation was copied, or could not be.
    pub(in crate::engine::machine) fn copied(
        &mut self,
        now: Timestamp,
        Copying(edit): Copying,
        result: Result<usize, Fault>,
    ) {
        match result {
            Ok(events) => {
                self.settle(edit.origin, Outcome::Copied { events });
                self.let_go(now, &[edit.task]);
            }
            Err(fault) => self.give_up(now, edit, fault),
        }
    }

    /// Ends a change that cannot be made.
    fn give_up(&mut self, now: Timestamp, edit: Edit, fault: Fault) {
        let held: Vec<TaskId> = self.tree.walk(edit.task).map(|node| node.id).collect();
        self.refuse(edit.origin, fault);
        self.let_go(now, &held);
    }

    /// Lets go of the tasks that a change held. What was said to them meanwhile is looked at now.
    pub(in crate::engine::machine) fn let_go(&mut self, now: Timestamp, held: &[TaskId]) {
        for task in held {
            if let Some(life) = self.lives.get_mut(task) {
                life.holds.remove(Hold::Change);
            }
        }
        for task in held {
            self.reconsider(now, *task);
        }
    }

    /// Tells the chain above of a change.
    pub(super) fn note(&mut self, now: Timestamp, edit: Edit, action: TreeAction) {
        let title = self.tree.get(edit.task).map(|node| node.title.clone()).unwrap_or_default();
        self.note_edit(now, edit.origin.actor, edit.task, &title, action, "");
    }
}

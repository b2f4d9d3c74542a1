//! Changes that take several steps: a worktree goes or comes back, an event is kept, then the tree changes. What a change
//! is about is held meanwhile, so that nobody begins to work there.

use crate::base::{Fault, TaskId, Timestamp};
use crate::engine::command::{Outcome, RestoredWorktree, SetAside};
use crate::engine::machine::slot::Hold;
use crate::engine::machine::{EffectId, Machine, Origin, Pending};
use crate::model::message::TreeAction;

/// A change that goes on when a worktree is put away or brought back, or an event kept.
#[derive(Debug)]
pub(in crate::engine::machine) struct Continuation {
    pub(super) origin: Origin,
    pub(super) task: TaskId,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// The worktree is away; what nobody has read is next.
    Close,
    /// Nothing waits for it any more; the tree is next.
    CloseTree {
        set_aside: SetAside,
    },
    /// The worktree is away; the conversation is next.
    Reset,
    /// The conversation is empty; the tree is next.
    ResetTree,
    /// The worktree of the last round is away; the conversation is next. What was said to the task stays.
    NewRound,
    /// The conversation of the last round is put away; the tree is next.
    NewRoundTree,
    /// These are still to be put away.
    Delete {
        left: Vec<TaskId>,
    },
    /// The worktree of a task that never was whole is away, or is not; the tree is next.
    Unmake,
    Restore,
    /// The worktree of `of` is back, or is not; those of `left` are next.
    Revive {
        of: TaskId,
        left: Vec<TaskId>,
        back: Vec<(TaskId, Result<RestoredWorktree, String>)>,
    },
    /// A conversation is being copied.
    Fork,
}

/// What a change waited for, when that is done.
#[derive(Debug)]
pub(in crate::engine::machine) enum Step {
    /// An event is in the session, or there was nothing to do.
    Through,
    Cleared(SetAside),
    Restored(RestoredWorktree),
    /// So many events were copied.
    Copied(usize),
}

impl Continuation {
    /// Returns the same change at its next step.
    pub(super) fn goes_on_with(&self, what: What) -> Self {
        Self { origin: self.origin, task: self.task, what }
    }
}

impl Machine {
    /// Waits for something before a change goes on.
    pub(super) fn wait_for(&mut self, edit: Continuation) -> EffectId {
        let ticket = self.number();
        self.pending.insert(ticket, Pending::Edit(Box::new(edit)));
        ticket
    }

    pub(in crate::engine::machine) fn cleared(
        &mut self,
        now: Timestamp,
        ticket: EffectId,
        result: Result<SetAside, Fault>,
    ) {
        self.step_done(now, ticket, result.map(Step::Cleared));
    }

    pub(in crate::engine::machine) fn worktree_restored(
        &mut self,
        now: Timestamp,
        ticket: EffectId,
        result: Result<RestoredWorktree, Fault>,
    ) {
        self.step_done(now, ticket, result.map(Step::Restored));
    }

    pub(in crate::engine::machine) fn copied(
        &mut self,
        now: Timestamp,
        ticket: EffectId,
        result: Result<usize, Fault>,
    ) {
        self.step_done(now, ticket, result.map(Step::Copied));
    }

    fn step_done(&mut self, now: Timestamp, ticket: EffectId, result: Result<Step, Fault>) {
        if let Some(Pending::Edit(edit)) = self.pending.remove(&ticket) {
            self.go_on_editing(now, *edit, result);
        }
    }

    pub(in crate::engine::machine) fn go_on_editing(
        &mut self,
        now: Timestamp,
        edit: Continuation,
        result: Result<Step, Fault>,
    ) {
        match edit.what {
            What::Revive { .. } => return self.revive_next(now, edit, result),
            What::Unmake => return self.unmade(edit.task, result),
            What::NewRound | What::NewRoundTree => return self.prepare_round(now, &edit, result),
            What::Close
            | What::CloseTree { .. }
            | What::Reset
            | What::ResetTree
            | What::Delete { .. }
            | What::Restore
            | What::Fork => {}
        }
        let step = match result {
            Ok(step) => step,
            Err(fault) => {
                let held: Vec<TaskId> = self.tree.walk(edit.task).map(|node| node.id).collect();
                self.refuse(edit.origin, fault);
                return self.let_go(now, &held);
            }
        };
        match (&edit.what, step) {
            (What::Close, Step::Cleared(set_aside)) => self.take_everything_back(now, &edit, set_aside),
            (What::Close, _) => self.take_everything_back(now, &edit, SetAside::default()),
            (What::CloseTree { set_aside }, _) => self.closed(now, &edit, set_aside.clone()),
            (What::Reset, _) => self.empty_conversation(now, &edit),
            (What::ResetTree, _) => self.start_over(now, &edit),
            (What::Delete { .. }, _) => self.delete_next(now, edit),
            (What::Restore, Step::Restored(worktree)) => self.restored(now, &edit, worktree),
            (What::Fork, Step::Copied(events)) => {
                self.settle(edit.origin, Outcome::Copied { events });
                self.let_go(now, &[edit.task]);
            }
            // Every step is answered in its own kind, and the rest returned above.
            (What::Restore | What::Fork, _) => {}
            (What::Revive { .. } | What::Unmake | What::NewRound | What::NewRoundTree, _) => {}
        }
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
    pub(super) fn note(&mut self, now: Timestamp, edit: &Continuation, action: TreeAction) {
        let title = self.tree.get(edit.task).map(|node| node.title.clone()).unwrap_or_default();
        self.note_edit(now, edit.origin.actor, edit.task, &title, action, "");
    }
}

//! Changes that take several steps: a worktree goes or comes back, an event is kept, then the tree changes. What a change
//! is about is held meanwhile, so that nobody begins to work there.

use crate::base::{Fault, TaskId, Timestamp};
use crate::engine::machine::{Actor, Asker, Machine, Pending, Ticket};
use crate::model::message::TreeAction;

/// A change that goes on when a worktree is put away or brought back, or an event kept.
#[derive(Debug)]
pub(in crate::engine::machine) struct Continuation {
    pub(super) asker: Asker,
    pub(super) actor: Actor,
    pub(super) task: TaskId,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// The worktree is away; what nobody has read is next.
    Close,
    /// Nothing waits for it any more; the tree is next.
    CloseTree {
        note: String,
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
        notes: Vec<String>,
    },
    Fork {
        title: String,
        from: TaskId,
    },
}

impl Continuation {
    /// Returns the same change at its next step.
    pub(super) fn goes_on_with(&self, what: What) -> Self {
        Self { asker: self.asker, actor: self.actor, task: self.task, what }
    }
}

impl Machine {
    /// Waits for something before a change goes on.
    pub(super) fn wait_for(&mut self, edit: Continuation) -> Ticket {
        let ticket = self.number();
        self.pending.insert(ticket, Pending::Edit(Box::new(edit)));
        ticket
    }

    /// A worktree is put away, or brought back.
    pub(in crate::engine::machine) fn cleared(
        &mut self,
        now: Timestamp,
        ticket: Ticket,
        result: Result<String, String>,
    ) {
        if let Some(Pending::Edit(edit)) = self.pending.remove(&ticket) {
            self.go_on_editing(now, *edit, result);
        }
    }

    pub(in crate::engine::machine) fn copied(&mut self, now: Timestamp, ticket: Ticket, result: Result<usize, String>) {
        self.cleared(now, ticket, result.map(|count| count.to_string()));
    }

    pub(in crate::engine::machine) fn go_on_editing(
        &mut self,
        now: Timestamp,
        edit: Continuation,
        result: Result<String, String>,
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
            | What::Fork { .. } => {}
        }
        let note = match result {
            Ok(note) => note,
            Err(reason) => {
                let held: Vec<TaskId> = self.tree.walk(edit.task).map(|node| node.id).collect();
                self.refuse(edit.asker, Fault::environment(reason));
                return self.let_go(now, &held);
            }
        };
        match edit.what {
            What::Close => self.take_everything_back(now, &edit, note),
            What::CloseTree { ref note } => {
                let note = note.clone();
                self.closed(now, &edit, note);
            }
            What::Reset => self.empty_conversation(now, &edit),
            What::ResetTree => self.start_over(now, &edit),
            What::Delete { .. } => self.delete_next(now, edit),
            What::Restore => self.restored(now, &edit, note),
            What::Revive { .. } | What::Unmake | What::NewRound | What::NewRoundTree => {}
            What::Fork { ref title, from } => {
                let title = title.clone();
                self.conversation_copied(now, &edit, &note, &title, from);
            }
        }
    }

    /// Lets go of the tasks that a change held. What was said to them meanwhile is looked at now.
    pub(in crate::engine::machine) fn let_go(&mut self, now: Timestamp, held: &[TaskId]) {
        for task in held {
            if let Some(life) = self.lives.get_mut(task) {
                life.edited = false;
            }
        }
        for task in held {
            self.reconsider(now, *task);
        }
    }

    /// Tells the chain above what a person did.
    pub(super) fn note(&mut self, now: Timestamp, edit: &Continuation, action: TreeAction) {
        if edit.actor == Actor::Person {
            let title = self.tree.get(edit.task).map(|node| node.title.clone()).unwrap_or_default();
            self.note_edit(now, edit.task, &title, action, "");
        }
    }
}

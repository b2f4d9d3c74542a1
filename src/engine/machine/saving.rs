//! The tree on its way to the disk. Changes are made in memory at once and saved together; what depends on them
//! happens when they are saved. If the disk refuses, the tree goes back to what the disk has.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::base::{Fault, TaskId, Timestamp};
use crate::config::recurring::PlanChange;
use crate::engine::command::Outcome;
use crate::engine::machine::slot::Completion;
use crate::engine::machine::{Effect, EffectId, Machine, Origin, Pending};
use crate::engine::update::{Level, Notice};
use crate::model::event::TaskChanged;
use crate::model::tree::Tree;

/// What waits for the tree to be saved.
#[derive(Debug)]
pub(super) struct Saves {
    durable: Arc<Tree>,
    in_flight: Option<InFlight>,
    next: Vec<Then>,
    changed: BTreeSet<TaskId>,
}

/// A tree that is being saved, and what waits for it.
#[derive(Debug)]
struct InFlight {
    ticket: EffectId,
    tree: Arc<Tree>,
    then: Vec<Then>,
    changed: BTreeSet<TaskId>,
}

/// What goes on once the files of recurring tasks follow the tree.
#[derive(Debug)]
pub struct WritingDown(pub(super) Box<Then>);

/// What happens once the tree is on the disk.
#[derive(Debug)]
pub(super) enum Then {
    Settle(Origin, Outcome),
    /// Tell the user.
    Notify(Notice),
    Launch(TaskId),
    /// A completion is through: look whether the task has something to do.
    Completed(TaskId),
    /// The task has another one above it: if it has ended, that one is told.
    Moved(TaskId),
    Removed(Vec<TaskId>),
    /// A task was made that is to continue another one.
    Fork(Box<crate::engine::machine::rewinding::Forking>),
    /// The copy is whole.
    Forked(Box<crate::engine::machine::rewinding::Forking>),
    /// The files of recurring tasks follow the tree; then the rest.
    WriteDown {
        change: PlanChange,
        then: Box<Then>,
    },
    /// A message that must not be sent before the tree knows its task.
    Begin {
        origin: Origin,
        task: TaskId,
    },
}

impl Then {
    /// Returns this, once a change to files is through.
    pub(super) fn after_writing(self, change: Option<PlanChange>) -> Self {
        match change {
            Some(change) => Self::WriteDown { change, then: Box::new(self) },
            None => self,
        }
    }
}

impl Saves {
    pub(super) fn new(tree: &Tree) -> Self {
        Self { durable: Arc::new(tree.clone()), in_flight: None, next: Vec::new(), changed: BTreeSet::new() }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.in_flight.is_none() && self.next.is_empty()
    }

    /// Tells which task is above another, as far as the disk knows.
    pub(super) fn above(&self, task: TaskId) -> Option<TaskId> {
        self.durable.get(task)?.parent
    }
}

impl Machine {
    /// Saves the tree with the changes to `tasks`, then does `then`.
    pub(super) fn commit(&mut self, tasks: impl IntoIterator<Item = TaskId>, then: Then) {
        for task in tasks {
            self.saves.changed.insert(task);
            self.changed.insert(task);
        }
        self.saves.next.push(then);
    }

    /// As [`Machine::commit`], with nothing of its own to save.
    pub(super) fn once_saved(&mut self, then: Then) {
        self.saves.next.push(then);
    }

    pub(super) fn save_if_needed(&mut self) {
        if self.saves.in_flight.is_some() || self.saves.next.is_empty() {
            return;
        }
        let ticket = self.number();
        let tree = Arc::new(self.tree.clone());
        let then = std::mem::take(&mut self.saves.next);
        let changed = std::mem::take(&mut self.saves.changed);
        self.saves.in_flight = Some(InFlight { ticket, tree: Arc::clone(&tree), then, changed });
        self.out.push(Effect::SaveTree { ticket, tree });
    }

    pub(super) fn tree_saved(&mut self, now: Timestamp, ticket: EffectId) {
        let Some(InFlight { tree, then, changed, .. }) = self.saves.in_flight.take_if(|saving| saving.ticket == ticket)
        else {
            return;
        };
        // Sessions repeat what the tree says, so that it can be made anew from them.
        for task in changed {
            let change = match tree.get(task) {
                Some(node) => TaskChanged::Set { node: Box::new(node.clone()) },
                None => TaskChanged::Removed,
            };
            self.append(task, vec![change.into()], Pending::Nothing);
        }
        self.saves.durable = tree;
        for then in then {
            self.saved(now, then);
        }
    }

    pub(super) fn saved(&mut self, now: Timestamp, then: Then) {
        match then {
            Then::Settle(origin, outcome) => self.settle(origin, outcome),
            Then::Notify(notice) => self.out.push(Effect::Notify(notice)),
            Then::Launch(task) => self.launch(now, task),
            Then::Completed(task) => {
                self.life(task).completion = Completion::Idle;
                self.reconsider(now, task);
            }
            Then::Moved(task) => {
                self.complete_if_done(now, task);
                self.tell_of_failure(now, task);
            }
            Then::Removed(tasks) => self.forget(&tasks),
            Then::Fork(forking) => self.fork_work(*forking),
            Then::Forked(forking) => self.forked(now, &forking),
            Then::Begin { origin, task } => self.begin_work(now, origin, task),
            Then::WriteDown { change, then } => {
                self.out.push(Effect::WriteDown { change, then: WritingDown(then) });
            }
        }
    }

    /// Goes back to what the disk has. Whoever waited is told.
    pub(super) fn tree_save_failed(&mut self, now: Timestamp, ticket: EffectId, reason: &str) {
        let Some(InFlight { mut then, mut changed, .. }) =
            self.saves.in_flight.take_if(|saving| saving.ticket == ticket)
        else {
            return;
        };
        then.append(&mut self.saves.next);
        changed.append(&mut self.saves.changed);
        self.tree = Tree::clone(&self.saves.durable);
        self.changed.extend(changed);
        let text = format!("the tree could not be saved: {reason}");
        self.out.push(Effect::Notify(Notice { level: Level::Error, text: text.clone(), task: None }));
        for then in then {
            self.unsaved(now, then, &text);
        }
    }

    fn unsaved(&mut self, now: Timestamp, then: Then, text: &str) {
        match then {
            Then::Settle(origin, _) | Then::Begin { origin, .. } => {
                self.refuse(origin, Fault::environment(format!("nothing was changed: {text}")));
            }
            Then::Notify(_) => {
                self.refuse(Origin::ENGINE, Fault::environment(format!("nothing was changed: {text}")));
            }
            Then::Launch(task) => self.not_launched(now, task),
            Then::Completed(task) => {
                self.life(task).completion.interrupt();
                self.try_again_later(now, task);
            }
            Then::Moved(task) => {
                self.complete_if_done(now, task);
                self.tell_of_failure(now, task);
            }
            // A whole one that nobody knows to be whole is undone at the next start.
            Then::Fork(forking) | Then::Forked(forking) => {
                let fault = Fault::environment(format!("nothing was changed: {text}"));
                self.out.push(Effect::Reply { id: forking.command, result: Err(fault) });
            }
            Then::Removed(tasks) => self.let_go(now, &tasks),
            Then::WriteDown { then, .. } => self.unsaved(now, *then, text),
        }
    }
}

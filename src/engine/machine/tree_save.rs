//! Saving the tree. Changes are made in memory at once and saved together; their continuations run once they are saved.
//! If a save fails, the tree reverts to the last saved one.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::base::{Fault, TaskId, Timestamp};
use crate::config::recurring::PlanChange;
use crate::engine::command::Outcome;
use crate::engine::machine::slot::CompletionState;
use crate::engine::machine::{AppendContinuation, Effect, EffectId, Machine, Origin};
use crate::engine::update::{Level, Notice};
use crate::model::event::TaskChanged;
use crate::model::tree::Tree;

/// The saved tree, the save in flight, and what waits for the next one.
#[derive(Debug)]
pub(super) struct Saves {
    durable: Arc<Tree>,
    in_flight: Option<InFlight>,
    next: Vec<SaveContinuation>,
    changed: BTreeSet<TaskId>,
}

#[derive(Debug)]
struct InFlight {
    ticket: EffectId,
    tree: Arc<Tree>,
    then: Vec<SaveContinuation>,
    changed: BTreeSet<TaskId>,
}

/// Continues a change after the files of recurring tasks were written.
#[derive(Debug)]
pub struct PlanWriteContinuation(pub(super) Box<SaveContinuation>);

/// A continuation that runs once the tree is saved.
#[derive(Debug)]
pub(super) enum SaveContinuation {
    Reply(Origin, Outcome),
    Notify(Notice),
    Launch(TaskId),
    /// A completion is finished: check whether the task has more work.
    Completed(TaskId),
    /// The task has a new parent, which is notified if the task has ended.
    Moved(TaskId),
    Removed(Vec<TaskId>),
    /// A fork was created: copy conversation and files into it.
    Fork(Box<crate::engine::machine::rewind::PendingFork>),
    /// The fork is complete.
    Forked(Box<crate::engine::machine::rewind::PendingFork>),
    /// Write the files of recurring tasks, then continue.
    WritePlan {
        change: PlanChange,
        then: Box<SaveContinuation>,
    },
    /// Send the first message, now that the tree has the task.
    Begin {
        origin: Origin,
        task: TaskId,
    },
}

impl SaveContinuation {
    /// Returns a continuation that first applies a change to the files of recurring tasks, if there is one.
    pub(super) fn after_writing(self, change: Option<PlanChange>) -> Self {
        match change {
            Some(change) => Self::WritePlan { change, then: Box::new(self) },
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

    /// Returns the parent of a task in the saved tree.
    pub(super) fn parent_of(&self, task: TaskId) -> Option<TaskId> {
        self.durable.get(task)?.parent
    }
}

impl Machine {
    /// Schedules a save of the tree with the changes to `tasks`, then runs `then`.
    pub(super) fn commit(&mut self, tasks: impl IntoIterator<Item = TaskId>, then: SaveContinuation) {
        for task in tasks {
            self.saves.changed.insert(task);
            self.changed.insert(task);
        }
        self.saves.next.push(then);
        self.policies_changed();
    }

    /// As [`Machine::commit`], without changes of its own.
    pub(super) fn after_save(&mut self, then: SaveContinuation) {
        self.saves.next.push(then);
    }

    pub(super) fn save_if_needed(&mut self) {
        if self.saves.in_flight.is_some() || self.saves.next.is_empty() {
            return;
        }
        let ticket = self.next_effect_id();
        let tree = Arc::new(self.tree.clone());
        let then = std::mem::take(&mut self.saves.next);
        let changed = std::mem::take(&mut self.saves.changed);
        self.saves.in_flight = Some(InFlight { ticket, tree: Arc::clone(&tree), then, changed });
        self.out.push(Effect::SaveTree { ticket, tree });
    }

    pub(super) fn on_tree_saved(&mut self, now: Timestamp, ticket: EffectId) {
        let Some(InFlight { tree, then, changed, .. }) = self.saves.in_flight.take_if(|saving| saving.ticket == ticket)
        else {
            return;
        };
        // Sessions repeat the nodes, so that the tree can be rebuilt from them.
        for task in changed {
            let change = match tree.get(task) {
                Some(node) => TaskChanged::Set { node: Box::new(node.clone()) },
                None => TaskChanged::Removed,
            };
            self.append(task, vec![change.into()], AppendContinuation::Nothing);
        }
        self.saves.durable = tree;
        for then in then {
            self.resume_saved(now, then);
        }
    }

    pub(super) fn resume_saved(&mut self, now: Timestamp, then: SaveContinuation) {
        match then {
            SaveContinuation::Reply(origin, outcome) => self.reply(origin, outcome),
            SaveContinuation::Notify(notice) => self.out.push(Effect::Notify(notice)),
            SaveContinuation::Launch(task) => self.launch(now, task),
            SaveContinuation::Completed(task) => {
                self.runtime(task).completion = CompletionState::Idle;
                self.reconsider(now, task);
            }
            SaveContinuation::Moved(task) => {
                self.complete_if_done(now, task);
                self.report_launch_failure(now, task);
            }
            SaveContinuation::Removed(tasks) => self.forget(&tasks),
            SaveContinuation::Fork(fork) => self.start_fork_copy(*fork),
            SaveContinuation::Forked(fork) => self.finish_fork(now, &fork),
            SaveContinuation::Begin { origin, task } => self.begin_work(now, origin, task),
            SaveContinuation::WritePlan { change, then } => {
                self.out.push(Effect::WritePlan { change, then: PlanWriteContinuation(then) });
            }
        }
    }

    /// Reverts to the saved tree and fails everything that waited for the save.
    pub(super) fn on_tree_save_failed(&mut self, now: Timestamp, ticket: EffectId, reason: &str) {
        let Some(InFlight { mut then, mut changed, .. }) =
            self.saves.in_flight.take_if(|saving| saving.ticket == ticket)
        else {
            return;
        };
        then.append(&mut self.saves.next);
        changed.append(&mut self.saves.changed);
        self.tree = Tree::clone(&self.saves.durable);
        self.changed.extend(changed);
        let text = format!("cannot save the tree: {reason}");
        self.out.push(Effect::Notify(Notice { level: Level::Error, text: text.clone(), task: None }));
        for then in then {
            self.resume_unsaved(now, then, &text);
        }
    }

    fn resume_unsaved(&mut self, now: Timestamp, then: SaveContinuation, text: &str) {
        match then {
            SaveContinuation::Reply(origin, _) | SaveContinuation::Begin { origin, .. } => {
                self.refuse(origin, Fault::environment(format!("nothing was changed: {text}")));
            }
            SaveContinuation::Notify(_) => {
                self.refuse(Origin::ENGINE, Fault::environment(format!("nothing was changed: {text}")));
            }
            SaveContinuation::Launch(task) => self.on_launch_not_saved(now, task),
            SaveContinuation::Completed(task) => {
                self.runtime(task).completion.interrupt();
                self.schedule_retry(now, task);
            }
            SaveContinuation::Moved(task) => {
                self.complete_if_done(now, task);
                self.report_launch_failure(now, task);
            }
            // A fork that is complete but not recorded as complete is undone at the next start.
            SaveContinuation::Fork(fork) | SaveContinuation::Forked(fork) => {
                let fault = Fault::environment(format!("nothing was changed: {text}"));
                self.out.push(Effect::Reply { id: fork.command, result: Err(fault) });
            }
            SaveContinuation::Removed(tasks) => self.release_holds(now, &tasks),
            SaveContinuation::WritePlan { then, .. } => self.resume_unsaved(now, *then, text),
        }
    }
}

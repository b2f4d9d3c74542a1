//! Closing, resetting, deleting and handing over tasks whose runs have to end first. The affected tasks are held meanwhile, so that
//! no run starts there.

use crate::base::{Fault, TaskId, Timestamp};
use crate::engine::command::Actor;
use crate::engine::machine::handover::HandoverRequest;
use crate::engine::machine::slot::{Hold, Slot};
use crate::engine::machine::{Machine, Origin, TaskRuntime};
use crate::model::event::InterruptReason;

/// A change that waits for runs to end.
#[derive(Clone, Debug)]
pub(in crate::engine::machine) enum DeferredChange {
    Close,
    Reset,
    Delete,
    HandOver(Box<HandoverRequest>),
}

/// A change with the tasks that it holds meanwhile.
#[derive(Debug)]
pub(in crate::engine::machine) struct Deferred {
    origin: Origin,
    task: TaskId,
    change: DeferredChange,
    /// The tasks that it holds. They are stored because a failed save of a move may take one out of the subtree again.
    held: Vec<TaskId>,
}

/// An obstacle that a removal has to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    None,
    /// Its run is ending, or the end is being written.
    Ending,
    /// It has a run, or waits for a slot.
    Working,
    Changing,
}

impl DeferredChange {
    /// Returns true if the change stops running agents. Closing a running task is more likely a mistake.
    fn stops_agents(&self) -> bool {
        match self {
            Self::Reset | Self::Delete | Self::HandOver(_) => true,
            Self::Close => false,
        }
    }
}

impl Machine {
    /// Returns the tasks whose runs have to end first.
    fn affected_tasks(&self, task: TaskId, change: &DeferredChange) -> Vec<TaskId> {
        match change {
            DeferredChange::Reset | DeferredChange::HandOver(_) => vec![task],
            DeferredChange::Close | DeferredChange::Delete => self.tree.walk(task).map(|node| node.id).collect(),
        }
    }

    fn obstacle(&self, task: TaskId) -> Obstacle {
        let Some(runtime) = self.runtimes.get(&task) else { return Obstacle::None };
        match &runtime.slot {
            Slot::Leaving { .. } | Slot::Halting => Obstacle::Ending,
            slot if slot.stop().is_some() => Obstacle::Ending,
            Slot::Launching { .. } | Slot::Running { .. } => Obstacle::Working,
            Slot::Free if self.queue.contains(&task) => Obstacle::Working,
            Slot::Free if self.is_completing(task) => Obstacle::Ending,
            Slot::Free if runtime.holds.has(Hold::Withdrawal) || runtime.holds.has(Hold::Merge) => Obstacle::Changing,
            Slot::Free => Obstacle::None,
        }
    }

    /// Defers a change until runs have ended, and stops agents if the change does so. Returns false if it need not or
    /// cannot be deferred.
    pub(in crate::engine::machine) fn defer(&mut self, origin: Origin, task: TaskId, change: DeferredChange) -> bool {
        let affected = self.affected_tasks(task, &change);
        let is_edited = |runtime: &TaskRuntime| runtime.holds.has(Hold::Change);
        let obstacles: Vec<(TaskId, Obstacle)> = affected.iter().map(|task| (*task, self.obstacle(*task))).collect();
        let has = |wanted: Obstacle| obstacles.iter().any(|(_, obstacle)| *obstacle == wanted);
        let changing =
            has(Obstacle::Changing) || affected.iter().any(|task| self.runtimes.get(task).is_some_and(is_edited));
        let working = has(Obstacle::Working);
        if changing || (working && !change.stops_agents()) || !(working || has(Obstacle::Ending)) {
            return false;
        }
        for (task, obstacle) in obstacles {
            if obstacle == Obstacle::Working {
                self.stop_run(task, &InterruptReason::Stopped);
            }
            self.runtime(task).holds.add(Hold::Change);
        }
        self.deferred.push(Deferred { origin, task, change, held: affected });
        true
    }

    /// Makes the deferred changes whose runs have ended.
    pub(in crate::engine::machine) fn run_deferred(&mut self, now: Timestamp) {
        let mut at = 0;
        while let Some(Deferred { task, change, .. }) = self.deferred.get(at) {
            let affected = self.affected_tasks(*task, change);
            if affected.iter().any(|task| self.obstacle(*task) != Obstacle::None) {
                at += 1;
                continue;
            }
            let Deferred { origin, task, change, held } = self.deferred.remove(at);
            self.unhold(&held);
            // The task may have been moved out of the agent's subtree.
            let allowed = match origin.actor {
                Actor::Agent(own) => self.check_below(own, task),
                Actor::User | Actor::Engine => Ok(()),
            };
            let made = allowed.and_then(|()| match change {
                DeferredChange::Close => self.close(now, origin, task),
                DeferredChange::Reset => self.reset(now, origin, task),
                DeferredChange::Delete => self.delete(now, origin, task),
                DeferredChange::HandOver(request) => self.start_handover(now, *request),
            });
            let refused = made.map_err(|fault| self.refuse(origin, fault)).is_err();
            // Tasks that the change does not hold are released, and may have new messages.
            let is_free =
                |task: &TaskId| self.runtimes.get(task).is_some_and(|runtime| !runtime.holds.has(Hold::Change));
            let spared: Vec<TaskId> = held.into_iter().filter(|task| refused || is_free(task)).collect();
            self.release_holds(now, &spared);
        }
    }

    fn unhold(&mut self, tasks: &[TaskId]) {
        for task in tasks {
            if let Some(runtime) = self.runtimes.get_mut(task) {
                runtime.holds.remove(Hold::Change);
            }
        }
    }

    /// Refuses all deferred changes on quit.
    pub(in crate::engine::machine) fn drop_deferred(&mut self) {
        for Deferred { origin, held, .. } in std::mem::take(&mut self.deferred) {
            self.unhold(&held);
            self.refuse(origin, Fault::environment("nothing was changed: mxd is quitting"));
        }
    }
}

//! Changes that wait for runs to end: closing, resetting or deleting tasks whose agents have ended, or are being stopped,
//! and whose runs are not over yet. What they are about is held meanwhile, so that nobody begins to work there.

use crate::base::{Fault, TaskId, Timestamp};
use crate::engine::command::Actor;
use crate::engine::machine::slot::{Hold, Slot};
use crate::engine::machine::{Life, Machine, Origin};
use crate::model::event::InterruptReason;

/// A change that puts work away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine::machine) enum Removal {
    Close,
    Reset,
    Delete,
}

/// A change that waits until nobody is at work any more.
#[derive(Debug)]
pub(in crate::engine::machine) struct Deferred {
    origin: Origin,
    task: TaskId,
    removal: Removal,
    /// The tasks that are held for it. A move that the disk refuses meanwhile may take one out of the subtree again.
    held: Vec<TaskId>,
}

/// What keeps a task from being put away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle {
    None,
    /// Its run is ending, or its end is being written.
    Ending,
    /// An agent works on it, or is about to.
    Working,
    /// Another change is under way.
    Changing,
}

impl Removal {
    /// Tells whether agents that are at work are stopped for it. To close a task that works is a mistake more often.
    fn stops_agents(self) -> bool {
        match self {
            Self::Reset | Self::Delete => true,
            Self::Close => false,
        }
    }
}

impl Machine {
    /// Returns the tasks that have to rest before the change.
    fn concerned(&self, task: TaskId, removal: Removal) -> Vec<TaskId> {
        match removal {
            Removal::Reset => vec![task],
            Removal::Close | Removal::Delete => self.tree.walk(task).map(|node| node.id).collect(),
        }
    }

    fn obstacle(&self, task: TaskId) -> Obstacle {
        let Some(life) = self.lives.get(&task) else { return Obstacle::None };
        match &life.slot {
            Slot::Leaving { .. } | Slot::Halting => Obstacle::Ending,
            slot if slot.stop().is_some() => Obstacle::Ending,
            Slot::Launching { .. } | Slot::Running { .. } => Obstacle::Working,
            Slot::Free if self.queue.contains(&task) => Obstacle::Working,
            Slot::Free if self.is_completing(task) => Obstacle::Ending,
            Slot::Free if life.holds.has(Hold::Withdrawal) || life.holds.has(Hold::Merge) => Obstacle::Changing,
            Slot::Free => Obstacle::None,
        }
    }

    /// Tells whether a change has to wait for runs to end. If so, it is made when they have; agents that are at work are
    /// stopped for a change that allows it.
    pub(super) fn defer(&mut self, origin: Origin, task: TaskId, removal: Removal) -> bool {
        let concerned = self.concerned(task, removal);
        let is_edited = |life: &Life| life.holds.has(Hold::Change);
        let obstacles: Vec<(TaskId, Obstacle)> = concerned.iter().map(|task| (*task, self.obstacle(*task))).collect();
        let has = |wanted: Obstacle| obstacles.iter().any(|(_, obstacle)| *obstacle == wanted);
        let changing =
            has(Obstacle::Changing) || concerned.iter().any(|task| self.lives.get(task).is_some_and(is_edited));
        let working = has(Obstacle::Working);
        if changing || (working && !removal.stops_agents()) || !(working || has(Obstacle::Ending)) {
            return false;
        }
        for (task, obstacle) in obstacles {
            if obstacle == Obstacle::Working {
                self.stop_run(task, &InterruptReason::Stopped);
            }
            self.life(task).holds.add(Hold::Change);
        }
        self.deferred.push(Deferred { origin, task, removal, held: concerned });
        true
    }

    /// Makes the changes that waited for runs that are over now.
    pub(in crate::engine::machine) fn make_deferred(&mut self, now: Timestamp) {
        let mut at = 0;
        while let Some(Deferred { task, removal, .. }) = self.deferred.get(at) {
            let concerned = self.concerned(*task, *removal);
            if concerned.iter().any(|task| self.obstacle(*task) != Obstacle::None) {
                at += 1;
                continue;
            }
            let Deferred { origin, task, removal, held } = self.deferred.remove(at);
            self.unhold(&held);
            // The task may have been moved meanwhile.
            let allowed = match origin.actor {
                Actor::Agent(own) => self.check_below(own, task),
                Actor::User | Actor::Engine => Ok(()),
            };
            let made = allowed.and_then(|()| match removal {
                Removal::Close => self.close(now, origin, task),
                Removal::Reset => self.reset(now, origin, task),
                Removal::Delete => self.delete(now, origin, task),
            });
            let refused = made.map_err(|fault| self.refuse(origin, fault)).is_err();
            // What the change itself does not hold is free again, and may have been spoken to meanwhile.
            let is_free = |task: &TaskId| self.lives.get(task).is_some_and(|life| !life.holds.has(Hold::Change));
            let spared: Vec<TaskId> = held.into_iter().filter(|task| refused || is_free(task)).collect();
            self.let_go(now, &spared);
        }
    }

    fn unhold(&mut self, tasks: &[TaskId]) {
        for task in tasks {
            if let Some(life) = self.lives.get_mut(task) {
                life.holds.remove(Hold::Change);
            }
        }
    }

    /// Gives up what waits: the program ends.
    pub(in crate::engine::machine) fn drop_deferred(&mut self) {
        for Deferred { origin, held, .. } in std::mem::take(&mut self.deferred) {
            self.unhold(&held);
            self.refuse(origin, Fault::environment("nothing was changed: Matrix is ending"));
        }
    }
}

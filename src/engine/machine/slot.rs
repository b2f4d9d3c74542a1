//! What a task's slot is doing, what keeps it from being taken, and how far its completion is.

use crate::base::{EventId, Timestamp};
use crate::model::event::{InterruptReason, Verdict};

/// What a task's slot is doing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Slot {
    #[default]
    Free,
    /// Decided; the tree is being saved, the worktree made ready.
    Launching {
        /// Whether the order has been given.
        ordered: bool,
        stop: Option<Stop>,
    },
    Running {
        /// It waits for a process of its own or for the user.
        asleep: bool,
        stop: Option<Stop>,
    },
    /// Its session says how it ended, and the run is not over yet.
    Leaving { stop: Option<Stop> },
    /// The user stopped it without a run, and its session does not say so yet.
    Halting,
}

/// Why a run was told to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) reason: InterruptReason,
    /// The user stopped it once more while it was stopping: what was said in between is not heeded either.
    pub(super) again: bool,
}

impl Slot {
    /// Returns true if a run is there, or about to be.
    pub(super) fn has_run(&self) -> bool {
        match self {
            Self::Launching { .. } | Self::Running { .. } | Self::Leaving { .. } => true,
            Self::Free | Self::Halting => false,
        }
    }

    /// Returns true if a run can be spoken to.
    pub(super) fn is_alive(&self) -> bool {
        matches!(self, Self::Running { .. } | Self::Leaving { .. })
    }

    /// Returns true if a run counts among those that may work at once.
    pub(super) fn is_at_work(&self) -> bool {
        self.has_run() && !self.is_asleep()
    }

    pub(super) fn is_asleep(&self) -> bool {
        matches!(self, Self::Running { asleep: true, .. })
    }

    /// Returns why its run was told to end, if it was.
    pub(super) fn stop(&self) -> Option<&Stop> {
        match self {
            Self::Launching { stop, .. } | Self::Running { stop, .. } | Self::Leaving { stop } => stop.as_ref(),
            Self::Free | Self::Halting => None,
        }
    }

    /// Returns true if the user stopped the task, and its session may not say so yet.
    pub(super) fn is_stopped_by_user(&self) -> bool {
        *self == Self::Halting || self.stop().is_some_and(|stop| stop.reason == InterruptReason::Stopped)
    }

    /// Takes note that the run is to end. The first reason counts; a second stop of the user counts as one more.
    pub(super) fn tell_to_stop(&mut self, reason: &InterruptReason) {
        let is_alive = self.is_alive();
        let (Self::Launching { stop, .. } | Self::Running { stop, .. } | Self::Leaving { stop }) = self else { return };
        match stop {
            None => *stop = Some(Stop { reason: reason.clone(), again: false }),
            Some(stop) => stop.again |= is_alive && *reason == InterruptReason::Stopped,
        }
    }
}

/// What is under way at a task besides its run. While anything is, no run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// A change or a job that must not be disturbed. There is one at a time.
    Change,
    /// A merge that writes files where the task works.
    Merge,
    /// Messages are being taken out of its session.
    Withdrawal,
}

#[derive(Debug, Default)]
pub(super) struct Holds(Vec<Hold>);

impl Holds {
    pub(super) fn add(&mut self, hold: Hold) {
        if hold != Hold::Change || !self.has(Hold::Change) {
            self.0.push(hold);
        }
    }

    /// Ends one hold of this kind.
    pub(super) fn remove(&mut self, hold: Hold) {
        if let Some(at) = self.0.iter().position(|held| *held == hold) {
            self.0.swap_remove(at);
        }
    }

    pub(super) fn has(&self, hold: Hold) -> bool {
        self.0.contains(&hold)
    }
}

/// How far the end of a run has come on its way to the user, to the task above and into the tree.
#[derive(Debug, Default)]
pub(super) enum Completion {
    #[default]
    Idle,
    /// The work is being measured, to be shown to the user for review.
    Measuring,
    /// The message is on its way to the task above.
    Telling { verdict: Verdict, result: String },
    /// The task above has the message about this end of a run; the session and the tree follow.
    Told { end: Option<EventId> },
    /// The task above has the message, and the disk refused what follows: that is tried again.
    Interrupted { end: Option<EventId> },
}

impl Completion {
    /// Returns true if the task above is being told, or knows and the tree does not say so yet.
    pub(super) fn is_under_way(&self) -> bool {
        matches!(self, Self::Telling { .. } | Self::Told { .. })
    }

    /// Returns the end of a run that the task above has heard of, whatever the disk made of the rest.
    pub(super) fn told(&self) -> Option<EventId> {
        match self {
            Self::Told { end } | Self::Interrupted { end } => *end,
            Self::Idle | Self::Measuring | Self::Telling { .. } => None,
        }
    }

    /// The disk refused a part of it: it begins again from what the disk has.
    pub(super) fn interrupt(&mut self) {
        *self = Self::Interrupted { end: self.told() };
    }
}

/// Whether a model says anything while a request is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Words {
    #[default]
    None,
    /// The last word came then.
    Last(Timestamp),
    /// The last word came then, and that is long ago.
    Silent(Timestamp),
}

impl Words {
    pub(super) fn last(self) -> Option<Timestamp> {
        match self {
            Self::Last(at) | Self::Silent(at) => Some(at),
            Self::None => None,
        }
    }
}

/// What the disk made of what was last written for a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Disk {
    #[default]
    Takes,
    /// It refused so many times in a row.
    Refused(u32),
    /// The same, and what it refused is tried again after a pause.
    TriedAgainSoon(u32),
}

impl Disk {
    pub(super) fn refusals(self) -> u32 {
        match self {
            Self::Takes => 0,
            Self::Refused(times) | Self::TriedAgainSoon(times) => times,
        }
    }

    pub(super) fn is_tried_again(self) -> bool {
        matches!(self, Self::TriedAgainSoon(_))
    }
}

#[cfg(test)]
#[path = "slot_tests.rs"]
mod tests;

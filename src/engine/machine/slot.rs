//! Per-task state enums: the slot of a run, holds that block it, the progress of a completion, output and disk health.

use crate::base::{EventId, Timestamp};
use crate::model::event::{InterruptReason, Verdict};

/// The state of a task's run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Slot {
    #[default]
    Free,
    /// The launch is decided. The tree is being saved or the worktree set up.
    Launching {
        /// Whether the driver has the launch order.
        ordered: bool,
        stop: Option<StopRequest>,
    },
    Running {
        /// It waits for a background process or for the user.
        asleep: bool,
        stop: Option<StopRequest>,
    },
    /// Its session has the end of the run, but the run is not over yet.
    Leaving { stop: Option<StopRequest> },
    /// The user stopped the task while it had no run, and the stop is being written.
    Halting,
}

/// Why a run is being stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StopRequest {
    pub(super) reason: InterruptReason,
    /// The user stopped it again while it was stopping, so messages sent in between do not resume it either.
    pub(super) again: bool,
}

impl Slot {
    /// Returns true if there is a run or a launch.
    pub(super) fn has_run(&self) -> bool {
        match self {
            Self::Launching { .. } | Self::Running { .. } | Self::Leaving { .. } => true,
            Self::Free | Self::Halting => false,
        }
    }

    /// Returns true if there is a run that can receive commands.
    pub(super) fn is_alive(&self) -> bool {
        matches!(self, Self::Running { .. } | Self::Leaving { .. })
    }

    /// Returns true if the run counts towards the limit of concurrent runs.
    pub(super) fn is_at_work(&self) -> bool {
        self.has_run() && !self.is_asleep()
    }

    pub(super) fn is_asleep(&self) -> bool {
        matches!(self, Self::Running { asleep: true, .. })
    }

    /// Returns the stop request, if there is one.
    pub(super) fn stop(&self) -> Option<&StopRequest> {
        match self {
            Self::Launching { stop, .. } | Self::Running { stop, .. } | Self::Leaving { stop } => stop.as_ref(),
            Self::Free | Self::Halting => None,
        }
    }

    /// Returns true if the user stopped the task. Its session may not have the stop yet.
    pub(super) fn is_stopped_by_user(&self) -> bool {
        *self == Self::Halting || self.stop().is_some_and(|stop| stop.reason == InterruptReason::Stopped)
    }

    /// Requests a stop. The first reason counts; a second stop by the user is recorded as such.
    pub(super) fn request_stop(&mut self, reason: &InterruptReason) {
        let is_alive = self.is_alive();
        let (Self::Launching { stop, .. } | Self::Running { stop, .. } | Self::Leaving { stop }) = self else { return };
        match stop {
            None => *stop = Some(StopRequest { reason: reason.clone(), again: false }),
            Some(stop) => stop.again |= is_alive && *reason == InterruptReason::Stopped,
        }
    }
}

/// Something besides a run that is under way at a task. While any is, no run starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// A change or a job that must not be disturbed. There is at most one.
    Change,
    /// A merge that writes files in the task's checkout.
    Merge,
    /// Messages are being withdrawn from its session.
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

    /// Removes one hold of this kind.
    pub(super) fn remove(&mut self, hold: Hold) {
        if let Some(at) = self.0.iter().position(|held| *held == hold) {
            self.0.swap_remove(at);
        }
    }

    pub(super) fn has(&self, hold: Hold) -> bool {
        self.0.contains(&hold)
    }
}

/// Progress of reporting the end of a run to the user, the parent task and the tree.
#[derive(Debug, Default)]
pub(super) enum CompletionState {
    #[default]
    Idle,
    /// The diff is being measured for the user's review.
    Measuring,
    /// The message to the parent task is being written.
    Notifying { verdict: Verdict, result: String },
    /// The parent has the message about this end of a run. The session and the tree follow.
    Notified { end: Option<EventId> },
    /// A write failed and will be retried. `end` is set if the parent already has the message.
    Interrupted { end: Option<EventId> },
}

impl CompletionState {
    /// Returns true if the parent is being notified, or was notified and the tree is not saved yet.
    pub(super) fn is_under_way(&self) -> bool {
        matches!(self, Self::Notifying { .. } | Self::Notified { .. })
    }

    /// Returns the end of a run that the parent was notified of.
    pub(super) fn notified_end(&self) -> Option<EventId> {
        match self {
            Self::Notified { end } | Self::Interrupted { end } => *end,
            Self::Idle | Self::Measuring | Self::Notifying { .. } => None,
        }
    }

    /// Records that a write failed: reporting restarts from what is on disk.
    pub(super) fn interrupt(&mut self) {
        *self = Self::Interrupted { end: self.notified_end() };
    }
}

/// Output of a model during a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum StreamActivity {
    #[default]
    None,
    /// The time of the last output.
    Last(Timestamp),
    /// The time of the last output, which is longer ago than the timeout.
    Silent(Timestamp),
}

impl StreamActivity {
    pub(super) fn last(self) -> Option<Timestamp> {
        match self {
            Self::Last(at) | Self::Silent(at) => Some(at),
            Self::None => None,
        }
    }
}

/// The result of recent writes for a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DiskHealth {
    #[default]
    Healthy,
    /// Number of consecutive failures.
    Failing(u32),
    /// Number of consecutive failures. A retry is scheduled.
    RetryScheduled(u32),
}

impl DiskHealth {
    pub(super) fn failures(self) -> u32 {
        match self {
            Self::Healthy => 0,
            Self::Failing(failures) | Self::RetryScheduled(failures) => failures,
        }
    }

    pub(super) fn is_retry_scheduled(self) -> bool {
        matches!(self, Self::RetryScheduled(_))
    }
}

#[cfg(test)]
#[path = "slot_tests.rs"]
mod tests;

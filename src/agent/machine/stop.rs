//! Interrupts, the end of the run from outside, at once or after the turn in progress, and the end after a failed write.

use crate::agent::machine::{AfterSave, Effect, Machine, Phase};
use crate::base::Timestamp;
use crate::model::event::{Exit, InterruptReason};
use crate::model::live::Activity;

impl Machine {
    /// Ends the run at once: an event could not be stored, so nothing more may happen.
    pub(super) fn abandon(&mut self, reason: String) {
        match self.phase {
            Phase::Calling { number, .. } | Phase::Counting { number } => {
                self.effects.push(Effect::CancelModel { number });
            }
            Phase::Tools(_) => self.effects.push(Effect::CancelTools),
            Phase::Saving { .. }
            | Phase::Preparing { .. }
            | Phase::Reserving { .. }
            | Phase::AwaitingBudget { .. }
            | Phase::Backoff { .. }
            | Phase::Asking { .. }
            | Phase::Holding
            | Phase::Parked
            | Phase::Ended => {}
        }
        self.finish(Exit::Interrupted(InterruptReason::Storage(reason)));
    }

    pub(super) fn interrupt(&mut self, now: Timestamp) {
        match self.phase {
            // Nothing to interrupt.
            Phase::Parked | Phase::Asking { .. } | Phase::Ended => {}
            Phase::Holding => {
                self.stop_requests.interrupt = true;
                self.advance(now);
            }
            // This may be a request for a summary. The context is unchanged, and the summary is requested again when
            // needed.
            Phase::Calling { number, .. } => {
                self.stop_requests.interrupt = true;
                self.effects.push(Effect::CancelModel { number });
            }
            // The size of the next request no longer matters.
            Phase::Counting { number } => {
                self.stop_requests.interrupt = true;
                self.effects.push(Effect::CancelModel { number });
                self.advance(now);
            }
            Phase::Tools(_) => {
                self.stop_requests.interrupt = true;
                self.effects.push(Effect::CancelTools);
            }
            Phase::Backoff { timer, .. } | Phase::AwaitingBudget { timer, .. } => {
                self.stop_requests.interrupt = true;
                self.effects.push(Effect::CancelSleep { timer });
                self.advance(now);
            }
            // These end within moments; the interrupt is handled then.
            Phase::Saving { .. } | Phase::Preparing { .. } | Phase::Reserving { .. } => {
                self.stop_requests.interrupt = true;
            }
        }
    }

    pub(super) fn teardown(&mut self, now: Timestamp, reason: InterruptReason) {
        self.stop_requests.teardown.get_or_insert(reason);
        match &mut self.phase {
            &mut Phase::Calling { number, .. } => self.effects.push(Effect::CancelModel { number }),
            Phase::Tools(_) => self.effects.push(Effect::CancelTools),
            &mut (Phase::Backoff { timer, .. } | Phase::AwaitingBudget { timer, .. }) => {
                self.effects.push(Effect::CancelSleep { timer });
                self.advance(now);
            }
            &mut Phase::Counting { number } => {
                self.effects.push(Effect::CancelModel { number });
                self.advance(now);
            }
            // The summary is discarded, but it was paid for.
            Phase::Preparing { after } => match after.take() {
                Some(summary) => self.save(vec![summary.usage.into()], AfterSave::Advance),
                None => self.advance(now),
            },
            Phase::Parked | Phase::Asking { .. } | Phase::Holding | Phase::Reserving { .. } => self.advance(now),
            Phase::Saving { .. } | Phase::Ended => {}
        }
    }

    /// Lets the turn in progress finish, and ends the run then.
    pub(super) fn wrap_up(&mut self, now: Timestamp) {
        self.stop_requests.wrap_up = true;
        match &self.phase {
            &Phase::Backoff { timer, .. } | &Phase::AwaitingBudget { timer, .. } => {
                self.effects.push(Effect::CancelSleep { timer });
                self.advance(now);
            }
            &Phase::Counting { number } => {
                self.effects.push(Effect::CancelModel { number });
                self.advance(now);
            }
            Phase::Preparing { after: None }
            | Phase::Parked
            | Phase::Asking { .. }
            | Phase::Holding
            | Phase::Reserving { .. } => {
                self.advance(now);
            }
            // A summary that was paid for is saved.
            Phase::Preparing { after: Some(_) }
            | Phase::Saving { .. }
            | Phase::Calling { .. }
            | Phase::Tools(_)
            | Phase::Ended => {}
        }
    }

    /// Ends the run, or waits for its background processes, which would end with it.
    pub(super) fn end_or_await_processes(&mut self) {
        if self.state.background.is_empty() {
            return self.end(Exit::Interrupted(InterruptReason::Quit));
        }
        // Not `park`: nothing that waits here was acted on.
        self.phase = Phase::Parked;
        self.effects.push(Effect::Activity(Activity::Idle));
    }
}

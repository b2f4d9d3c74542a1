//! The end of a run: what it means for the task, for the one above it, and for those who wait for a slot.

use std::time::Duration;

use crate::base::{Fault, MessageId, TaskId, Timestamp};
use crate::engine::machine::delivering::Plan;
use crate::engine::machine::slot::Disk;
use crate::engine::machine::{Effect, Machine, Pending, Timer};
use crate::engine::update::{Level, Notice};
use crate::model::event::{Exit, InterruptReason, Verdict};
use crate::model::live::Activity;
use crate::model::message::Source;
use crate::model::run::Ending;
use crate::model::task::Status;

/// How long to wait before something that the disk refused is tried again, and how long at most.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// What has happened to a run whose session the disk refuses.
const SESSION_REFUSED: &str = "the run ended because its session could not be written";
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl Machine {
    pub(super) fn run_over(&mut self, now: Timestamp, task: TaskId, ending: Result<Ending, Fault>) {
        if self.lives.get(&task).is_none_or(|life| !life.slot.has_run()) {
            return;
        }
        let stop = self.end_of_run(task);
        let again = stop.as_ref().is_some_and(|stop| stop.again);
        let stopped = stop.is_some_and(|stop| stop.reason == InterruptReason::Stopped);
        let life = self.life(task);
        life.retry = None;
        life.since = Some(now);
        life.activity = match &ending {
            Ok(Ending::Resting) if !life.state.asks.is_empty() => Activity::Waiting,
            Ok(Ending::Resting) => Activity::Idle,
            Ok(Ending::Exited(_)) | Err(_) => Activity::Stopped,
        };
        match ending {
            Ok(Ending::Exited(Exit::Interrupted(InterruptReason::Stopped))) if again => self.put_to_rest(task),
            // What follows from these, follows from the event. Something may have been said since.
            Ok(Ending::Exited(Exit::DonePassed | Exit::DoneFailed | Exit::Interrupted(InterruptReason::Stopped))) => {
                self.reconsider(now, task);
            }
            // It came to its end by itself, without having heard that it was to.
            _ if stopped => self.put_to_rest(task),
            Ok(Ending::Resting) => {
                self.reconsider(now, task);
                self.finish_again(now, task);
                self.tell_of_rest(now, task);
            }
            Ok(Ending::Exited(Exit::Interrupted(reason))) => self.interrupted(now, task, &reason),
            Err(fault) => self.disk_refused(now, task, SESSION_REFUSED, &fault.message),
        }
        self.run_is_gone(now, task);
    }

    fn interrupted(&mut self, now: Timestamp, task: TaskId, reason: &InterruptReason) {
        match reason {
            InterruptReason::Stopped | InterruptReason::Quit | InterruptReason::TaskGone => {}
            InterruptReason::Storage(reason) => self.disk_refused(now, task, SESSION_REFUSED, reason),
            InterruptReason::Internal(reason) | InterruptReason::Provider(reason) => {
                self.give_up_until_answered(now, task, "was broken off", Fault::internal(reason.clone()));
            }
            InterruptReason::Budget => self.fail(now, task, "Its budget is spent."),
            InterruptReason::TurnLimit => self.fail(now, task, "It has had as many turns as it may have."),
        }
    }

    /// Says what the disk refused and why, and tries again when it may take it.
    pub(super) fn disk_refused(&mut self, now: Timestamp, task: TaskId, what: &str, reason: &str) {
        self.say_refused(task, what, reason);
        self.try_again_later(now, task);
    }

    pub(super) fn say_refused(&mut self, task: TaskId, what: &str, reason: &str) {
        let pause = pause_after(self.life(task).disk.refusals());
        let text =
            format!("{what}: {reason}; nothing that was kept is lost, and it is tried again in {} s", pause.as_secs());
        self.out.push(Effect::Notify(Notice { level: Level::Error, text, task: Some(task) }));
    }

    /// Tries again when the cause may be gone, of which the person has heard.
    pub(super) fn try_again_later(&mut self, now: Timestamp, task: TaskId) {
        self.wake_after_refusal(now, task, Timer::TryAgain { task });
        let life = self.life(task);
        life.disk = Disk::TriedAgainSoon(life.disk.refusals());
    }

    /// The disk takes what it had refused: the next refusal is another one.
    pub(super) fn disk_took(&mut self, task: TaskId) {
        if let Some(life) = self.lives.get_mut(&task) {
            life.disk = Disk::Takes;
        }
    }

    pub(super) fn wake_after_refusal(&mut self, now: Timestamp, task: TaskId, timer: Timer) {
        let life = self.life(task);
        let pause = pause_after(life.disk.refusals());
        life.disk = match life.disk {
            Disk::Takes => Disk::Refused(1),
            Disk::Refused(times) => Disk::Refused(times + 1),
            Disk::TriedAgainSoon(times) => Disk::TriedAgainSoon(times + 1),
        };
        self.out.push(Effect::Wake { timer, at: now.later(pause) });
    }

    /// An agent that sleeps without having said that it is done, and waits for nobody, would never be looked at again:
    /// the task above is told.
    fn tell_of_rest(&mut self, now: Timestamp, task: TaskId) {
        let Some(node) = self.tree.get(task) else { return };
        let Some(above) = node.parent.filter(|_| node.status == Status::InProgress) else { return };
        // Whoever has finished is not woken by a notice: the user, who woke this one, sees that it sleeps.
        if matches!(self.status(above), Some(Status::Passed | Status::Failed | Status::Closed)) {
            return;
        }
        let Some(life) = self.lives.get(&task) else { return };
        let waits = life.slot.has_run()
            || self.queue.contains(&task)
            || self.asked_above(task).is_some()
            || !life.state.asks.is_empty()
            || self.works_below(task);
        if waits || life.state.turns.exit().is_some() {
            return;
        }
        let body = format!(
            "The sub task \"{}\" ({}) ended its turn without calling done and sleeps. Nothing below it is at work. Tell it \
             what to do next, or close it.",
            node.title, node.id
        );
        let message = self.message(now, Source::Notice, body);
        self.deliver(above, message, Plan::default(), Pending::Nothing);
    }

    /// Tells whether anything below a task is at work, or will be.
    pub(super) fn works_below(&self, task: TaskId) -> bool {
        self.tree.walk(task).skip(1).any(|node| node.status == Status::InProgress)
    }

    /// A run ended without a verdict: the task above is told that it failed.
    pub(super) fn fail(&mut self, now: Timestamp, task: TaskId, why: &str) {
        self.announce(now, task, Verdict::Failed, why.to_owned(), MessageId::fresh(&self.ids));
    }
}

/// Returns how long to wait after so many refusals in a row.
fn pause_after(refusals: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << refusals.min(5)).min(LONGEST_PAUSE)
}

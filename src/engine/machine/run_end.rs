//! The end of a run: its effect on the task, the parent and the queue. Also retries after disk errors.

use std::time::Duration;

use crate::base::{Fault, MessageId, TaskId, Timestamp};
use crate::engine::machine::completion::status_of;
use crate::engine::machine::delivery::DeliveryPlan;
use crate::engine::machine::slot::DiskHealth;
use crate::engine::machine::{AppendContinuation, Effect, Machine, Timer};
use crate::engine::update::{Level, Notice};
use crate::model::event::{Exit, InterruptReason, Verdict};
use crate::model::live::Activity;
use crate::model::message::MessageSource;
use crate::model::run::Ending;
use crate::model::task::Status;

/// Delay before a failed write is retried. It doubles with each failure.
const MIN_RETRY_DELAY: Duration = Duration::from_secs(2);
const SESSION_WRITE_FAILED: &str = "cannot write the session, so the run ended";
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

impl Machine {
    pub(super) fn on_run_over(&mut self, now: Timestamp, task: TaskId, ending: Result<Ending, Fault>) {
        if self.runtimes.get(&task).is_none_or(|runtime| !runtime.slot.has_run()) {
            return;
        }
        let stop = self.release_slot(task);
        let again = stop.as_ref().is_some_and(|stop| stop.again);
        let stopped = stop.is_some_and(|stop| stop.reason == InterruptReason::Stopped);
        let runtime = self.runtime(task);
        runtime.retry = None;
        runtime.since = Some(now);
        runtime.activity = match &ending {
            Ok(Ending::Idle) if !runtime.state.asks.is_empty() => Activity::Waiting,
            Ok(Ending::Idle) => Activity::Idle,
            Ok(Ending::Exited(_)) | Err(_) => Activity::Stopped,
        };
        match ending {
            Ok(Ending::Exited(Exit::Interrupted(InterruptReason::Stopped))) if again => self.record_stop(task),
            // The event of the end was already handled. New messages may have arrived since.
            Ok(Ending::Exited(Exit::DonePassed | Exit::DoneFailed | Exit::Interrupted(InterruptReason::Stopped))) => {
                self.reconsider(now, task);
            }
            // The run ended before it received the stop.
            _ if stopped => self.record_stop(task),
            Ok(Ending::Idle) => {
                self.reconsider(now, task);
                self.report_idle_task(now, task);
                self.restore_finished_status(now, task);
            }
            Ok(Ending::Exited(Exit::Interrupted(reason))) => self.on_interrupted(now, task, &reason),
            Err(fault) => self.on_disk_error(now, task, SESSION_WRITE_FAILED, &fault.message),
        }
        self.on_run_gone(now, task);
    }

    fn on_interrupted(&mut self, now: Timestamp, task: TaskId, reason: &InterruptReason) {
        match reason {
            InterruptReason::Stopped | InterruptReason::Quit | InterruptReason::TaskGone => {}
            InterruptReason::Storage(reason) => self.on_disk_error(now, task, SESSION_WRITE_FAILED, reason),
            InterruptReason::Program(reason) => {
                let fault = Fault::environment(reason.clone());
                self.ask_to_retry(now, task, "was interrupted by its agent program", fault);
            }
            InterruptReason::Internal(reason) | InterruptReason::Provider(reason) => {
                self.ask_to_retry(now, task, "was interrupted by an error", Fault::internal(reason.clone()));
            }
            InterruptReason::Budget => self.fail(now, task, "Its budget is spent."),
            InterruptReason::TurnLimit => self.fail(now, task, "It reached its turn limit."),
        }
    }

    /// Reports a failed write and schedules a retry.
    pub(super) fn on_disk_error(&mut self, now: Timestamp, task: TaskId, what: &str, reason: &str) {
        self.report_disk_error(task, what, reason);
        self.schedule_retry(now, task);
    }

    pub(super) fn report_disk_error(&mut self, task: TaskId, what: &str, reason: &str) {
        let pause = retry_delay(self.runtime(task).disk.failures());
        let text = format!("{what}: {reason}. Nothing already saved is lost; retrying in {} s", pause.as_secs());
        self.out.push(Effect::Notify(Notice { level: Level::Error, text, task: Some(task) }));
    }

    /// Schedules a retry without a report.
    pub(super) fn schedule_retry(&mut self, now: Timestamp, task: TaskId) {
        self.set_retry_timer(now, task, Timer::Retry { task });
        let runtime = self.runtime(task);
        runtime.disk = DiskHealth::RetryScheduled(runtime.disk.failures());
    }

    /// Resets the failure count after a successful write.
    pub(super) fn on_disk_recovered(&mut self, task: TaskId) {
        if let Some(runtime) = self.runtimes.get_mut(&task) {
            runtime.disk = DiskHealth::Healthy;
        }
    }

    pub(super) fn set_retry_timer(&mut self, now: Timestamp, task: TaskId, timer: Timer) {
        let runtime = self.runtime(task);
        let pause = retry_delay(runtime.disk.failures());
        runtime.disk = match runtime.disk {
            DiskHealth::Healthy => DiskHealth::Failing(1),
            DiskHealth::Failing(failures) => DiskHealth::Failing(failures + 1),
            DiskHealth::RetryScheduled(failures) => DiskHealth::RetryScheduled(failures + 1),
        };
        self.out.push(Effect::SetTimer { timer, at: now.later(pause) });
    }

    /// Notifies the parent of an agent that is idle without having called done and waits for nothing: nothing else
    /// would wake it. Not if the agent answered the user, who sees it: the parent did not wait for that.
    fn report_idle_task(&mut self, now: Timestamp, task: TaskId) {
        let Some(node) = self.tree.get(task) else { return };
        let Some(above) = node.parent.filter(|_| node.status == Status::InProgress) else { return };
        // A finished parent is not woken: the user, who woke this task, sees that it is idle.
        if matches!(self.status(above), Some(Status::Passed | Status::Failed | Status::Closed)) {
            return;
        }
        let Some(runtime) = self.runtimes.get(&task) else { return };
        let waits = runtime.slot.has_run()
            || self.queue.contains(&task)
            || self.pending_reply_from(task).is_some()
            || !runtime.state.asks.is_empty()
            || self.has_work_below(task);
        if waits || runtime.state.turns.exit().is_some() || runtime.state.replies.user_spoke_last() {
            return;
        }
        let body = match node.woken_from {
            // The parent has the answer to what it asked.
            Some(_) if self.has_heard_from(above, task) => return,
            Some(verdict) => format!(
                "The sub task \"{}\" ({}) ended its turn without calling done. It counts as {} as before.",
                node.title,
                node.id,
                status_of(verdict)
            ),
            None => format!(
                "The sub task \"{}\" ({}) ended its turn without calling done and sleeps. Nothing below it is at work. \
                 Tell it what to do next, or close it.",
                node.title, node.id
            ),
        };
        let message = self.message(now, MessageSource::Notice, body);
        self.deliver(above, message, DeliveryPlan::default(), AppendContinuation::Nothing);
    }

    /// Returns true if `above` got a message since the last one to `task`.
    fn has_heard_from(&self, above: TaskId, task: TaskId) -> bool {
        let received = self.state(task).and_then(|state| state.replies.last_received());
        let since = |request| self.state(above).is_some_and(|state| state.replies.has_received_since(request));
        received.is_some_and(since)
    }

    /// Returns true if a task below this one is in progress.
    pub(super) fn has_work_below(&self, task: TaskId) -> bool {
        self.tree.walk(task).skip(1).any(|node| node.status == Status::InProgress)
    }

    /// Reports a run that ended without a verdict to the parent as failed.
    pub(super) fn fail(&mut self, now: Timestamp, task: TaskId, why: &str) {
        self.notify_parent(now, task, Verdict::Failed, why.to_owned(), MessageId::fresh(&self.ids));
    }
}

fn retry_delay(failures: u32) -> Duration {
    MIN_RETRY_DELAY.saturating_mul(1 << failures.min(5)).min(MAX_RETRY_DELAY)
}

//! Completions, in three steps that can each be repeated: the message is in the parent's session, the task's session
//! records that, the tree has the verdict.

use crate::base::{EventId, MessageId, TaskId, Timestamp};
use crate::engine::machine::delivery::DeliveryPlan;
use crate::engine::machine::slot::CompletionState;
use crate::engine::machine::tree_save::SaveContinuation;
use crate::engine::machine::{AppendContinuation, Effect, EffectId, Machine};
use crate::model::event::{DoneNotified, Exit, InterruptReason, Verdict};
use crate::model::fold::LastExit;
use crate::model::message::{Message, MessageSource};
use crate::model::task::{Status, TaskResult};

/// Returns the verdict of a run, if it ended with one. A stopped run has none, unless it has a result: then the user
/// abandoned it.
fn verdict(last: &LastExit) -> Option<Verdict> {
    match last.exit {
        Exit::DonePassed => Some(Verdict::Passed),
        Exit::DoneFailed => Some(Verdict::Failed),
        Exit::Interrupted(InterruptReason::Stopped) if !last.result.is_empty() => Some(Verdict::Failed),
        Exit::Interrupted(_) => None,
    }
}

/// Whether the completion message may have been sent before a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PriorSend {
    No,
    Perhaps,
}

impl Machine {
    /// Returns the verdict with which the last run ended, if the tree does not have it yet.
    fn unrecorded_verdict(&self, task: TaskId) -> Option<(Verdict, &LastExit)> {
        let last = self.runtimes.get(&task)?.state.turns.last_exit.as_ref()?;
        let verdict = verdict(last)?;
        // A finished task that is woken is in progress before its conversation continues.
        let recorded = self.tree.get(task)?.results.iter().any(|result| {
            let since = i64::try_from(last.event.ulid().timestamp_ms()).unwrap_or(i64::MAX);
            result.verdict == verdict && result.result == last.result && result.at.as_millis() >= since
        });
        (!recorded).then_some((verdict, last))
    }

    /// Returns true if a completion is under way. Nothing else may start before it is done.
    pub(super) fn is_completing(&self, task: TaskId) -> bool {
        self.runtimes.get(&task).is_some_and(|runtime| runtime.completion.is_under_way())
            || (self.status(task) == Some(Status::InProgress)
                && self.unrecorded_verdict(task).is_some()
                && !self.is_under_review(task))
    }

    /// Returns true if the parent was notified of the end, even if the rest is not on disk yet. The parent then need
    /// not wait for this task.
    pub(super) fn is_known_to_parent(&self, task: TaskId) -> bool {
        let notified = self.runtimes.get(&task).and_then(|runtime| runtime.completion.notified_end());
        self.unrecorded_verdict(task).is_some_and(|(_, last)| last.notified || notified == Some(last.event))
    }

    /// Returns true if a finished task waits for the user's review. It is idle meanwhile; a message resumes it.
    pub(super) fn is_under_review(&self, task: TaskId) -> bool {
        if task == self.tree.root_id() || !self.wants_review(task) {
            return false;
        }
        let Some(runtime) = self.runtimes.get(&task).filter(|runtime| !runtime.completion.is_under_way()) else {
            return false;
        };
        self.unrecorded_verdict(task).is_some_and(|(verdict, last)| {
            verdict == Verdict::Passed && !last.notified && runtime.state.work.approved != Some(last.event)
        })
    }

    /// Returns true if the user reviews a task's work before it counts as done: by its profile, else by the settings.
    fn wants_review(&self, task: TaskId) -> bool {
        let usual = self.limits.review;
        let profile = self.tree.get(task).and_then(|node| self.profiles.by_full_name(node.profile.as_deref()?).ok());
        profile.map_or(usual, |usable| usable.profile.review_within(usual))
    }

    /// Returns true if the saved tree has the same parent for a task as the current one.
    pub(super) fn is_parent_saved(&self, task: TaskId) -> bool {
        self.saves.parent_of(task) == self.tree.get(task).and_then(|node| node.parent)
    }

    pub(super) fn complete_if_done(&mut self, now: Timestamp, task: TaskId) {
        self.complete(now, task, PriorSend::No);
    }

    /// Continues a completion from where the session says it is.
    pub(super) fn complete(&mut self, now: Timestamp, task: TaskId, sent: PriorSend) {
        let is_completing = self.runtimes.get(&task).is_some_and(|runtime| runtime.completion.is_under_way());
        if is_completing || self.status(task) != Some(Status::InProgress) {
            return;
        }
        // The parent after a crash is the one to notify. Until it is saved, the completion waits.
        if !self.is_parent_saved(task) {
            return;
        }
        let Some((verdict, last)) = self.unrecorded_verdict(task) else { return };
        let (result, event) = (last.result.clone(), last.event);
        if last.notified {
            return self.record_result(now, task, verdict, result);
        }
        if verdict == Verdict::Passed && self.awaits_review(task, event) {
            return;
        }
        let id = completion_id(event);
        match sent {
            PriorSend::No => self.notify_parent(now, task, verdict, result, id),
            PriorSend::Perhaps => self.notify_parent_once(now, task, verdict, result, id, event),
        }
    }

    /// Notifies the parent of how the task ended. The root has no parent.
    pub(super) fn notify_parent(
        &mut self,
        now: Timestamp,
        task: TaskId,
        verdict: Verdict,
        result: String,
        id: MessageId,
    ) {
        if let Some((ticket, above, message)) = self.begin_notifying(now, task, verdict, result, id) {
            self.out.push(Effect::Append { ticket, task: above, bodies: vec![message.into()] });
        }
    }

    pub(super) fn notify_parent_once(
        &mut self,
        now: Timestamp,
        task: TaskId,
        verdict: Verdict,
        result: String,
        id: MessageId,
        since: EventId,
    ) {
        if let Some((ticket, above, message)) = self.begin_notifying(now, task, verdict, result, id) {
            self.out.push(Effect::SendOnce { ticket, task: above, message: Box::new(message), since });
        }
    }

    /// Starts a notification. Returns what to append, and to which task.
    fn begin_notifying(
        &mut self,
        now: Timestamp,
        task: TaskId,
        verdict: Verdict,
        result: String,
        id: MessageId,
    ) -> Option<(EffectId, TaskId, Message)> {
        let message = self.completion_message(now, task, verdict, &result, id);
        self.runtime(task).completion = CompletionState::Notifying { verdict, result };
        let Some((above, message)) = message else {
            self.record_notified(task);
            return None;
        };
        self.completions.insert(id, task);
        self.delivery_plans.insert(id, DeliveryPlan::default());
        let ticket = self.next_effect_id();
        self.pending.insert(ticket, AppendContinuation::Completion(task));
        Some((ticket, above, message))
    }

    fn completion_message(
        &self,
        now: Timestamp,
        task: TaskId,
        verdict: Verdict,
        result: &str,
        id: MessageId,
    ) -> Option<(TaskId, Message)> {
        let node = self.tree.get(task)?;
        let from = MessageSource::TaskComplete { task, title: node.title.clone(), verdict };
        let message = Message::new(id, now, from, result);
        Some((node.parent?, message))
    }

    /// Records that the parent has the message.
    pub(super) fn record_notified(&mut self, task: TaskId) {
        let runtime = self.runtime(task);
        let end = runtime.state.turns.last_exit.as_ref().map(|last| last.event);
        match std::mem::take(&mut runtime.completion) {
            CompletionState::Notifying { verdict, result } => {
                runtime.completion = CompletionState::Notified { end };
                self.append(
                    task,
                    vec![DoneNotified { verdict, result }.into()],
                    AppendContinuation::CompletionMarker(task),
                );
            }
            other => runtime.completion = other,
        }
    }

    fn set_notified(&mut self, task: TaskId) {
        let runtime = self.runtime(task);
        let end = runtime.state.turns.last_exit.as_ref().map(|last| last.event);
        runtime.completion = CompletionState::Notified { end };
    }

    /// Handles the end of the append. A message that was already there is not observed again.
    pub(super) fn on_parent_notified(&mut self, task: TaskId) {
        self.completions.retain(|_, of| *of != task);
        self.record_notified(task);
    }

    /// Restarts a completion from what is on disk after a failed write.
    pub(super) fn on_notify_failed(&mut self, now: Timestamp, task: TaskId, reason: &str) {
        self.completions.retain(|_, of| *of != task);
        self.runtime(task).completion.interrupt();
        self.on_disk_error(now, task, "cannot save the task's result", reason);
    }

    /// The session has the notification: the tree gets the verdict.
    pub(super) fn on_done_notified(&mut self, now: Timestamp, task: TaskId, notified: &DoneNotified) {
        self.record_result(now, task, notified.verdict, notified.result.clone());
    }

    /// Restores the status of a finished task that was woken only to be compacted, or whose agent only answered.
    pub(super) fn restore_finished_status(&mut self, now: Timestamp, task: TaskId) {
        let Some(runtime) =
            self.runtimes.get(&task).filter(|runtime| !runtime.slot.has_run() && !runtime.completion.is_under_way())
        else {
            return;
        };
        let has_more_work = !runtime.state.asks.is_empty()
            || !runtime.state.decisions.is_empty()
            || runtime.state.messages.iter().any(|message| runtime.state.is_woken_by(message));
        // The last result in the tree counts: a failed launch may be later than the last run.
        let recorded = self.tree.get(task).and_then(|node| node.results.last()).map(|result| result.verdict);
        let ended = runtime.state.turns.last_exit.as_ref().and_then(verdict).map(|last| recorded.unwrap_or(last));
        let verdict = ended.or_else(|| self.verdict_before_answer(task));
        let (Some(verdict), false, Some(Status::InProgress)) = (verdict, has_more_work, self.status(task)) else {
            return;
        };
        if self.unrecorded_verdict(task).is_some() {
            return;
        }
        self.set_notified(task);
        let edited = self.tree.edit(task, |node| {
            node.status = status_of(verdict);
            node.woken_from = None;
            node.updated_at = now;
        });
        debug_assert!(edited.is_ok(), "its status was looked at a moment ago");
        self.commit([task], SaveContinuation::Completed(task));
    }

    /// Returns the verdict of a finished task whose agent was woken, ended its turn with words and started nothing.
    fn verdict_before_answer(&self, task: TaskId) -> Option<Verdict> {
        let verdict = self.tree.get(task)?.woken_from?;
        let was_cut_short = self.state(task)?.turns.last_exit.is_some();
        let goes_on = was_cut_short || self.has_work(task) || self.queue.contains(&task) || self.has_work_below(task);
        (!goes_on).then_some(verdict)
    }

    fn record_result(&mut self, now: Timestamp, task: TaskId, verdict: Verdict, result: String) {
        if self.status(task) != Some(Status::InProgress) {
            if let Some(runtime) = self.runtimes.get_mut(&task) {
                runtime.completion = CompletionState::Idle;
            }
            return;
        }
        self.set_notified(task);
        let edited = self.tree.edit(task, |node| {
            node.status = status_of(verdict);
            node.woken_from = None;
            node.results.push(TaskResult { verdict, result, at: now });
            node.updated_at = now;
        });
        debug_assert!(edited.is_ok(), "its status was looked at a moment ago");
        self.commit([task], SaveContinuation::Completed(task));
    }
}

pub(super) fn status_of(verdict: Verdict) -> Status {
    match verdict {
        Verdict::Passed => Status::Passed,
        Verdict::Failed => Status::Failed,
    }
}

/// Returns the id of the message about a run's end: always the same for the same end.
fn completion_id(event: EventId) -> MessageId {
    MessageId::from_ulid(event.ulid())
}

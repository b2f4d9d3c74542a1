//! Completions, in three steps that can each be done again: the task above has the message, the session says that it
//! has, the tree has the verdict.

use crate::base::{EventId, MessageId, TaskId, Timestamp};
use crate::engine::machine::delivering::Plan;
use crate::engine::machine::saving::Then;
use crate::engine::machine::slot::Completion;
use crate::engine::machine::{Effect, EffectId, Machine, Pending};
use crate::model::event::{DoneNotified, Exit, InterruptReason, Verdict};
use crate::model::fold::LastExit;
use crate::model::message::{Message, Source};
use crate::model::task::{ResultRound, Status};

/// Returns the verdict of a run that ended with one. What the person stopped has none, unless it says what came of it:
/// then they gave it up.
fn verdict(last: &LastExit) -> Option<Verdict> {
    match last.exit {
        Exit::DonePassed => Some(Verdict::Passed),
        Exit::DoneFailed => Some(Verdict::Failed),
        Exit::Interrupted(InterruptReason::Stopped) if !last.result.is_empty() => Some(Verdict::Failed),
        Exit::Interrupted(_) => None,
    }
}

/// Whether the message of a completion may have been sent before a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    No,
    Perhaps,
}

impl Machine {
    /// Returns how a task declared itself done, if that is its last word and the tree does not say so yet.
    fn declared(&self, task: TaskId) -> Option<(Verdict, &LastExit)> {
        let last = self.lives.get(&task)?.state.turns.last_exit.as_ref()?;
        let verdict = verdict(last)?;
        // A finished task that was woken is in progress again before its conversation goes on.
        let recorded = self.tree.get(task)?.results.iter().any(|round| {
            let since = i64::try_from(last.event.ulid().timestamp_ms()).unwrap_or(i64::MAX);
            round.verdict == verdict && round.result == last.result && round.at.as_millis() >= since
        });
        (!recorded).then_some((verdict, last))
    }

    /// Tells whether a completion is under way: nothing else may begin before it is through.
    pub(super) fn is_completing(&self, task: TaskId) -> bool {
        self.lives.get(&task).is_some_and(|life| life.completion.is_under_way())
            || (self.status(task) == Some(Status::InProgress)
                && self.declared(task).is_some()
                && !self.is_under_review(task))
    }

    /// Tells whether the task above has heard how this one ended, though the disk refused to keep that so far. Whoever was
    /// told would wait for nothing.
    pub(super) fn is_known_above(&self, task: TaskId) -> bool {
        let told = self.lives.get(&task).and_then(|life| life.completion.told());
        self.declared(task).is_some_and(|(_, last)| last.notified || told == Some(last.event))
    }

    /// Tells whether a task said that it is done, and the person has not said yet whether it is. It rests meanwhile, and
    /// goes on if it is spoken to.
    pub(super) fn is_under_review(&self, task: TaskId) -> bool {
        if task == self.tree.root_id() || !self.wants_review(task) {
            return false;
        }
        let Some(life) = self.lives.get(&task).filter(|life| !life.completion.is_under_way()) else { return false };
        self.declared(task).is_some_and(|(verdict, last)| {
            verdict == Verdict::Passed && !last.notified && life.state.work.approved != Some(last.event)
        })
    }

    /// Tells whether the person looks at a task's work before it counts as done: as its profile says, else as the settings do.
    fn wants_review(&self, task: TaskId) -> bool {
        let usual = self.limits.review;
        let profile = self.tree.get(task).and_then(|node| self.profiles.bound(&node.profile).ok());
        profile.map_or(usual, |usable| usable.profile.review_within(usual))
    }

    /// Tells whether the disk has a task below the one it is below here.
    pub(super) fn is_settled_below(&self, task: TaskId) -> bool {
        self.saves.above(task) == self.tree.get(task).and_then(|node| node.parent)
    }

    pub(super) fn complete_if_done(&mut self, now: Timestamp, task: TaskId) {
        self.complete(now, task, Sent::No);
    }

    /// Takes a completion as far as it can be taken from where the session says it is.
    pub(super) fn complete(&mut self, now: Timestamp, task: TaskId, sent: Sent) {
        let closing = self.lives.get(&task).is_some_and(|life| life.completion.is_under_way());
        if closing || self.status(task) != Some(Status::InProgress) {
            return;
        }
        // It is told the task above that it will have after a crash; until that is decided, it waits.
        if !self.is_settled_below(task) {
            return;
        }
        let Some((verdict, last)) = self.declared(task) else { return };
        let (result, event) = (last.result.clone(), last.event);
        if last.notified {
            return self.record(now, task, verdict, result);
        }
        if verdict == Verdict::Passed && self.awaits_review(task, event) {
            return;
        }
        let id = completion_id(event);
        match sent {
            Sent::No => self.announce(now, task, verdict, result, id),
            Sent::Perhaps => self.announce_once(now, task, verdict, result, id, event),
        }
    }

    /// Tells the task above how this one ended. The root has nobody above it.
    pub(super) fn announce(&mut self, now: Timestamp, task: TaskId, verdict: Verdict, result: String, id: MessageId) {
        if let Some((ticket, above, message)) = self.telling(now, task, verdict, result, id) {
            self.out.push(Effect::Append { ticket, task: above, bodies: vec![message.into()] });
        }
    }

    pub(super) fn announce_once(
        &mut self,
        now: Timestamp,
        task: TaskId,
        verdict: Verdict,
        result: String,
        id: MessageId,
        since: EventId,
    ) {
        if let Some((ticket, above, message)) = self.telling(now, task, verdict, result, id) {
            self.out.push(Effect::SendOnce { ticket, task: above, message: Box::new(message), since });
        }
    }

    /// Begins to tell. Returns what is to be sent, and to whom.
    fn telling(
        &mut self,
        now: Timestamp,
        task: TaskId,
        verdict: Verdict,
        result: String,
        id: MessageId,
    ) -> Option<(EffectId, TaskId, Message)> {
        let told = self.completion_message(now, task, verdict, &result, id);
        self.life(task).completion = Completion::Telling { verdict, result };
        let Some((above, message)) = told else {
            self.mark_told(task);
            return None;
        };
        self.completions.insert(id, task);
        self.plans.insert(id, Plan::default());
        let ticket = self.number();
        self.pending.insert(ticket, Pending::Completion(task));
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
        let from = Source::TaskComplete { task, title: node.title.clone(), verdict };
        let message = Message::new(id, now, from, result);
        Some((node.parent?, message))
    }

    /// The message is in the session above: nothing will send it again.
    pub(super) fn mark_told(&mut self, task: TaskId) {
        let life = self.life(task);
        let end = life.state.turns.last_exit.as_ref().map(|last| last.event);
        match std::mem::take(&mut life.completion) {
            Completion::Telling { verdict, result } => {
                life.completion = Completion::Told { end };
                self.append(task, vec![DoneNotified { verdict, result }.into()], Pending::Marker(task));
            }
            other => life.completion = other,
        }
    }

    /// The task above knows of the last end of a run: what follows is kept from here on.
    fn now_told(&mut self, task: TaskId) {
        let life = self.life(task);
        let end = life.state.turns.last_exit.as_ref().map(|last| last.event);
        life.completion = Completion::Told { end };
    }

    /// The append is through. Where the message had been there already, it was not observed again.
    pub(super) fn told_above(&mut self, task: TaskId) {
        self.completions.retain(|_, of| *of != task);
        self.mark_told(task);
    }

    /// The disk refused a part of a completion: it begins again where the disk has it.
    pub(super) fn not_told(&mut self, now: Timestamp, task: TaskId, reason: &str) {
        self.completions.retain(|_, of| *of != task);
        self.life(task).completion.interrupt();
        self.disk_refused(now, task, "the end of the task could not be kept", reason);
    }

    /// The session says that the task above knows: now the tree may say how it ended.
    pub(super) fn settle_completion(&mut self, now: Timestamp, task: TaskId, notified: &DoneNotified) {
        self.record(now, task, notified.verdict, notified.result.clone());
    }

    /// A finished task that was woken for a summary alone is finished still: nothing was said to it.
    pub(super) fn finish_again(&mut self, now: Timestamp, task: TaskId) {
        let Some(life) = self.lives.get(&task).filter(|life| !life.slot.has_run() && !life.completion.is_under_way())
        else {
            return;
        };
        let goes_on = !life.state.asks.is_empty()
            || !life.state.decisions.is_empty()
            || life.state.messages.iter().any(|message| life.state.is_called_by(message));
        // What the tree was last told counts: a launch that failed since is a later end than the run's.
        let recorded = self.tree.get(task).and_then(|node| node.results.last()).map(|round| round.verdict);
        let verdict = life.state.turns.last_exit.as_ref().and_then(verdict).map(|last| recorded.unwrap_or(last));
        let (Some(verdict), false, Some(Status::InProgress)) = (verdict, goes_on, self.status(task)) else { return };
        if self.declared(task).is_some() {
            return;
        }
        self.now_told(task);
        let edited = self.tree.edit(task, |node| {
            node.status = status_of(verdict);
            node.updated_at = now;
        });
        debug_assert!(edited.is_ok(), "its status was looked at a moment ago");
        self.commit([task], Then::Completed(task));
    }

    fn record(&mut self, now: Timestamp, task: TaskId, verdict: Verdict, result: String) {
        if self.status(task) != Some(Status::InProgress) {
            if let Some(life) = self.lives.get_mut(&task) {
                life.completion = Completion::Idle;
            }
            return;
        }
        self.now_told(task);
        let edited = self.tree.edit(task, |node| {
            node.status = status_of(verdict);
            node.results.push(ResultRound { verdict, result, at: now });
            node.updated_at = now;
        });
        debug_assert!(edited.is_ok(), "its status was looked at a moment ago");
        self.commit([task], Then::Completed(task));
    }
}

fn status_of(verdict: Verdict) -> Status {
    match verdict {
        Verdict::Passed => Status::Passed,
        Verdict::Failed => Status::Failed,
    }
}

/// Returns the id of the message that tells of a run's end: always the same for the same end.
fn completion_id(event: EventId) -> MessageId {
    MessageId::from_ulid(event.ulid())
}

//! Completions, in three steps that can each be done again: the task above has the message, the session says that it
//! has, the tree has the verdict.

use crate::base::{EventId, MessageId, TaskId, Timestamp};
use crate::engine::machine::delivering::Plan;
use crate::engine::machine::saving::Then;
use crate::engine::machine::{Effect, Machine, Pending};
use crate::model::event::{DoneNotified, Exit, Verdict};
use crate::model::fold::LastExit;
use crate::model::message::{Message, Source};
use crate::model::task::{ResultRound, Status};

/// Returns the verdict of a run that ended with one.
fn verdict(exit: &Exit) -> Option<Verdict> {
    match exit {
        Exit::DonePassed => Some(Verdict::Passed),
        Exit::DoneFailed => Some(Verdict::Failed),
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
    /// Returns how a task declared itself done, if that is its last word.
    fn declared(&self, task: TaskId) -> Option<(Verdict, &LastExit)> {
        let last = self.lives.get(&task)?.state.turns.last_exit.as_ref()?;
        Some((verdict(&last.exit)?, last))
    }

    /// Tells whether a completion is under way: nothing else may begin before it is through.
    pub(super) fn is_completing(&self, task: TaskId) -> bool {
        self.status(task) == Some(Status::InProgress) && self.declared(task).is_some()
    }

    pub(super) fn complete_if_done(&mut self, now: Timestamp, task: TaskId) {
        self.complete(now, task, Sent::No);
    }

    /// Takes a completion as far as it can be taken from where the session says it is.
    pub(super) fn complete(&mut self, now: Timestamp, task: TaskId, sent: Sent) {
        if self.status(task) != Some(Status::InProgress) || self.completions.values().any(|of| *of == task) {
            return;
        }
        let Some((verdict, last)) = self.declared(task) else { return };
        let (result, event) = (last.result.clone(), last.event);
        if last.notified {
            return self.record(now, task, verdict, result);
        }
        let id = completion_id(event);
        match sent {
            Sent::No => self.announce(now, task, verdict, result, id),
            Sent::Perhaps => self.announce_once(now, task, verdict, result, id, event),
        }
    }

    /// Tells the task above how this one ended. The root has nobody above it.
    pub(super) fn announce(&mut self, now: Timestamp, task: TaskId, verdict: Verdict, result: String, id: MessageId) {
        let Some((above, message)) = self.completion_message(now, task, verdict, &result, id) else {
            return self.notify_done(task, verdict, result);
        };
        self.completions.insert(id, task);
        self.plans.insert(id, Plan::default());
        let ticket = self.number();
        self.pending.insert(ticket, Pending::Completion(task));
        self.life(task).told = Some((verdict, result));
        self.out.push(Effect::Append { ticket, task: above, bodies: vec![message.into()] });
    }

    fn announce_once(
        &mut self,
        now: Timestamp,
        task: TaskId,
        verdict: Verdict,
        result: String,
        id: MessageId,
        since: EventId,
    ) {
        let Some((above, message)) = self.completion_message(now, task, verdict, &result, id) else {
            return self.notify_done(task, verdict, result);
        };
        self.completions.insert(id, task);
        self.plans.insert(id, Plan::default());
        let ticket = self.number();
        self.pending.insert(ticket, Pending::Completion(task));
        self.life(task).told = Some((verdict, result));
        self.out.push(Effect::SendOnce { ticket, task: above, message: Box::new(message), since });
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
        let message = Message { id, from, body: result.to_owned(), images: Vec::new(), at: now };
        Some((node.parent?, message))
    }

    /// The message is in the session above: nothing will send it again.
    pub(super) fn mark_told(&mut self, task: TaskId) {
        if let Some((verdict, result)) = self.life(task).told.take() {
            self.notify_done(task, verdict, result);
        }
    }

    /// The append is through. Where the message had been there already, it was not observed again.
    pub(super) fn told_above(&mut self, _now: Timestamp, task: TaskId) {
        self.completions.retain(|_, of| *of != task);
        self.mark_told(task);
    }

    fn notify_done(&mut self, task: TaskId, verdict: Verdict, result: String) {
        self.append(task, vec![DoneNotified { verdict, result }.into()], Pending::Nothing);
    }

    /// The session says that the task above knows: now the tree may say how it ended.
    pub(super) fn settle_completion(&mut self, now: Timestamp, task: TaskId, notified: &DoneNotified) {
        self.record(now, task, notified.verdict, notified.result.clone());
    }

    fn record(&mut self, now: Timestamp, task: TaskId, verdict: Verdict, result: String) {
        if self.status(task) != Some(Status::InProgress) {
            return;
        }
        let status = match verdict {
            Verdict::Passed => Status::Passed,
            Verdict::Failed => Status::Failed,
        };
        let edited = self.tree.edit(task, |node| {
            node.status = status;
            node.results.push(ResultRound { verdict, result, at: now });
            node.updated_at = now;
        });
        debug_assert!(edited.is_ok(), "its status was looked at a moment ago");
        self.commit([task], Then::Reconsider(task));
    }
}

/// Returns the id of the message that tells of a run's end: always the same for the same end.
fn completion_id(event: EventId) -> MessageId {
    MessageId::from_ulid(event.ulid())
}

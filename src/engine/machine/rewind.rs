//! Rewind, redo, resend and fork.
//!
//! A rewind moves the files first, under a [`Work::RewindStarted`] event that a restart finds. The conversation and the
//! record of the rewind follow in one append.

use crate::base::{Fault, MessageId, TaskId, Timestamp, TurnId};
use crate::engine::command::{Actor, CommandId, Outcome, StartOutcome, TaskDraft, TaskStart};
use crate::engine::machine::admission::exact_name;
use crate::engine::machine::delivery::DeliveryPlan;
use crate::engine::machine::slot::Hold;
use crate::engine::machine::tree_save::SaveContinuation;
use crate::engine::machine::work::WorkContinuation;
use crate::engine::machine::{AppendContinuation, Effect, Job, Machine, Origin, RewindJob, RewindOutcome};
use crate::engine::review::RewindScope;
use crate::engine::update::{Level, Notice};
use crate::model::event::{Body, Exit, HeadMoved, InterruptReason, MoveReason, RunEnded, Snapshot};
use crate::model::message::{BEGIN_FORK, Message, MessageSource};
use crate::model::task::Status;
use crate::model::work::{DequeueReason, RewindTarget, Rewound, Work};

/// A rewind that is under way.
#[derive(Clone, Debug)]
pub struct PendingRewind {
    /// `None` for a rewind that is finished after a crash.
    pub(super) command: Option<CommandId>,
    pub(super) task: TaskId,
    target: RewindTarget,
    extent: RewindScope,
    words: Option<String>,
    /// The message that is sent instead of the original.
    sent: Option<MessageId>,
    status: Option<Status>,
}

impl PendingRewind {
    /// Returns true if the session has the start of the rewind.
    fn has_started(&self, machine: &Machine) -> bool {
        machine.state(self.task).is_some_and(|state| state.work.rewind_intent.is_some())
    }
}

/// A fork that is being made.
#[derive(Clone, Debug)]
pub struct PendingFork {
    pub(super) command: CommandId,
    from: TaskId,
    pub(super) to: TaskId,
    at: Option<TurnId>,
    start: TaskStart,
}

impl Machine {
    pub(super) fn rewind(
        &mut self,
        command: CommandId,
        task: TaskId,
        to: Option<TurnId>,
        extent: RewindScope,
    ) -> Result<(), Fault> {
        self.start_rewind(Some(command), task, RewindTarget::After(to), extent, None)
    }

    pub(super) fn redo(&mut self, command: CommandId, task: TaskId) -> Result<(), Fault> {
        self.node(task)?;
        let Some(rewound) = self.state(task).and_then(|state| state.work.rewound.clone()) else {
            return Err(Fault::user("nothing to redo: there was no rewind, or the task continued since"));
        };
        self.start_rewind(Some(command), task, RewindTarget::Redo, rewound.extent, None)
    }

    pub(super) fn resend(
        &mut self,
        command: CommandId,
        task: TaskId,
        message: MessageId,
        text: String,
        extent: RewindScope,
    ) -> Result<(), Fault> {
        if text.trim().is_empty() {
            return Err(Fault::user("nothing to send: the message is empty"));
        }
        if self.state(task).is_some_and(|state| state.messages.get(message).is_some()) {
            return Err(Fault::user("the agent has not read this message yet").hint("withdraw it instead"));
        }
        let extent = if extent.has_files() { RewindScope::Both } else { RewindScope::Conversation };
        self.start_rewind(Some(command), task, RewindTarget::Before(message), extent, Some(text))
    }

    fn start_rewind(
        &mut self,
        command: Option<CommandId>,
        task: TaskId,
        target: RewindTarget,
        extent: RewindScope,
        words: Option<String>,
    ) -> Result<(), Fault> {
        self.check_idle(task, "rewound")?;
        let location = self.location_of(task)?;
        match target {
            RewindTarget::After(Some(turn)) => self.check_not_retired(task, turn.ulid())?,
            RewindTarget::Before(message) => self.check_not_retired(task, message.ulid())?,
            RewindTarget::After(None) => self.check_not_retired(task, ulid::Ulid::nil())?,
            RewindTarget::Redo => {}
        }
        if self.state(task).is_none_or(|state| state.turns.of_profile() == 0) {
            return Err(Fault::user("cannot rewind: the task has no turn yet"));
        }
        let state = self.state(task);
        let rewound = state.and_then(|state| state.work.rewound.clone()).filter(|_| target == RewindTarget::Redo);
        let begun = state.and_then(|state| state.work.rewind_intent.clone());
        let pending = PendingRewind { command, task, target, extent, words: words.clone(), sent: None, status: None };
        let job = RewindJob { location, target, extent, words, rewound, begun };
        self.start_job(task, Job::Rewind { rewind: job, then: pending });
        Ok(())
    }

    /// Repeats a rewind that a crash interrupted.
    pub(super) fn resume_interrupted_rewind(&mut self, task: TaskId) {
        let Some(moving) = self.state(task).and_then(|state| state.work.rewind_intent.clone()) else { return };
        if let Err(fault) = self.start_rewind(None, task, moving.target, moving.extent, moving.words) {
            self.record_rewind_failure(task, &fault);
        }
    }

    /// The files are rewound: rewinds the conversation and records both.
    pub(super) fn on_files_rewound(&mut self, now: Timestamp, mut pending: PendingRewind, outcome: RewindOutcome) {
        let task = pending.task;
        let redo = pending.target == RewindTarget::Redo;
        let mut bodies: Vec<Body> = Vec::new();
        if pending.extent.has_conversation() {
            let reason = match pending.target {
                RewindTarget::After(_) => MoveReason::Rewind,
                RewindTarget::Before(_) => MoveReason::Edit,
                RewindTarget::Redo => MoveReason::Redo,
            };
            bodies.push(HeadMoved { to: outcome.event, from: None, reason, carry: Box::default() }.into());
        }
        bodies.extend(self.take_queued_merge(task, DequeueReason::TaskChanged));
        bodies.extend(outcome.state.map(|(turn, tree)| Body::from(Snapshot { turn, tree })));
        if redo {
            bodies.push(Work::Redone { at: now }.into());
        } else {
            let (extent, to, files, branch) = (pending.extent, outcome.turn, outcome.files, outcome.branch);
            bodies.push(
                Work::Rewound { rewound: Rewound { extent, to, head: outcome.head, files, branch, at: now } }.into(),
            );
        }
        if pending.extent.has_conversation() {
            pending.status = match (self.status(task), redo) {
                (Some(Status::Passed | Status::Failed), false) => Some(Status::InProgress),
                (Some(Status::InProgress), true) => self.last_result_status(task),
                (Some(_) | None, _) => None,
            };
        }
        match (pending.words.take(), outcome.message) {
            (Some(words), original) => {
                // Messages that were read with the original are sent again with the new one.
                for other in outcome.others.into_iter().filter(is_resendable) {
                    let again = Message { id: MessageId::fresh(&self.ids), ..other };
                    self.delivery_plans.insert(again.id, DeliveryPlan::passive());
                    bodies.push(again.into());
                }
                let images = original.map(|original| original.images).unwrap_or_default();
                let message = Message { images, ..self.message(now, MessageSource::User, words) };
                pending.sent = Some(message.id);
                self.delivery_plans.insert(message.id, DeliveryPlan::from_user());
                bodies.push(message.into());
            }
            // The task waits for the next message of the user.
            (None, _) if pending.extent.has_conversation() && !redo => {
                bodies.push(RunEnded::from(Exit::Interrupted(InterruptReason::Stopped)).into());
            }
            (None, _) if pending.extent == RewindScope::Files => bodies.extend(self.files_rewound_message(now, task)),
            (None, _) => {}
        }
        self.append(task, bodies, AppendContinuation::Work(Box::new(WorkContinuation::Rewind(pending))));
    }

    /// Returns the message that tells the agent that its files changed.
    fn files_rewound_message(&mut self, now: Timestamp, task: TaskId) -> Option<Body> {
        self.state(task)?.turns.last_role?;
        let words = "The user rewound the files of your worktree to an earlier state. What you remember of them may be wrong: \
                     read them again before you change them.";
        let message = self.message(now, MessageSource::WorkContext, words);
        self.delivery_plans.insert(message.id, DeliveryPlan::passive());
        Some(message.into())
    }

    fn last_result_status(&self, task: TaskId) -> Option<Status> {
        let node = self.tree.get(task)?;
        let result = node.results.last()?;
        Some(match result.verdict {
            crate::model::event::Verdict::Passed => Status::Passed,
            crate::model::event::Verdict::Failed => Status::Failed,
        })
    }

    /// The session has everything: updates the tree and replies.
    pub(super) fn finish_rewind(&mut self, now: Timestamp, pending: &PendingRewind) {
        let task = pending.task;
        let outcome = match (pending.sent, pending.target) {
            (Some(message), _) => self.sent_outcome(task, message),
            (None, RewindTarget::Redo) => Outcome::Redone,
            (None, RewindTarget::After(_) | RewindTarget::Before(_)) => {
                Outcome::Rewound { task, extent: pending.extent }
            }
        };
        let status = pending.status.filter(|status| match status {
            // A redo restores a verdict only if the conversation ends with it again.
            Status::Passed => self.has_exit(task, &Exit::DonePassed),
            Status::Failed => self.has_exit(task, &Exit::DoneFailed),
            Status::InProgress => true,
            Status::Draft | Status::Pending | Status::Closed => false,
        });
        let Some(status) = status else { return self.finish_work(now, pending.command, task, Ok(outcome)) };
        let _ = self.tree.edit(task, |node| {
            node.status = status;
            node.woken_from = None;
            node.updated_at = now;
        });
        let then = match pending.command {
            Some(command) => SaveContinuation::Reply(Origin { actor: Actor::User, command: Some(command) }, outcome),
            None => SaveContinuation::Completed(task),
        };
        self.commit([task], then);
        self.release_holds(now, &[task]);
    }

    fn has_exit(&self, task: TaskId, exit: &Exit) -> bool {
        self.state(task).is_some_and(|state| state.turns.exit() == Some(exit))
    }

    /// Records that a rewind failed, so that a restart does not repeat it.
    pub(super) fn record_rewind_failure(&mut self, task: TaskId, fault: &Fault) {
        let failed = Work::RewindFailed { reason: fault.to_string() };
        self.append(task, vec![failed.into()], AppendContinuation::Nothing);
    }

    /// Records the failure if the session has the start of the rewind, then replies.
    pub(super) fn on_rewind_failed(&mut self, now: Timestamp, pending: &PendingRewind, fault: Fault) {
        if pending.has_started(self) {
            self.record_rewind_failure(pending.task, &fault);
        }
        self.finish_work(now, pending.command, pending.task, Err(fault));
    }

    pub(super) fn fork_at(
        &mut self,
        now: Timestamp,
        command: CommandId,
        task: TaskId,
        at: Option<TurnId>,
        draft: TaskDraft,
        start: TaskStart,
    ) -> Result<(), Fault> {
        let node = self.node(task)?;
        // Closed tasks get no new sub tasks: the fork goes under the nearest open ancestor.
        let open = self.tree.ancestors(task).find(|above| above.status != Status::Closed);
        let parent = open.map_or(self.tree.root_id(), |above| above.id);
        if self.state(task).is_none_or(|state| state.turns.ended == 0) {
            return Err(Fault::user(format!("cannot fork {}: it has no conversation yet", self.task_label(task))));
        }
        if at.is_none() && self.is_busy(task) {
            return Err(Fault::user(format!("cannot fork {} now: its agent is changing files", self.task_label(task)))
                .hint("fork at a turn, or wait until it is idle"));
        }
        let title = if draft.title.trim().is_empty() { format!("{} (fork)", node.title) } else { draft.title.clone() };
        let description =
            if draft.description.trim().is_empty() { node.description.clone() } else { draft.description.clone() };
        // The copied conversation goes on with the profile that it belongs to.
        let source = self.profile_at(task, at.map(TurnId::ulid));
        let profile = draft.profile.clone().or_else(|| source.as_deref().map(exact_name));
        let draft = TaskDraft { title, description, profile, ..draft };
        let to = self.add_task(now, Actor::User, parent, None, &draft, start)?;
        if let Some((branch, worktree)) = self.tree.get(to).map(|node| self.new_worktree(node)) {
            let _ = self.tree.edit(to, |node| {
                node.branch = Some(branch);
                node.worktree = Some(worktree);
                node.unfinished_fork = true;
            });
        }
        self.runtime(to).holds.add(Hold::Change);
        self.commit([to, parent], SaveContinuation::Fork(Box::new(PendingFork { command, from: task, to, at, start })));
        Ok(())
    }

    /// The tree has the fork: copies conversation and files.
    pub(super) fn start_fork_copy(&mut self, fork: PendingFork) {
        let (Ok(from), Some(node)) = (self.location_of(fork.from), self.tree.get(fork.to)) else { return };
        let (title, description) = (node.title.clone(), node.description.clone());
        let Some(place) = self.worktree_location(node) else { return };
        let (to, at) = (fork.to, fork.at);
        self.start_job(to, Job::Fork { from, at, place, title, description, then: fork });
    }

    /// Conversation and files are copied: the fork is complete.
    pub(super) fn on_fork_copied(&mut self, fork: PendingFork) {
        let _ = self.tree.edit(fork.to, |node| node.unfinished_fork = false);
        self.commit([fork.to], SaveContinuation::Forked(Box::new(fork)));
    }

    pub(super) fn finish_fork(&mut self, now: Timestamp, fork: &PendingFork) {
        let PendingFork { command, to, start, .. } = *fork;
        match start {
            TaskStart::Now => {
                self.release_holds(now, &[to]);
                let message = self.message(now, MessageSource::BeginFork, BEGIN_FORK);
                let origin = Origin { actor: Actor::User, command: Some(command) };
                self.deliver_first(to, message, DeliveryPlan::from_user(), origin);
            }
            TaskStart::Later | TaskStart::Draft => {
                self.finish_work(now, Some(command), to, Ok(self.created_outcome(to, StartOutcome::No)));
            }
        }
    }

    /// The copy failed: removes the fork.
    pub(super) fn on_fork_failed(&mut self, now: Timestamp, fork: &PendingFork, fault: Fault) {
        self.out.push(Effect::Reply { id: fork.command, result: Err(fault) });
        self.discard_task(now, fork.to);
    }

    /// Removes a fork whose copy a crash interrupted.
    pub(super) fn undo_unfinished_fork(&mut self, now: Timestamp, task: TaskId) {
        if !self.tree.get(task).is_some_and(|node| node.unfinished_fork) {
            return;
        }
        let text = format!("the fork {} was not complete when mxd ended and was removed", self.task_label(task));
        self.out.push(Effect::Notify(Notice { level: Level::Info, text, task: None }));
        self.discard_task(now, task);
    }
}

/// Returns true if a rewind sends the message again. False for context that mxd adds at every start.
fn is_resendable(message: &Message) -> bool {
    match &message.from {
        MessageSource::WorkContext
        | MessageSource::CompactedResume
        | MessageSource::Compact
        | MessageSource::Hook { .. }
        | MessageSource::Interrupt => false,
        MessageSource::User
        | MessageSource::Begin
        | MessageSource::BeginFork
        | MessageSource::Continue
        | MessageSource::TaskMessage { .. }
        | MessageSource::TaskComplete { .. }
        | MessageSource::UserMessageForwarded { .. }
        | MessageSource::TreeChange { .. }
        | MessageSource::ClarifyResponse { .. }
        | MessageSource::CrossProject { .. }
        | MessageSource::BackgroundComplete { .. }
        | MessageSource::Notice
        | MessageSource::Handover { .. } => true,
    }
}

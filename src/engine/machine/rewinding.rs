//! Going back to an earlier turn, forth again, and elsewhere from there. Files go first, under a note in the session that
//! a crash finds; the conversation and the word on how it ended follow in one append.

use crate::base::{Fault, MessageId, TaskId, Timestamp, TurnId};
use crate::engine::command::{Actor, Begun, CommandId, Draft, Outcome, Start};
use crate::engine::machine::delivering::Plan;
use crate::engine::machine::saving::Then;
use crate::engine::machine::slot::Hold;
use crate::engine::machine::working::Kept;
use crate::engine::machine::{Effect, GoBack, Job, Machine, Origin, Pending, Went};
use crate::engine::review::Extent;
use crate::engine::update::{Level, Notice};
use crate::model::event::{Body, Exit, HeadMoved, InterruptReason, MoveReason, RunEnded, Snapshot};
use crate::model::message::{BEGIN_FORK, Message, Source};
use crate::model::task::Status;
use crate::model::work::{Aim, DequeueReason, Rewound, Work};

/// A way back that is under way.
#[derive(Clone, Debug)]
pub struct Return {
    /// Nobody waits for one that is finished after a crash.
    pub(super) command: Option<CommandId>,
    pub(super) task: TaskId,
    aim: Aim,
    extent: Extent,
    words: Option<String>,
    /// The message that is sent instead, and where the task stands afterwards.
    sent: Option<MessageId>,
    status: Option<Status>,
}

impl Return {
    /// Tells whether the session says that files are going back.
    fn began(&self, machine: &Machine) -> bool {
        machine.state(self.task).is_some_and(|state| state.work.moving.is_some())
    }
}

/// A task that is made to continue another.
#[derive(Clone, Debug)]
pub struct Forking {
    pub(super) command: CommandId,
    from: TaskId,
    pub(super) to: TaskId,
    at: Option<TurnId>,
    start: Start,
}

impl Machine {
    pub(super) fn rewind(
        &mut self,
        command: CommandId,
        task: TaskId,
        to: Option<TurnId>,
        extent: Extent,
    ) -> Result<(), Fault> {
        self.go_back(Some(command), task, Aim::After(to), extent, None)
    }

    pub(super) fn redo(&mut self, command: CommandId, task: TaskId) -> Result<(), Fault> {
        self.node(task)?;
        let Some(rewound) = self.state(task).and_then(|state| state.work.rewound.clone()) else {
            return Err(Fault::user("there is nothing to redo: no rewind, or the task has gone on since"));
        };
        self.go_back(Some(command), task, Aim::Redo, rewound.extent, None)
    }

    pub(super) fn resend(
        &mut self,
        command: CommandId,
        task: TaskId,
        message: MessageId,
        text: String,
        extent: Extent,
    ) -> Result<(), Fault> {
        if text.trim().is_empty() {
            return Err(Fault::user("there is nothing to send: the message is empty"));
        }
        if self.state(task).is_some_and(|state| state.messages.get(message).is_some()) {
            return Err(Fault::user("the agent has not read this message yet").hint("take it back instead"));
        }
        let extent = if extent.has_files() { Extent::Both } else { Extent::Conversation };
        self.go_back(Some(command), task, Aim::Before(message), extent, Some(text))
    }

    fn go_back(
        &mut self,
        command: Option<CommandId>,
        task: TaskId,
        aim: Aim,
        extent: Extent,
        words: Option<String>,
    ) -> Result<(), Fault> {
        self.at_rest(task, "rewound")?;
        let spot = self.spot_of(task)?;
        if self.state(task).is_none_or(|state| state.turns.ended == 0) {
            return Err(Fault::user("there is no turn to go back to yet"));
        }
        let state = self.state(task);
        let rewound = state.and_then(|state| state.work.rewound.clone()).filter(|_| aim == Aim::Redo);
        let begun = state.and_then(|state| state.work.moving.clone());
        let back = Return { command, task, aim, extent, words: words.clone(), sent: None, status: None };
        let job = GoBack { spot, aim, extent, words, rewound, begun };
        self.start_job(task, Job::GoBack { back: job, then: back });
        Ok(())
    }

    /// Finishes what a crash interrupted.
    pub(super) fn finish_moving(&mut self, task: TaskId) {
        let Some(moving) = self.state(task).and_then(|state| state.work.moving.clone()) else { return };
        if let Err(fault) = self.go_back(None, task, moving.aim, moving.extent, moving.words) {
            self.stayed(task, &fault);
        }
    }

    /// The files are where they belong: the conversation follows, with the word on how it ended.
    pub(super) fn went_back(&mut self, now: Timestamp, mut back: Return, went: Went) {
        let task = back.task;
        let redo = back.aim == Aim::Redo;
        let mut bodies: Vec<Body> = Vec::new();
        if back.extent.has_conversation() {
            let reason = match back.aim {
                Aim::After(_) => MoveReason::Rewind,
                Aim::Before(_) => MoveReason::Edit,
                Aim::Redo => MoveReason::Redo,
            };
            bodies.push(HeadMoved { to: went.event, from: None, reason, carry: Box::default() }.into());
        }
        // What the user decided to merge is no longer what the task has.
        bodies.extend(self.take_queued_merge(task, DequeueReason::TaskChanged));
        bodies.extend(went.state.map(|(turn, tree)| Body::from(Snapshot { turn, tree })));
        if redo {
            bodies.push(Work::Redone { at: now }.into());
        } else {
            let (extent, to, files, branch) = (back.extent, went.turn, went.files, went.branch);
            bodies.push(
                Work::Rewound { rewound: Rewound { extent, to, head: went.head, files, branch, at: now } }.into(),
            );
        }
        if back.extent.has_conversation() {
            back.status = match (self.status(task), redo) {
                (Some(Status::Passed | Status::Failed), false) => Some(Status::InProgress),
                (Some(Status::InProgress), true) => self.verdict_before(task),
                (Some(_) | None, _) => None,
            };
        }
        match (back.words.take(), went.message) {
            (Some(words), original) => {
                // What was read beside the message is read beside the new one.
                for other in went.others.into_iter().filter(is_said) {
                    let again = Message { id: MessageId::fresh(&self.ids), ..other };
                    self.plans.insert(again.id, Plan::passive());
                    bodies.push(again.into());
                }
                let images = original.map(|original| original.images).unwrap_or_default();
                let message = Message { images, ..self.message(now, Source::User, words) };
                back.sent = Some(message.id);
                self.plans.insert(message.id, Plan::of_user());
                bodies.push(message.into());
            }
            // It waits for what the person has to say next.
            (None, _) if back.extent.has_conversation() && !redo => {
                bodies.push(RunEnded::from(Exit::Interrupted(InterruptReason::Stopped)).into());
            }
            (None, _) if back.extent == Extent::Files => bodies.extend(self.word_on_files(now, task)),
            (None, _) => {}
        }
        self.append(task, bodies, Pending::Work(Box::new(Kept::Return(back))));
    }

    /// Returns what tells an agent that its files are no longer what it left.
    fn word_on_files(&mut self, now: Timestamp, task: TaskId) -> Option<Body> {
        self.state(task)?.turns.voice?;
        let words = "The person put the files of your worktree back to an earlier state. What you remember of them may be wrong: \
                     read them again before you change them.";
        let message = self.message(now, Source::WorkContext, words);
        self.plans.insert(message.id, Plan::passive());
        Some(message.into())
    }

    fn verdict_before(&self, task: TaskId) -> Option<Status> {
        // What the tree last heard of the task, if nothing was done since.
        let node = self.tree.get(task)?;
        let round = node.results.last()?;
        Some(match round.verdict {
            crate::model::event::Verdict::Passed => Status::Passed,
            crate::model::event::Verdict::Failed => Status::Failed,
        })
    }

    /// Everything is in the session: the tree and whoever asked are next.
    pub(super) fn returned(&mut self, now: Timestamp, back: &Return) {
        let task = back.task;
        let outcome = match (back.sent, back.aim) {
            (Some(message), _) => self.sent(task, message),
            (None, Aim::Redo) => Outcome::Redone,
            (None, Aim::After(_) | Aim::Before(_)) => Outcome::Rewound { task, extent: back.extent },
        };
        let status = back.status.filter(|status| match status {
            // A redo makes a verdict count again only if its end is what the conversation ends with.
            Status::Passed => self.ended_with(task, &Exit::DonePassed),
            Status::Failed => self.ended_with(task, &Exit::DoneFailed),
            Status::InProgress => true,
            Status::Draft | Status::Pending | Status::Closed => false,
        });
        let Some(status) = status else { return self.settle_work(now, back.command, task, Ok(outcome)) };
        let _ = self.tree.edit(task, |node| {
            node.status = status;
            node.updated_at = now;
        });
        let then = match back.command {
            Some(command) => Then::Settle(Origin { actor: Actor::User, command: Some(command) }, outcome),
            None => Then::Completed(task),
        };
        self.commit([task], then);
        self.let_go(now, &[task]);
    }

    fn ended_with(&self, task: TaskId, exit: &Exit) -> bool {
        self.state(task).is_some_and(|state| state.turns.exit() == Some(exit))
    }

    /// Files could not go back. What was before is kept; it is not tried again by itself.
    pub(super) fn stayed(&mut self, task: TaskId, fault: &Fault) {
        let stayed = Work::Stayed { reason: fault.to_string() };
        self.append(task, vec![stayed.into()], Pending::Nothing);
    }

    /// It could not go back. What was announced is taken back.
    pub(super) fn not_gone_back(&mut self, now: Timestamp, back: &Return, fault: Fault) {
        if back.began(self) {
            self.stayed(back.task, &fault);
        }
        self.settle_work(now, back.command, back.task, Err(fault));
    }

    pub(super) fn fork_at(
        &mut self,
        now: Timestamp,
        command: CommandId,
        task: TaskId,
        at: Option<TurnId>,
        draft: Draft,
        start: Start,
    ) -> Result<(), Fault> {
        let node = self.node(task)?;
        // Nothing is made below what was put away: the copy hangs below the nearest task that was not.
        let open = self.tree.ancestors(task).find(|above| above.status != Status::Closed);
        let parent = open.map_or(self.tree.root_id(), |above| above.id);
        if self.state(task).is_none_or(|state| state.turns.ended == 0) {
            return Err(Fault::user(format!("{} has no conversation to go on from yet", self.named(task))));
        }
        if at.is_none() && self.is_busy(task) {
            return Err(Fault::user(format!("{} is at work: its files are changing", self.named(task)))
                .hint("fork at a turn, or wait until it rests"));
        }
        let title = if draft.title.trim().is_empty() { format!("{} (fork)", node.title) } else { draft.title.clone() };
        let description =
            if draft.description.trim().is_empty() { node.description.clone() } else { draft.description.clone() };
        let draft = Draft { title, description, ..draft };
        let to = self.add_task(now, Actor::User, parent, None, &draft, start)?;
        if let Some((branch, worktree)) = self.tree.get(to).map(|node| self.new_spot(node)) {
            let _ = self.tree.edit(to, |node| {
                node.branch = Some(branch);
                node.worktree = Some(worktree);
                node.half_made = true;
            });
        }
        self.life(to).holds.add(Hold::Change);
        self.commit([to, parent], Then::Fork(Box::new(Forking { command, from: task, to, at, start })));
        Ok(())
    }

    /// The tree knows the new task: conversation and files are next.
    pub(super) fn fork_work(&mut self, forking: Forking) {
        let (Ok(from), Some(node)) = (self.spot_of(forking.from), self.tree.get(forking.to)) else { return };
        let (title, description) = (node.title.clone(), node.description.clone());
        let Some(place) = self.spot(node) else { return };
        let (to, at) = (forking.to, forking.at);
        self.start_job(to, Job::Fork { from, at, place, title, description, then: forking });
    }

    /// Conversation and files are there: from now on the task stays, whatever happens.
    pub(super) fn copied_whole(&mut self, forking: Forking) {
        let _ = self.tree.edit(forking.to, |node| node.half_made = false);
        self.commit([forking.to], Then::Forked(Box::new(forking)));
    }

    pub(super) fn forked(&mut self, now: Timestamp, forking: &Forking) {
        let Forking { command, to, start, .. } = *forking;
        match start {
            Start::Now => {
                self.let_go(now, &[to]);
                let message = self.message(now, Source::BeginFork, BEGIN_FORK);
                let origin = Origin { actor: Actor::User, command: Some(command) };
                self.deliver_first(to, message, Plan::of_user(), origin);
            }
            Start::Later | Start::Draft => self.settle_work(now, Some(command), to, Ok(self.created(to, Begun::No))),
        }
    }

    /// The copy could not be made: there is no task without one.
    pub(super) fn not_forked(&mut self, now: Timestamp, forking: &Forking, fault: Fault) {
        self.out.push(Effect::Reply { id: forking.command, result: Err(fault) });
        self.unmake(now, forking.to);
    }

    /// Undoes a copy that a crash interrupted: nobody was told that it is there.
    pub(super) fn undo_half_made(&mut self, now: Timestamp, task: TaskId) {
        if !self.tree.get(task).is_some_and(|node| node.half_made) {
            return;
        }
        let text = format!("the fork {} was not finished when the program ended, and is undone", self.named(task));
        self.out.push(Effect::Notify(Notice { level: Level::Info, text, task: None }));
        self.unmake(now, task);
    }
}

/// Tells whether a message was said by somebody, as opposed to what Matrix tells every agent at its start.
fn is_said(message: &Message) -> bool {
    match &message.from {
        Source::WorkContext | Source::CompactedResume | Source::Compact | Source::Interrupt => false,
        Source::User
        | Source::Begin
        | Source::BeginFork
        | Source::Continue
        | Source::TaskMessage { .. }
        | Source::TaskComplete { .. }
        | Source::UserMessageForwarded { .. }
        | Source::TreeChange { .. }
        | Source::ClarifyResponse { .. }
        | Source::CrossProject { .. }
        | Source::BackgroundComplete { .. }
        | Source::Notice => true,
    }
}

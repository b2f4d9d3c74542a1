//! Messages: the one way in which anything is said to a task. Into its session first; then its run hears of it, or one
//! is started.

use std::sync::Arc;

use crate::base::{Fault, MessageId, TaskId, Timestamp};
use crate::engine::command::{Actor, Begun, CommandId, Outcome, Outgoing};
use crate::engine::machine::running::Place as InLine;
use crate::engine::machine::slot::{Hold, Slot};
use crate::engine::machine::{Effect, EffectId, Machine, Origin, Pending, Timer};
use crate::engine::update::{Level, Notice};
use crate::model::AskKind;
use crate::model::event::{Body, Event, MessagesConsumed, MessagesWithdrawn};
use crate::model::message::{Delivery, Message, Source, TreeAction};
use crate::model::run::RunCommand;
use crate::model::task::Status;
use crate::model::work::Work;

/// How a message is handed over once it is in its session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Whether a run may be started for it. Not the same as whether it wakes one that sleeps.
    pub(super) launch: bool,
    pub(super) line: InLine,
}

/// Something the person said that has to wait.
#[derive(Debug)]
pub(super) struct Later {
    with: Vec<Body>,
    message: Message,
    plan: Plan,
    then: Pending,
}

/// Something the person takes back from a task that has a run, or is about to.
#[derive(Debug)]
pub(super) struct Withdrawal {
    command: CommandId,
    /// What the session has not told the fate of.
    pub(super) open: Vec<MessageId>,
    /// Some of it was taken back.
    taken: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self { launch: true, line: InLine::Last }
    }
}

impl Plan {
    /// From the user: it goes first.
    pub(super) fn of_user() -> Self {
        Self { launch: true, line: InLine::First }
    }

    /// To be read when there is something else to read, too.
    pub(super) fn passive() -> Self {
        Self { launch: false, ..Self::default() }
    }
}

impl Machine {
    /// The single path: everything that is said to a task comes through here.
    pub(super) fn deliver(&mut self, to: TaskId, message: Message, plan: Plan, then: Pending) {
        self.deliver_with(to, Vec::new(), message, plan, then);
    }

    /// As [`Machine::deliver`], in one append with what it belongs to.
    pub(super) fn deliver_with(
        &mut self,
        to: TaskId,
        mut with: Vec<Body>,
        message: Message,
        plan: Plan,
        then: Pending,
    ) {
        // What the user says after a stop, or an answer that may be one, must not look as if it had been said before.
        if plan.line == InLine::First && self.is_deciding(to) {
            return self.life(to).later.push(Later { with, message, plan, then });
        }
        self.plans.insert(message.id, plan);
        with.push(message.into());
        self.append(to, with, then);
    }

    /// Says what had to wait until a task was stopped.
    pub(super) fn say_what_waited(&mut self, task: TaskId) {
        if self.is_deciding(task) {
            return;
        }
        // A task that is gone meanwhile must not be made known again.
        let waited = self.lives.get_mut(&task).map(|life| std::mem::take(&mut life.later)).unwrap_or_default();
        for Later { with, message, plan, mut then } in waited {
            // Ids are compared with those of events: only now is it known which of them come before.
            let message = Message { id: MessageId::fresh(&self.ids), ..message };
            if let Pending::Reply(_, Outcome::Sent { message: id, .. } | Outcome::AgentAsked(id)) = &mut then {
                *id = message.id;
            }
            self.deliver_with(task, with, message, plan, then);
        }
    }

    pub(super) fn append(&mut self, task: TaskId, bodies: Vec<Body>, then: Pending) {
        let ticket = self.number();
        self.pending.insert(ticket, then);
        self.out.push(Effect::Append { ticket, task, bodies });
    }

    pub(super) fn appended(&mut self, now: Timestamp, ticket: EffectId) {
        let Some(pending) = self.pending.remove(&ticket) else { return };
        if let Pending::Completion(task)
        | Pending::Marker(task)
        | Pending::Question(task)
        | Pending::Halt(task)
        | Pending::Answer { task, .. } = &pending
        {
            self.disk_took(*task);
        }
        match pending {
            Pending::Reply(id, outcome) => self.out.push(Effect::Reply { id, result: Ok(outcome) }),
            Pending::Begin { task, origin } => {
                self.life(task).first_message = None;
                self.disk_took(task);
                self.settle(origin, self.created(task, Begun::Yes));
            }
            Pending::Completion(task) => self.told_above(task),
            Pending::Edit(edit) => self.kept(now, *edit, Ok(())),
            Pending::Halt(task) => self.halted(now, task),
            Pending::Answer { task, ask, command } => {
                self.answering.remove(&ask);
                self.out.extend(command.map(|id| Effect::Reply { id, result: Ok(Outcome::Done) }));
                self.say_what_waited(task);
            }
            Pending::Withdrawal(task, command) => self.withdrawn(now, task, command, Ok(Outcome::Done)),
            Pending::Work(kept) => self.work_kept(now, *kept),
            Pending::Letter(id) => drop(self.plans.remove(&id)),
            Pending::Approval(ask) => drop(self.approving.remove(&ask)),
            Pending::TaskLimit(task, id, fault) => self.task_limit_asked(task, id, fault),
            Pending::Nothing | Pending::Marker(_) | Pending::Question(_) => {}
        }
    }

    pub(super) fn append_failed(&mut self, now: Timestamp, ticket: EffectId, reason: &str) {
        let Some(pending) = self.pending.remove(&ticket) else { return self.not_kept(reason) };
        let fault = || Fault::environment(format!("nothing was done: {reason}"));
        match pending {
            Pending::Reply(id, _) => self.out.push(Effect::Reply { id, result: Err(fault()) }),
            Pending::Begin { task, origin } => self.not_begun(now, task, origin, reason),
            Pending::Completion(task) | Pending::Marker(task) => self.not_told(now, task, reason),
            Pending::Question(task) => self.disk_refused(now, task, "a question could not be kept", reason),
            Pending::Halt(task) => self.disk_refused(now, task, "the stop of the task could not be kept", reason),
            Pending::Answer { task, ask, command: Some(id) } => {
                self.answering.remove(&ask);
                self.out.push(Effect::Reply { id, result: Err(fault()) });
                // Its time may have come meanwhile, and was not heeded because there was an answer.
                if self.pending_ask(task, ask).is_some_and(|ask| ask.deadline.is_some_and(|deadline| deadline <= now)) {
                    self.wake_after_refusal(now, task, Timer::AskDeadline { task, ask });
                }
                self.say_what_waited(task);
            }
            Pending::Answer { task, ask, command: None } => {
                self.answering.remove(&ask);
                self.say_what_waited(task);
                self.say_refused(task, "the answer to a question could not be kept", reason);
                self.wake_after_refusal(now, task, Timer::AskDeadline { task, ask });
            }
            Pending::Withdrawal(task, command) => self.withdrawn(now, task, command, Err(fault())),
            Pending::Edit(edit) => self.kept(now, *edit, Err(Fault::environment(reason))),
            Pending::Work(kept) => self.work_not_kept(now, &kept, fault()),
            Pending::Letter(id) => {
                // Its file is still there: it is taken in when the next one comes, or at the next start.
                self.plans.remove(&id);
                self.not_kept(reason);
            }
            Pending::Approval(ask) => {
                self.approving.remove(&ask);
                self.not_kept(reason);
            }
            Pending::TaskLimit(task, id, _) => self.task_limit_asked(task, id, fault()),
            Pending::Nothing => self.not_kept(reason),
        }
    }

    /// The first message of a new task could not be written: that is tried again. The user is told that it failed, and
    /// decides; an agent that made a task goes on without it.
    fn not_begun(&mut self, now: Timestamp, task: TaskId, origin: Origin, reason: &str) {
        let Origin { actor: Actor::User, command: Some(id) } = origin else {
            self.settle(origin, self.created(task, Begun::Delayed { reason: reason.to_owned() }));
            return self.begin_later(now, task, reason);
        };
        self.life(task).first_message = None;
        // Its tree says that it begins: it is sent its first message when the disk takes it.
        if self.tree.get(task).is_some() {
            self.try_again_later(now, task);
        }
        let fault = Fault::environment(format!("the task {task} was made, but was not told to begin: {reason}"))
            .hint("it is tried again by itself; or send it a message to start it");
        self.out.push(Effect::Reply { id, result: Err(fault) });
    }

    /// Delivers the message that begins a task. Until the disk has taken it, it is tried again.
    pub(super) fn deliver_first(&mut self, task: TaskId, message: Message, plan: Plan, origin: Origin) {
        self.life(task).first_message = Some(Box::new((message.clone(), plan)));
        self.deliver(task, message, plan, Pending::Begin { task, origin });
    }

    fn begin_later(&mut self, now: Timestamp, task: TaskId, reason: &str) {
        let what = format!("the first message of {} could not be written", self.named(task));
        self.disk_refused(now, task, &what, reason);
    }

    /// Tries again to begin a task. Tells whether it was waiting for that.
    pub(super) fn begin_again(&mut self, task: TaskId) -> bool {
        let first = self.lives.get_mut(&task).and_then(|life| life.first_message.take());
        let Some((message, plan)) = first.map(|first| *first) else { return false };
        self.plans.remove(&message.id);
        let message = Message { id: MessageId::fresh(&self.ids), ..message };
        self.deliver_first(task, message, plan, Origin::ENGINE);
        true
    }

    fn not_kept(&mut self, reason: &str) {
        let text = format!("an event could not be kept: {reason}");
        self.out.push(Effect::Notify(Notice { level: Level::Error, text, task: None }));
    }

    /// Takes in an event that is on the disk, and does what follows from it.
    pub(super) fn observed(&mut self, now: Timestamp, task: TaskId, event: &Arc<Event>) {
        // A session whose task is gone is nobody's any more.
        if self.tree.get(task).is_none() && !self.lives.contains_key(&task) {
            return;
        }
        self.life(task).state.apply(event);
        self.note_queued_merge(task, event);
        match &event.body {
            // What a copied conversation cost was paid where it was held.
            Body::Usage(usage) if event.run.is_some() => self.spent += usage.cost.unwrap_or_default(),
            Body::Message(message) => self.message_arrived(now, task, message, event),
            Body::AskRaised(ask) => {
                self.asked(task, ask);
                if ask.kind() == AskKind::LaunchFailed {
                    self.tell_of_failure(now, task);
                }
            }
            Body::AskAnswered(answered) => self.ask_answered(now, task, answered, event),
            Body::RunEnded(_) => {
                let life = self.life(task);
                if event.run.is_some() && life.slot.is_alive() {
                    life.slot = Slot::Leaving { stop: life.slot.stop().cloned() };
                }
                self.complete_if_done(now, task);
            }
            Body::TurnEnded(_) => self.life(task).created = 0,
            Body::DoneNotified(notified) => self.settle_completion(now, task, notified),
            Body::SessionConfig(config) => self.life(task).model = Some(config.model.clone()),
            Body::Work(Work::Approved { .. }) => self.complete_if_done(now, task),
            Body::MessagesWithdrawn(MessagesWithdrawn { ids }) => {
                if event.run.is_none() {
                    self.hear(task, event);
                }
                self.settle_withdrawals(task, ids, true);
            }
            Body::MessagesConsumed(MessagesConsumed { ids }) => self.settle_withdrawals(task, ids, false),
            Body::AskWithdrawn(_) if event.run.is_none() => self.hear(task, event),
            // Nothing follows from the others beyond the state above.
            _ => {}
        }
    }

    fn message_arrived(&mut self, now: Timestamp, task: TaskId, message: &Message, event: &Arc<Event>) {
        if let Some(done) = self.completions.remove(&message.id) {
            self.mark_told(done);
        }
        // What a run wrote into its own session it knows.
        if event.run.is_some() {
            return;
        }
        let plan = self.plans.remove(&message.id).unwrap_or_default();
        // Whoever asked waits for something else now than a moment ago.
        if let Source::TaskMessage { task: asking, request_reply: true, .. } = &message.from {
            self.changed.insert(*asking);
        }
        if self.lives.get(&task).is_some_and(|life| life.slot.has_run()) {
            self.out.push(Effect::Tell { task, command: RunCommand::Hear(Arc::clone(event)) });
            if message.delivery == Delivery::Interrupt {
                self.out.push(Effect::Tell { task, command: RunCommand::Interrupt });
            }
        } else if plan.launch && message.from.wakes() {
            self.wake(now, task, plan.line);
        }
    }

    /// Passes on to a run what was written into its session.
    pub(super) fn hear(&mut self, task: TaskId, event: &Arc<Event>) {
        if self.lives.get(&task).is_some_and(|life| life.slot.has_run()) {
            self.out.push(Effect::Tell { task, command: RunCommand::Hear(Arc::clone(event)) });
        }
    }

    pub(super) fn send(
        &mut self,
        now: Timestamp,
        id: CommandId,
        task: TaskId,
        outgoing: Outgoing,
        mode: Delivery,
    ) -> Result<(), Fault> {
        let node = self.node(task)?;
        let (title, woke) =
            (node.title.clone(), matches!(node.status, Status::Passed | Status::Failed | Status::Closed));
        if outgoing.text.trim().is_empty() && outgoing.images.is_empty() {
            return Err(Fault::user("there is nothing to send: the message is empty"));
        }
        let delivery = self.possible_delivery(task, mode);
        let message = Message { images: outgoing.images, delivery, ..self.message(now, Source::User, outgoing.text) };
        let forwarded = message.body.clone();
        let outcome = self.sent(task, message.id);
        let with = self.withdraw_review(task, "the person spoke to the agent instead");
        self.deliver_with(task, with, message, Plan::of_user(), Pending::Reply(id, outcome));
        let from = Source::UserMessageForwarded { task, title, woke };
        self.tell_above(now, task, &from, &forwarded);
        Ok(())
    }

    /// Returns that a message was sent to a task.
    pub(super) fn sent(&self, to: TaskId, message: MessageId) -> Outcome {
        Outcome::Sent { message, wakes: !self.has_run(to) }
    }

    /// Tells the tasks above that are at work, without costing them a turn.
    pub(super) fn tell_above(&mut self, now: Timestamp, task: TaskId, from: &Source, body: &str) {
        let above: Vec<TaskId> = self
            .tree
            .ancestors(task)
            .filter(|node| node.status == Status::InProgress)
            .map(|node| node.id)
            .filter(|id| self.lives.get(id).is_some_and(|life| life.state.turns.voice.is_some()))
            .collect();
        for id in above {
            let message = self.message(now, from.clone(), body);
            self.deliver(id, message, Plan::passive(), Pending::Nothing);
        }
    }

    /// Tells the chain above of a change, if it is told of what this actor does.
    pub(super) fn note_edit(
        &mut self,
        now: Timestamp,
        actor: Actor,
        task: TaskId,
        title: &str,
        action: TreeAction,
        detail: &str,
    ) {
        if actor.is_told_above() {
            let from = Source::TreeChange { task, title: title.to_owned(), action };
            self.tell_above(now, task, &from, detail);
        }
    }

    pub(super) fn withdraw(&mut self, command: CommandId, task: TaskId, messages: Vec<MessageId>) -> Result<(), Fault> {
        self.node(task)?;
        let life = self.life(task);
        let waiting: Vec<MessageId> =
            messages.into_iter().filter(|id| life.state.messages.get(*id).is_some()).collect();
        if waiting.is_empty() {
            return Err(too_late());
        }
        let mut keep = |open| life.to_withdraw.push(Withdrawal { command, open, taken: false });
        match life.slot {
            // The run alone knows what it has handed over already.
            Slot::Running { .. } | Slot::Leaving { .. } => {
                keep(waiting.clone());
                self.out.push(Effect::Tell { task, command: RunCommand::Withdraw(waiting) });
            }
            // It may be reading its session at this moment.
            Slot::Launching { .. } => keep(waiting),
            Slot::Free | Slot::Halting => {
                life.holds.add(Hold::Withdrawal);
                self.queue.retain(|queued| *queued != task);
                let withdrawn = MessagesWithdrawn { ids: waiting };
                self.append(task, vec![withdrawn.into()], Pending::Withdrawal(task, command));
            }
        }
        Ok(())
    }

    /// The run is gone that should have answered.
    pub(super) fn withdraw_again(&mut self, task: TaskId, withdrawal: Withdrawal) {
        let Withdrawal { command, open, taken } = withdrawal;
        if let Err(fault) = self.withdraw(command, task, open) {
            let result = if taken { Ok(Outcome::Done) } else { Err(fault) };
            self.out.push(Effect::Reply { id: command, result });
        }
    }

    /// The session says what became of messages: whoever wanted them back is told.
    fn settle_withdrawals(&mut self, task: TaskId, ids: &[MessageId], taken: bool) {
        let Some(life) = self.lives.get_mut(&task) else { return };
        for withdrawal in &mut life.to_withdraw {
            let before = withdrawal.open.len();
            withdrawal.open.retain(|id| !ids.contains(id));
            withdrawal.taken |= taken && withdrawal.open.len() < before;
        }
        for settled in life.to_withdraw.extract_if(.., |withdrawal| withdrawal.open.is_empty()) {
            let result = if settled.taken { Ok(Outcome::Done) } else { Err(too_late()) };
            self.out.push(Effect::Reply { id: settled.command, result });
        }
    }

    /// What was to be taken back is, or could not be: if there is more, it is looked at.
    fn withdrawn(&mut self, now: Timestamp, task: TaskId, id: CommandId, result: Result<Outcome, Fault>) {
        if let Some(life) = self.lives.get_mut(&task) {
            life.holds.remove(Hold::Withdrawal);
        }
        self.out.push(Effect::Reply { id, result });
        self.reconsider(now, task);
    }

    pub(super) fn compact(&mut self, now: Timestamp, id: CommandId, task: TaskId) -> Result<(), Fault> {
        self.node(task)?;
        if self.lives.get(&task).is_none_or(|life| life.state.turns.voice.is_none()) {
            return Err(Fault::user("there is no conversation to summarise yet"));
        }
        let message = self.message(now, Source::Compact, "");
        self.deliver(task, message, Plan::of_user(), Pending::Reply(id, Outcome::Done));
        Ok(())
    }
}

fn too_late() -> Fault {
    Fault::user("it is too late to take this back: the agent has it")
}

//! Messages to tasks: every message goes through here. It is appended to the session first; then the run gets it, or a
//! run is started.

use std::sync::Arc;

use crate::base::{Fault, MessageId, TaskId, Timestamp};
use crate::engine::command::{Actor, CommandId, Outcome, Outgoing, StartOutcome};
use crate::engine::machine::scheduler::QueuePosition;
use crate::engine::machine::slot::{Hold, Slot};
use crate::engine::machine::{AppendContinuation, Effect, EffectId, Machine, Origin, Timer};
use crate::engine::update::{Level, Notice};
use crate::model::AskKind;
use crate::model::event::{Body, Event, MessagesConsumed, MessagesWithdrawn};
use crate::model::message::{Delivery, Message, MessageSource, TreeAction};
use crate::model::run::RunCommand;
use crate::model::task::Status;
use crate::model::work::Work;

/// How a message is delivered once it is in its session.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeliveryPlan {
    /// Whether a run may be started for it. Waking a sleeping run is another matter.
    pub(super) launch: bool,
    pub(super) position: QueuePosition,
}

/// A message of the user that waits for a decision to be written.
#[derive(Debug)]
pub(super) struct HeldMessage {
    with: Vec<Body>,
    message: Message,
    plan: DeliveryPlan,
    then: AppendContinuation,
}

/// A withdrawal of messages from a task that has a run or a launch.
#[derive(Debug)]
pub(super) struct Withdrawal {
    command: CommandId,
    /// The messages that are neither withdrawn nor consumed yet.
    pub(super) open: Vec<MessageId>,
    /// Whether some messages were withdrawn.
    taken: bool,
}

impl Default for DeliveryPlan {
    fn default() -> Self {
        Self { launch: true, position: QueuePosition::Last }
    }
}

impl DeliveryPlan {
    /// A plan for messages from the user, which start a run first.
    pub(super) fn from_user() -> Self {
        Self { launch: true, position: QueuePosition::First }
    }

    /// A plan for messages that start no run.
    pub(super) fn passive() -> Self {
        Self { launch: false, ..Self::default() }
    }
}

impl Machine {
    /// Delivers a message to a task.
    pub(super) fn deliver(&mut self, to: TaskId, message: Message, plan: DeliveryPlan, then: AppendContinuation) {
        self.deliver_with(to, Vec::new(), message, plan, then);
    }

    /// As [`Machine::deliver`], in one append with `with`.
    pub(super) fn deliver_with(
        &mut self,
        to: TaskId,
        mut with: Vec<Body>,
        message: Message,
        plan: DeliveryPlan,
        then: AppendContinuation,
    ) {
        // A user message after a stop, or after an answer that may stop the task, must come after it in the session.
        if plan.position == QueuePosition::First && self.is_decision_pending(to) {
            return self.runtime(to).held_messages.push(HeldMessage { with, message, plan, then });
        }
        self.delivery_plans.insert(message.id, plan);
        with.push(message.into());
        self.append(to, with, then);
    }

    /// Delivers the messages that waited for a decision to be written.
    pub(super) fn deliver_held_messages(&mut self, task: TaskId) {
        if self.is_decision_pending(task) {
            return;
        }
        // Do not create a runtime for a task that is gone.
        let held =
            self.runtimes.get_mut(&task).map(|runtime| std::mem::take(&mut runtime.held_messages)).unwrap_or_default();
        for HeldMessage { with, message, plan, mut then } in held {
            // Message ids are compared with event ids, so the message needs an id that is later than the decision.
            let message = Message { id: MessageId::fresh(&self.ids), ..message };
            if let AppendContinuation::Reply(_, Outcome::Sent { message: id, .. } | Outcome::AgentAsked(id)) = &mut then
            {
                *id = message.id;
            }
            self.deliver_with(task, with, message, plan, then);
        }
    }

    pub(super) fn append(&mut self, task: TaskId, bodies: Vec<Body>, then: AppendContinuation) {
        let ticket = self.next_effect_id();
        self.pending.insert(ticket, then);
        self.out.push(Effect::Append { ticket, task, bodies });
    }

    pub(super) fn on_appended(&mut self, now: Timestamp, ticket: EffectId) {
        let Some(pending) = self.pending.remove(&ticket) else { return };
        if let AppendContinuation::Completion(task)
        | AppendContinuation::CompletionMarker(task)
        | AppendContinuation::Question(task)
        | AppendContinuation::Stop(task)
        | AppendContinuation::Answer { task, .. } = &pending
        {
            self.on_disk_recovered(*task);
        }
        match pending {
            AppendContinuation::Reply(id, outcome) => self.out.push(Effect::Reply { id, result: Ok(outcome) }),
            AppendContinuation::Begin { task, origin } => {
                self.runtime(task).first_message = None;
                self.on_disk_recovered(task);
                self.reply(origin, self.created_outcome(task, StartOutcome::Yes));
            }
            AppendContinuation::Completion(task) => self.on_parent_notified(task),
            AppendContinuation::Edit(edit) => self.on_edit_appended(now, *edit, Ok(())),
            AppendContinuation::Stop(task) => self.on_stop_recorded(now, task),
            AppendContinuation::Answer { task, ask, command } => {
                self.answering.remove(&ask);
                self.out.extend(command.map(|id| Effect::Reply { id, result: Ok(Outcome::Done) }));
                self.deliver_held_messages(task);
            }
            AppendContinuation::Withdrawal(task, command) => self.on_withdrawn(now, task, command, Ok(Outcome::Done)),
            AppendContinuation::Work(kept) => self.on_work_appended(now, *kept),
            AppendContinuation::ProjectMessage(id) => drop(self.delivery_plans.remove(&id)),
            AppendContinuation::Approval(ask) => drop(self.approving.remove(&ask)),
            AppendContinuation::TaskLimit(task, id, fault) => self.on_task_limit_asked(task, id, fault),
            AppendContinuation::Nothing | AppendContinuation::CompletionMarker(_) | AppendContinuation::Question(_) => {
            }
        }
    }

    pub(super) fn on_append_failed(&mut self, now: Timestamp, ticket: EffectId, reason: &str) {
        let Some(pending) = self.pending.remove(&ticket) else { return self.report_append_failure(reason) };
        let fault = || Fault::environment(format!("nothing was done: {reason}"));
        match pending {
            AppendContinuation::Reply(id, _) => self.out.push(Effect::Reply { id, result: Err(fault()) }),
            AppendContinuation::Begin { task, origin } => self.on_first_message_failed(now, task, origin, reason),
            AppendContinuation::Completion(task) | AppendContinuation::CompletionMarker(task) => {
                self.on_notify_failed(now, task, reason);
            }
            AppendContinuation::Question(task) => {
                self.runtime(task).is_asking_for_profile = false;
                self.on_disk_error(now, task, "cannot save a question", reason);
            }
            AppendContinuation::Stop(task) => self.on_disk_error(now, task, "cannot save the stop of the task", reason),
            AppendContinuation::Answer { task, ask, command: Some(id) } => {
                self.answering.remove(&ask);
                self.out.push(Effect::Reply { id, result: Err(fault()) });
                // Its deadline may have passed while the answer was being written.
                if self.pending_ask(task, ask).is_some_and(|ask| ask.deadline.is_some_and(|deadline| deadline <= now)) {
                    self.set_retry_timer(now, task, Timer::AskDeadline { task, ask });
                }
                self.deliver_held_messages(task);
            }
            AppendContinuation::Answer { task, ask, command: None } => {
                self.answering.remove(&ask);
                self.deliver_held_messages(task);
                self.report_disk_error(task, "cannot save the answer to a question", reason);
                self.set_retry_timer(now, task, Timer::AskDeadline { task, ask });
            }
            AppendContinuation::Withdrawal(task, command) => self.on_withdrawn(now, task, command, Err(fault())),
            AppendContinuation::Edit(edit) => self.on_edit_appended(now, *edit, Err(Fault::environment(reason))),
            AppendContinuation::Work(kept) => self.on_work_append_failed(now, &kept, fault()),
            AppendContinuation::ProjectMessage(id) => {
                // Its file still exists: the next message or start delivers it.
                self.delivery_plans.remove(&id);
                self.report_append_failure(reason);
            }
            AppendContinuation::Approval(ask) => {
                self.approving.remove(&ask);
                self.report_append_failure(reason);
            }
            AppendContinuation::TaskLimit(task, id, _) => self.on_task_limit_asked(task, id, fault()),
            AppendContinuation::Nothing => self.report_append_failure(reason),
        }
    }

    /// Retries the first message of a new task. The user gets an error; an agent continues with a delayed start.
    fn on_first_message_failed(&mut self, now: Timestamp, task: TaskId, origin: Origin, reason: &str) {
        let Origin { actor: Actor::User, command: Some(id) } = origin else {
            self.reply(origin, self.created_outcome(task, StartOutcome::Delayed { reason: reason.to_owned() }));
            return self.retry_first_message_later(now, task, reason);
        };
        self.runtime(task).first_message = None;
        // The tree says that the task starts, so the retry sends its first message.
        if self.tree.get(task).is_some() {
            self.schedule_retry(now, task);
        }
        let fault = Fault::environment(format!("the task {task} was created but could not be started: {reason}"))
            .hint("this is retried automatically; you can also send it a message");
        self.out.push(Effect::Reply { id, result: Err(fault) });
    }

    /// Delivers the first message of a task. A failed write is retried.
    pub(super) fn deliver_first(&mut self, task: TaskId, message: Message, plan: DeliveryPlan, origin: Origin) {
        self.runtime(task).first_message = Some(Box::new((message.clone(), plan)));
        self.deliver(task, message, plan, AppendContinuation::Begin { task, origin });
    }

    fn retry_first_message_later(&mut self, now: Timestamp, task: TaskId, reason: &str) {
        let what = format!("cannot write the first message of {}", self.task_label(task));
        self.on_disk_error(now, task, &what, reason);
    }

    /// Retries the first message of a task. Returns false if there is none.
    pub(super) fn retry_first_message(&mut self, task: TaskId) -> bool {
        let first = self.runtimes.get_mut(&task).and_then(|runtime| runtime.first_message.take());
        let Some((message, plan)) = first.map(|first| *first) else { return false };
        self.delivery_plans.remove(&message.id);
        let message = Message { id: MessageId::fresh(&self.ids), ..message };
        self.deliver_first(task, message, plan, Origin::ENGINE);
        true
    }

    fn report_append_failure(&mut self, reason: &str) {
        let text = format!("cannot save an event: {reason}");
        self.out.push(Effect::Notify(Notice { level: Level::Error, text, task: None }));
    }

    /// Applies an event that is on disk, and does what follows from it.
    pub(super) fn on_event(&mut self, now: Timestamp, task: TaskId, event: &Arc<Event>) {
        // The task was deleted.
        if self.tree.get(task).is_none() && !self.runtimes.contains_key(&task) {
            return;
        }
        self.runtime(task).state.apply(event);
        self.update_merge_queue(task, event);
        match &event.body {
            // Events of a copied conversation have no run; their cost was counted in the original.
            Body::Usage(usage) if event.run.is_some() => self.spent += usage.cost.unwrap_or_default(),
            Body::Message(message) => self.on_message(now, task, message, event),
            Body::AskRaised(ask) => {
                self.on_ask_raised(task, ask);
                self.on_call_held(now, task, ask);
                if let Some(plan) = Self::plan_of(ask) {
                    self.on_plan_submitted(now, task, plan);
                }
                if ask.kind() == AskKind::Bind {
                    self.runtime(task).is_asking_for_profile = false;
                }
                if ask.kind() == AskKind::LaunchFailed {
                    self.report_launch_failure(now, task);
                }
            }
            Body::AskAnswered(answered) => self.on_ask_answered(now, task, answered, event),
            Body::RunEnded(_) => {
                let runtime = self.runtime(task);
                if event.run.is_some() && runtime.slot.is_alive() {
                    runtime.slot = Slot::Leaving { stop: runtime.slot.stop().cloned() };
                }
                self.complete_if_done(now, task);
            }
            Body::TurnEnded(_) => self.runtime(task).created = 0,
            Body::Granted(_) => self.policies_changed(),
            Body::DoneNotified(notified) => self.on_done_notified(now, task, notified),
            Body::SessionConfig(config) => self.runtime(task).model = Some(config.model.clone()),
            Body::Work(Work::Approved { .. }) => self.complete_if_done(now, task),
            Body::MessagesWithdrawn(MessagesWithdrawn { ids }) => {
                if event.run.is_none() {
                    self.forward_to_run(task, event);
                }
                self.resolve_withdrawals(task, ids, true);
            }
            Body::MessagesConsumed(MessagesConsumed { ids }) => self.resolve_withdrawals(task, ids, false),
            Body::AskWithdrawn(_) if event.run.is_none() => self.forward_to_run(task, event),
            // The other events only change the folded state.
            _ => {}
        }
    }

    fn on_message(&mut self, now: Timestamp, task: TaskId, message: &Message, event: &Arc<Event>) {
        if let Some(done) = self.completions.remove(&message.id) {
            self.record_notified(done);
        }
        // A run knows what it wrote itself.
        if event.run.is_some() {
            return;
        }
        let plan = self.delivery_plans.remove(&message.id).unwrap_or_default();
        // The sender now waits for a reply, so its view changes.
        if let MessageSource::TaskMessage { task: asking, request_reply: true, .. } = &message.from {
            self.changed.insert(*asking);
        }
        if self.runtimes.get(&task).is_some_and(|runtime| runtime.slot.has_run()) {
            self.out.push(Effect::SendToRun { task, command: RunCommand::Deliver(Arc::clone(event)) });
            if message.delivery == Delivery::Interrupt {
                self.out.push(Effect::SendToRun { task, command: RunCommand::Interrupt });
            }
        } else if plan.launch && message.from.wakes() {
            self.wake(now, task, plan.position);
        }
    }

    /// Forwards an event in a session to its run.
    pub(super) fn forward_to_run(&mut self, task: TaskId, event: &Arc<Event>) {
        if self.runtimes.get(&task).is_some_and(|runtime| runtime.slot.has_run()) {
            self.out.push(Effect::SendToRun { task, command: RunCommand::Deliver(Arc::clone(event)) });
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
        if node.is_folder() {
            return Err(Fault::user(format!("\"{title}\" only groups imported sessions: no agent works on it"))
                .hint("write to one of the tasks below it"));
        }
        if outgoing.text.trim().is_empty() && outgoing.images.is_empty() {
            return Err(Fault::user("nothing to send: the message is empty"));
        }
        let delivery = self.possible_delivery(task, mode);
        let Outgoing { text, images, key } = outgoing;
        let message = Message { images, delivery, key, ..self.message(now, MessageSource::User, text) };
        let forwarded = message.body.clone();
        let outcome = self.sent_outcome(task, message.id);
        let with = self.withdraw_review(task, "the user sent a message instead");
        self.deliver_with(task, with, message, DeliveryPlan::from_user(), AppendContinuation::Reply(id, outcome));
        let from = MessageSource::UserMessageForwarded { task, title, woke };
        self.notify_ancestors(now, task, &from, &forwarded);
        Ok(())
    }

    pub(super) fn sent_outcome(&self, to: TaskId, message: MessageId) -> Outcome {
        Outcome::Sent { message, wakes: !self.has_run(to) }
    }

    /// Sends a message to the ancestors that are in progress, without starting a run.
    pub(super) fn notify_ancestors(&mut self, now: Timestamp, task: TaskId, from: &MessageSource, body: &str) {
        let above: Vec<TaskId> = self
            .tree
            .ancestors(task)
            .filter(|node| node.status == Status::InProgress)
            .map(|node| node.id)
            .filter(|id| self.runtimes.get(id).is_some_and(|runtime| runtime.state.turns.last_role.is_some()))
            .collect();
        for id in above {
            let message = self.message(now, from.clone(), body);
            self.deliver(id, message, DeliveryPlan::passive(), AppendContinuation::Nothing);
        }
    }

    /// Notifies the ancestors of a change, if the actor's changes are announced.
    pub(super) fn notify_of_edit(
        &mut self,
        now: Timestamp,
        actor: Actor,
        task: TaskId,
        title: &str,
        action: TreeAction,
        detail: &str,
    ) {
        if actor.notifies_ancestors() {
            let from = MessageSource::TreeChange { task, title: title.to_owned(), action };
            self.notify_ancestors(now, task, &from, detail);
        }
    }

    pub(super) fn withdraw(&mut self, command: CommandId, task: TaskId, messages: Vec<MessageId>) -> Result<(), Fault> {
        self.node(task)?;
        let runtime = self.runtime(task);
        let waiting: Vec<MessageId> =
            messages.into_iter().filter(|id| runtime.state.messages.get(*id).is_some()).collect();
        if waiting.is_empty() {
            return Err(too_late());
        }
        let mut keep = |open| runtime.to_withdraw.push(Withdrawal { command, open, taken: false });
        match runtime.slot {
            // Only the run knows which messages it has consumed.
            Slot::Running { .. } | Slot::Leaving { .. } => {
                keep(waiting.clone());
                self.out.push(Effect::SendToRun { task, command: RunCommand::Withdraw(waiting) });
            }
            // The launch may be reading the session.
            Slot::Launching { .. } => keep(waiting),
            Slot::Free | Slot::Halting => {
                runtime.holds.add(Hold::Withdrawal);
                self.queue.retain(|queued| *queued != task);
                let withdrawn = MessagesWithdrawn { ids: waiting };
                self.append(task, vec![withdrawn.into()], AppendContinuation::Withdrawal(task, command));
            }
        }
        Ok(())
    }

    /// Repeats a withdrawal whose run is gone.
    pub(super) fn withdraw_again(&mut self, task: TaskId, withdrawal: Withdrawal) {
        let Withdrawal { command, open, taken } = withdrawal;
        if let Err(fault) = self.withdraw(command, task, open) {
            let result = if taken { Ok(Outcome::Done) } else { Err(fault) };
            self.out.push(Effect::Reply { id: command, result });
        }
    }

    /// Replies to withdrawals whose messages are all withdrawn or consumed.
    fn resolve_withdrawals(&mut self, task: TaskId, ids: &[MessageId], taken: bool) {
        let Some(runtime) = self.runtimes.get_mut(&task) else { return };
        for withdrawal in &mut runtime.to_withdraw {
            let before = withdrawal.open.len();
            withdrawal.open.retain(|id| !ids.contains(id));
            withdrawal.taken |= taken && withdrawal.open.len() < before;
        }
        for settled in runtime.to_withdraw.extract_if(.., |withdrawal| withdrawal.open.is_empty()) {
            let result = if settled.taken { Ok(Outcome::Done) } else { Err(too_late()) };
            self.out.push(Effect::Reply { id: settled.command, result });
        }
    }

    /// Replies to a withdrawal from a task without a run, and checks whether it has other work.
    fn on_withdrawn(&mut self, now: Timestamp, task: TaskId, id: CommandId, result: Result<Outcome, Fault>) {
        if let Some(runtime) = self.runtimes.get_mut(&task) {
            runtime.holds.remove(Hold::Withdrawal);
        }
        self.out.push(Effect::Reply { id, result });
        self.reconsider(now, task);
    }

    pub(super) fn compact(&mut self, now: Timestamp, id: CommandId, task: TaskId) -> Result<(), Fault> {
        self.node(task)?;
        if self.runtimes.get(&task).is_none_or(|runtime| runtime.state.turns.last_role.is_none()) {
            return Err(Fault::user("cannot compact: there is no conversation yet"));
        }
        let message = self.message(now, MessageSource::Compact, "");
        self.deliver(task, message, DeliveryPlan::from_user(), AppendContinuation::Reply(id, Outcome::Done));
        Ok(())
    }
}

fn too_late() -> Fault {
    Fault::user("cannot withdraw the message: it was already read or withdrawn")
}

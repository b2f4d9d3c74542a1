//! Commands to a run: messages, interrupts, the end.

use super::run::{CANCEL_GRACE, Cancel, CancelCause, DONE_GRACE, INTERRUPTED, Phase, Run, UNKNOWN_END};
use crate::base::MessageId;
use crate::model::event::{Body, Event, Exit, InterruptReason, MessagesConsumed, MessagesWithdrawn, RunEnded};
use crate::model::message::{Delivery, Message, MessageSource};
use crate::model::render;
use crate::model::run::RunCommand;
use crate::outside::Steered;
use crate::outside::session::PromptPart;
use crate::store::StoreError;
use tokio::time::Instant;

impl Run {
    pub(super) async fn on_command(&mut self, command: Option<RunCommand>) -> Result<(), StoreError> {
        match command {
            // No one can send commands any more, so the run must end.
            None => self.tear_down(InterruptReason::Quit).await,
            Some(RunCommand::Teardown(reason)) => self.tear_down(reason).await,
            Some(RunCommand::Interrupt) => self.interrupt().await,
            Some(RunCommand::Withdraw(ids)) => {
                let is_free = |id: &MessageId| self.state.messages.get(*id).is_some() && !self.steering.contains(id);
                let ids: Vec<_> = ids.into_iter().filter(is_free).collect();
                if ids.is_empty() { Ok(()) } else { self.append(vec![MessagesWithdrawn { ids }.into()]).await }
            }
            Some(RunCommand::Deliver(event)) => self.on_delivered(&event).await,
            // The turn finishes, and no other begins: another process takes over.
            Some(RunCommand::WrapUp) if self.asks.is_empty() => {
                self.flags.wraps_up = true;
                Ok(())
            }
            // A turn that waits for the user may wait for days. It goes on in the other process.
            Some(RunCommand::WrapUp) => self.tear_down(InterruptReason::Quit).await,
            // Its processes are not ours.
            Some(RunCommand::Background { .. } | RunCommand::Kill { .. }) => Ok(()),
        }
    }

    pub(super) async fn on_delivered(&mut self, event: &Event) -> Result<(), StoreError> {
        if self.last_read.is_some_and(|last| event.id <= last) {
            return Ok(());
        }
        self.state.apply(event);
        match &event.body {
            Body::Message(message) => {
                self.flags.halted &= !self.state.is_woken_by(message);
                self.on_message(message).await
            }
            Body::AskAnswered(answered) => self.on_answered(answered.id).await,
            Body::AskWithdrawn(withdrawn) => {
                self.forget_ask(withdrawn.id);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(super) async fn on_message(&mut self, message: &Message) -> Result<(), StoreError> {
        // The program gets the answer to its own question in its own way.
        if let MessageSource::ClarifyResponse { ask, .. } = &message.from
            && self.asks.contains_key(ask)
        {
            let words = message.body.clone();
            return self.answer_question(*ask, message.id, &words).await;
        }
        let is_running = matches!(&self.phase, Phase::Running(turn) if turn.cancel.is_none());
        if is_running && self.opened.can.steer && message.delivery != Delivery::Next && message.from.wakes() {
            self.steer();
        }
        Ok(())
    }

    /// Sends waiting messages into the turn, one batch at a time.
    pub(super) fn steer(&mut self) {
        if !self.steering.is_empty() {
            return;
        }
        let waiting = self.state.messages.iter().filter(|message| message.delivery != Delivery::Next);
        let (ids, parts): (Vec<_>, Vec<_>) =
            waiting.filter_map(|message| Some((message.id, render::render(message)?))).unzip();
        if ids.is_empty() {
            return;
        }
        if let Some(agent) = &mut self.agent {
            self.steering = ids;
            agent.steer(&[PromptPart::Text(parts.join("\n\n"))]);
        }
    }

    pub(super) async fn on_steered(&mut self, steered: Steered) -> Result<(), StoreError> {
        let ids = std::mem::take(&mut self.steering);
        match steered {
            Steered::Injected => {
                self.append(vec![MessagesConsumed { ids }.into()]).await?;
                if matches!(&self.phase, Phase::Running(turn) if turn.cancel.is_none()) {
                    self.steer();
                }
                Ok(())
            }
            // A prompt of ours is open and the program says that no turn runs: it will never be answered.
            Steered::NoTurn if matches!(self.phase, Phase::Running(_)) => self.end_turn_without_answer().await,
            Steered::NoTurn | Steered::Failed => Ok(()),
        }
    }

    pub(super) async fn interrupt(&mut self) -> Result<(), StoreError> {
        if matches!(self.phase, Phase::Idle) {
            return Ok(());
        }
        self.flags.halted = !self.state.messages.iter().any(|message| self.state.is_woken_by(message));
        self.withdraw_asks("the user interrupted").await?;
        let note = self.message(MessageSource::Interrupt, INTERRUPTED);
        self.append(vec![note.into()]).await?;
        self.cancel(CancelCause::User);
        Ok(())
    }

    pub(super) fn cancel(&mut self, cause: CancelCause) {
        let Phase::Running(turn) = &mut self.phase else { return };
        if turn.cancel.is_some() {
            return;
        }
        turn.cancel = Some(Cancel { by: Instant::now() + CANCEL_GRACE, cause });
        if let Some(agent) = &mut self.agent {
            agent.cancel();
        }
    }

    /// Lets a turn go on for a while after the task was declared done.
    pub(super) fn expect_end(&mut self) {
        if let Phase::Running(turn) = &mut self.phase
            && turn.cancel.is_none()
        {
            turn.cancel = Some(Cancel { by: Instant::now() + DONE_GRACE, cause: CancelCause::Done });
        }
    }

    pub(super) async fn tear_down(&mut self, reason: InterruptReason) -> Result<(), StoreError> {
        let mut out = self.transcript.end_turn(self.now(), UNKNOWN_END);
        out.bodies.extend(self.withdrawals("the task was stopped"));
        let exit = Exit::Interrupted(reason);
        out.bodies.push(RunEnded::from(exit.clone()).into());
        if let (Phase::Running(_), Some(agent)) = (&self.phase, &mut self.agent) {
            agent.cancel();
        }
        self.emit(out).await?;
        self.exit = Some(exit);
        Ok(())
    }
}

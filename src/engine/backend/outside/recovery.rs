//! What happens when a program dies, is silent, or does not do what it was told.

use std::sync::Arc;

use futures::future::FutureExt as _;
use tokio::time::Instant;

use super::run::{CancelCause, Finished, MAX_RESTARTS, Phase, Run, TOOLS_LIMIT, Turn, UNKNOWN_END};
use crate::base::{Fault, MicroUsd};
use crate::engine::update::Level;
use crate::model::backend::BackendEvent;
use crate::model::event::{ErrorNote, Exit, InterruptReason, RunEnded};
use crate::outside::{OpenError, Opened, Session};
use crate::store::StoreError;

impl Run {
    /// Ends the run because the program cannot go on. The turn stays owed.
    pub(super) async fn fail(&mut self, reason: String) -> Result<(), StoreError> {
        let mut bodies = self.withdrawals("the program has ended");
        let exit = Exit::Interrupted(InterruptReason::Program(reason));
        bodies.push(RunEnded::from(exit.clone()).into());
        self.append(bodies).await?;
        self.exit = Some(exit);
        Ok(())
    }

    /// The program has ended or no longer talks.
    pub(super) async fn on_lost(&mut self) -> Result<(), StoreError> {
        let Some(agent) = self.agent.take() else { return Ok(()) };
        let (exit, errors) = agent.last_words().await;
        agent.close().await;
        self.steering.clear();
        let label = &self.program.label;
        let words = if errors.is_empty() { String::new() } else { format!("\n{errors}") };
        let Phase::Running(turn) = std::mem::replace(&mut self.phase, Phase::Idle) else {
            // It ended after its turn. The next prompt starts it again.
            return Ok(());
        };
        let reason = format!("{label} ended during its turn ({exit}).{words}");
        let mut out = self.transcript.end_turn(self.now(), UNKNOWN_END);
        out.bodies.extend(self.withdrawals("the program has ended"));
        out.bodies.push(ErrorNote { class: "program".to_owned(), message: reason.clone(), attempt: None }.into());
        self.emit(out).await?;
        self.request.snapshots.take(turn.id).await;
        if turn.cancel.is_some_and(|cancel| cancel.cause == CancelCause::User) {
            return self.end_turn_without_answer().await;
        }
        self.restarts += 1;
        if self.restarts > MAX_RESTARTS {
            return self.fail(reason).await;
        }
        self.next.is_due = true;
        self.next.notes.push(format!(
            "You were interrupted here: your program ended ({exit}) and was started again. What you were doing may have \
             taken effect in part. Check `git status` and go on."
        ));
        self.restart();
        Ok(())
    }

    pub(super) fn restart(&mut self) {
        let starter = Arc::clone(&self.starter);
        let session = Some(self.opened.session.clone()).filter(|id| !id.is_empty());
        let reopen = async move { Finished::Reopened(starter.open(session).await.map(Box::new)) };
        self.pending.push(reopen.boxed());
    }

    pub(super) async fn on_reopened(
        &mut self,
        result: Result<Box<(Session, Opened)>, OpenError>,
    ) -> Result<(), StoreError> {
        match result {
            Ok(opened) => {
                let (session, opened) = *opened;
                self.agent = Some(session);
                self.tools_by = Some(Instant::now() + TOOLS_LIMIT);
                if !opened.continued {
                    self.booked = MicroUsd::ZERO;
                    self.next.needs_system = !opened.has_system;
                    let events = self.request.session.events().await?;
                    self.next.digest = super::digest::digest(&events, &self.state.messages);
                }
                self.opened = opened;
                let event = self.session_event(true);
                self.append(vec![event]).await
            }
            Err(error) => {
                let fault: Fault = self.program.open_fault(&error);
                self.fail(fault.to_string()).await
            }
        }
    }

    pub(super) fn on_turn_succeeded(&mut self) {
        self.restarts = 0;
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let turn = match &self.phase {
            Phase::Running(Turn { cancel: Some(cancel), .. }) => Some(cancel.by),
            // An agent that waits for the user or for our tools is not silent.
            Phase::Running(turn) if self.asks.is_empty() && self.pending.is_empty() => {
                Some(turn.last_heard + self.program.idle)
            }
            Phase::Running(_) | Phase::Idle => None,
        };
        [turn, self.tools_by].into_iter().flatten().min()
    }

    pub(super) async fn on_deadline(&mut self) -> Result<(), StoreError> {
        let now = Instant::now();
        if self.tools_by.is_some_and(|by| by <= now) {
            self.tools_by = None;
            if !self.starter.served.is_listed() {
                let text = format!("{} did not connect to the tools of Matrix", self.program.label);
                self.notify(Level::Warning, text);
                self.append(vec![BackendEvent::ToolsMissing.into()]).await?;
            }
        }
        let Phase::Running(turn) = &mut self.phase else { return Ok(()) };
        match &mut turn.cancel {
            Some(cancel) if cancel.by <= now && cancel.cause == CancelCause::Done => {
                turn.cancel = None;
                self.cancel(CancelCause::Done);
                if let Phase::Running(Turn { cancel: Some(cancel), .. }) = &mut self.phase {
                    // The next time it is over.
                    cancel.cause = CancelCause::User;
                }
                Ok(())
            }
            Some(cancel) if cancel.by <= now => self.on_cancel_ignored().await,
            None if turn.last_heard + self.program.idle <= now => {
                self.cancel(CancelCause::Silent);
                Ok(())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The program did not end its turn when it was told to.
    pub(super) async fn on_cancel_ignored(&mut self) -> Result<(), StoreError> {
        let Phase::Running(Turn { cancel: Some(cancel), .. }) = &self.phase else { return Ok(()) };
        let cause = cancel.cause.clone();
        if let Some(agent) = self.agent.take() {
            agent.close().await;
        }
        if cause == CancelCause::Silent {
            return self.on_silent().await;
        }
        self.end_turn_without_answer().await?;
        if self.exit.is_none() {
            self.restart();
        }
        Ok(())
    }

    pub(super) async fn on_silent(&mut self) -> Result<(), StoreError> {
        let out = self.transcript.end_turn(self.now(), UNKNOWN_END);
        self.emit(out).await?;
        self.phase = Phase::Idle;
        let minutes = self.program.idle.as_secs() / 60;
        let label = self.program.label.clone();
        self.fail(format!("{label} was silent for {minutes} min during its turn, and was stopped")).await
    }
}

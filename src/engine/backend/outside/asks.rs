//! What a program asks: permission for a call, and questions to the user.

use futures::future::FutureExt as _;

use super::permission::{Judgement, judge, verdict};
use super::run::{Finished, OpenAsk, Run};
use super::transcript::{Output, is_own_tool};
use crate::base::{AskId, MessageId};
use crate::model::ask::{Ask, AskMode, Choice, Subject};
use crate::model::event::{AskWithdrawn, Body, CallReleased, MessagesConsumed, PermissionCause, PermissionNote};
use crate::model::fold::{Decision, Release};
use crate::model::live::Activity;
use crate::outside::elicitation::Question;
use crate::outside::{PermissionAnswer, PermissionRequest};
use crate::store::StoreError;

/// The result of a call that was allowed when its program was gone.
const ALLOWED_LATER: &str =
    "Not run yet: your program ended while the call waited. The user has allowed it: make it again.";

impl Run {
    pub(super) async fn on_permission(&mut self, mut request: Box<PermissionRequest>) -> Result<(), StoreError> {
        let now = self.now();
        if is_own_tool(&request.call) {
            // The engine decides about these itself.
            self.transcript.hide(now, &request.call.id);
            self.answer_permission(&request, PermissionAnswer::Allow);
            return Ok(());
        }
        if !self.is_running() {
            self.answer_permission(&request, PermissionAnswer::Cancel);
            return Ok(());
        }
        let mut out = Output::default();
        request.call = self.transcript.on_permission(now, &request.call, &mut out);
        self.emit(out).await?;
        let judged = judge(self.starter.tools.gate.clone(), self.program.name.clone(), request.call.clone());
        self.pending.push(judged.map(|judgement| Finished::Judged { request, judgement }).boxed());
        Ok(())
    }

    pub(super) async fn on_judged(
        &mut self,
        request: Box<PermissionRequest>,
        judgement: Judgement,
    ) -> Result<(), StoreError> {
        match judgement {
            // The turn may have ended while the rules were read.
            _ if !self.is_running() => self.answer_permission(&request, PermissionAnswer::Cancel),
            Judgement::Granted { note } => {
                self.transcript.on_decided(&request.call.id, note);
                self.answer_permission(&request, PermissionAnswer::Allow);
            }
            Judgement::Denied { reason, note } => {
                self.transcript.on_decided(&request.call.id, note);
                self.reject(&request, &format!("Not permitted: {reason}"));
            }
            Judgement::Undecided(held) => {
                // The user has allowed exactly this, while the program was not there.
                if let Some(at) = self.consents.iter().position(|consent| consent.is_same_call(&held)) {
                    self.consents.remove(at);
                    let note = PermissionNote { granted: true, by: PermissionCause::User };
                    self.transcript.on_decided(&request.call.id, Some(note));
                    self.answer_permission(&request, PermissionAnswer::Allow);
                    return Ok(());
                }
                let ask = held.into_ask(AskId::fresh(&self.request.ids), &request.call.id);
                self.asks.insert(ask.id, OpenAsk::Permission(request));
                self.append(vec![ask.into()]).await?;
                self.show(Activity::Waiting);
            }
        }
        Ok(())
    }

    /// Rejects a call. Where that ends the turn, the reason becomes the next prompt: otherwise the model never learns it.
    fn reject(&mut self, request: &PermissionRequest, reason: &str) {
        if self.program.quirks.reject_ends_turn {
            let what = request.call.title.as_deref().or(request.call.name.as_deref()).unwrap_or("The call");
            self.next.notes.push(format!("{}: {reason}", crate::base::text::headline(what, 120)));
        }
        self.answer_permission(request, PermissionAnswer::Reject);
    }

    fn answer_permission(&mut self, request: &PermissionRequest, answer: PermissionAnswer) {
        if let Some(agent) = &mut self.agent {
            agent.answer_permission(request, answer);
        }
    }

    pub(super) async fn on_question(&mut self, question: Question) -> Result<(), StoreError> {
        let (line, rest) = question.message.split_once('\n').unwrap_or((&question.message, ""));
        let detail = [rest.trim().to_owned(), question.detail()];
        let ask = Ask {
            id: AskId::fresh(&self.request.ids),
            subject: Subject::Clarify,
            question: line.trim().to_owned(),
            detail: detail.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n"),
            choices: Choice::options(question.choices()),
            default: None,
            mode: AskMode::Blocks,
            deadline: None,
            // Marks it as asked by the process: it is void when that ends.
            tool_call: Some(format!("question-{}", question.id)),
        };
        self.asks.insert(ask.id, OpenAsk::Question(Box::new(question)));
        self.append(vec![ask.into()]).await?;
        self.show(Activity::Waiting);
        Ok(())
    }

    /// The user has answered a question of the program: the answer is not a message of its own.
    pub(super) async fn answer_question(
        &mut self,
        ask: AskId,
        message: MessageId,
        words: &str,
    ) -> Result<(), StoreError> {
        let Some(OpenAsk::Question(question)) = self.asks.remove(&ask) else { return Ok(()) };
        if let Some(agent) = &mut self.agent {
            agent.answer(&question.id, Ok(question.answer(words)));
        }
        self.show(Activity::Thinking);
        self.append(vec![MessagesConsumed { ids: vec![message] }.into()]).await
    }

    /// The user, or a rule of theirs, has decided about a call.
    pub(super) async fn on_answered(&mut self, id: AskId) -> Result<(), StoreError> {
        let Some(OpenAsk::Permission(_)) = self.asks.get(&id) else { return Ok(()) };
        let Some(OpenAsk::Permission(request)) = self.asks.remove(&id) else { return Ok(()) };
        let Some(decision) = self.decision(id) else {
            self.answer_permission(&request, PermissionAnswer::Cancel);
            return Ok(());
        };
        self.show(Activity::Thinking);
        let (note, refusal) = verdict(&decision);
        let call = request.call.id.clone();
        self.transcript.on_decided(&call, Some(note));
        match refusal {
            None => {
                // Before it runs: a restart must not take it for one that still waits.
                self.append(vec![CallReleased { call, ask: id }.into()]).await?;
                self.answer_permission(&request, PermissionAnswer::Allow);
            }
            Some(reason) => self.reject(&request, &reason),
        }
        Ok(())
    }

    fn decision(&self, id: AskId) -> Option<Decision> {
        let held = self.state.held_calls.iter().find(|held| held.ask == id)?;
        match held.release.as_ref()? {
            Release::Answered(decision) => Some((**decision).clone()),
            Release::Withdrawn => None,
        }
    }

    /// Returns the events that end what an earlier process waited for. Keeps what the user has allowed meanwhile: the
    /// program asks again.
    pub(super) fn end_earlier_holds(&mut self) -> Vec<Body> {
        let mut bodies = Vec::new();
        for held in self.state.held_calls.iter() {
            let text = match &held.release {
                Some(Release::Answered(decision)) => match verdict(decision) {
                    (_, None) => {
                        if let Subject::Permission(request) = &decision.ask.subject {
                            self.consents.push((**request).clone());
                        }
                        ALLOWED_LATER.to_owned()
                    }
                    (_, Some(reason)) => reason,
                },
                Some(Release::Withdrawn) | None => super::run::UNKNOWN_END.to_owned(),
            };
            self.next.is_due |= held.release.is_some();
            bodies.push(self.state.unrun_result(held, &text, None));
        }
        bodies
    }

    /// Forgets an Ask that somebody else withdrew. The program gets no.
    pub(super) fn forget_ask(&mut self, id: AskId) {
        // The withdrawal of a question follows its answer, which comes as a message.
        if let Some(OpenAsk::Permission(_)) = self.asks.get(&id)
            && let Some(OpenAsk::Permission(request)) = self.asks.remove(&id)
            && let Some(agent) = &mut self.agent
        {
            agent.answer_permission(&request, PermissionAnswer::Cancel);
        }
    }

    /// Returns the events that withdraw what the program asks, because it does not wait for that any more.
    pub(super) fn withdrawals(&mut self, reason: &str) -> Vec<Body> {
        let asks = std::mem::take(&mut self.asks);
        let open = asks.into_keys().filter(|id| self.state.asks.get(*id).is_some());
        open.map(|id| AskWithdrawn { id, reason: reason.to_owned() }.into()).collect()
    }

    pub(super) async fn withdraw_asks(&mut self, reason: &str) -> Result<(), StoreError> {
        let bodies = self.withdrawals(reason);
        self.append(bodies).await
    }
}

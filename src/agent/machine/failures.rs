//! Handles failed requests: each leads to a retry, a summary or an Ask.

mod question;

use crate::agent::compaction;
use crate::agent::machine::asks::AskCause;
use crate::agent::machine::{AfterSave, Machine, Phase, Purpose, asks, remedies};
use crate::base::{Timestamp, TurnId};
use crate::model::Usage;
use crate::model::ask::Subject;
use crate::model::event::{AssistantText, Attempt, Body, CompactTrigger, ErrorNote, StopReason, TurnEnded};
use crate::provider::retry::{self, Decision};
use crate::provider::{ApiError, ErrorClass};

/// How many bytes of a response without end to keep, so that it does not fill the window.
const RUNAWAY_TEXT: usize = 256 * 1024;

impl Machine {
    pub(super) fn on_failed(
        &mut self,
        now: Timestamp,
        number: u64,
        error: &ApiError,
        usage: Option<Usage>,
        jitter: f64,
    ) {
        let Phase::Calling { number: expected, purpose, attempt } = self.phase else { return };
        if expected != number {
            return;
        }
        // A response that broke off has its price, whatever happens next.
        let bodies: Vec<Body> = usage.into_iter().map(Body::from).collect();
        match error.class {
            ErrorClass::Cancelled => self.on_cancelled(now, bodies, error, purpose),
            ErrorClass::ContextOverflow => self.on_overflow(bodies, error, purpose),
            ErrorClass::Runaway if purpose == Purpose::Respond => self.on_runaway(bodies, error),
            ErrorClass::Auth
            | ErrorClass::Credit
            | ErrorClass::RateLimit
            | ErrorClass::Overloaded
            | ErrorClass::Server
            | ErrorClass::Network
            | ErrorClass::Timeout
            | ErrorClass::Truncated
            | ErrorClass::Runaway
            | ErrorClass::InvalidRequest
            | ErrorClass::UnknownModel
            | ErrorClass::Refused => self.retry_request(bodies, error, purpose, attempt, jitter),
        }
    }

    /// Handles a request that the run cancelled. An interrupted response keeps the text that the user saw. A run that
    /// ends requests the whole response again. A partial summary is discarded: it was not shown and is not part of the
    /// conversation.
    fn on_cancelled(&mut self, now: Timestamp, mut bodies: Vec<Body>, error: &ApiError, purpose: Purpose) {
        let partial = error.partial.as_ref().map(|partial| partial.text()).unwrap_or_default();
        let keeps_text =
            purpose == Purpose::Respond && self.stop_requests.interrupt && self.stop_requests.teardown.is_none();
        if keeps_text && !partial.trim().is_empty() {
            bodies.insert(0, AssistantText { text: partial }.into());
            bodies.push(TurnEnded { turn: TurnId::fresh(&self.ids), stop: StopReason::Interrupted }.into());
        }
        if bodies.is_empty() {
            return self.advance(now);
        }
        self.save(bodies, AfterSave::Advance);
    }

    /// Keeps the text of a response that did not end, as if interrupted, and asks. There is no automatic retry: the
    /// response has cost as much as a response can.
    fn on_runaway(&mut self, mut bodies: Vec<Body>, error: &ApiError) {
        let partial = error.partial.as_ref().map(|partial| partial.text()).unwrap_or_default();
        bodies.push(note(error, None));
        if !partial.trim().is_empty() {
            bodies.insert(0, AssistantText { text: compaction::head_and_tail(&partial, RUNAWAY_TEXT) }.into());
            bodies.push(TurnEnded { turn: TurnId::fresh(&self.ids), stop: StopReason::Interrupted }.into());
        }
        let question = "The model's response did not end and was cut off. How should the agent proceed?";
        self.ask_after(bodies, AskCause::Stopped, question, &error.to_string());
    }

    fn retry_request(&mut self, mut bodies: Vec<Body>, error: &ApiError, purpose: Purpose, attempt: u32, jitter: f64) {
        let of = retry::policy(error.class).retries;
        match retry::decide(error.class, attempt, error.retry_after, jitter) {
            Decision::Wait(wait) => {
                let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                bodies.push(note(error, Some(Attempt { number: attempt, of, wait_ms: millis })));
                let reason = error.to_string();
                self.save(bodies, AfterSave::Wait { millis, purpose, attempt, reason, of });
            }
            Decision::GiveUp => {
                bodies.push(note(error, None));
                let cause = match purpose {
                    Purpose::Respond => AskCause::Provider,
                    Purpose::Summarise { .. } => AskCause::Compaction,
                };
                let question = question::question(error, attempt, self.model(), self.limits.auth_group.as_deref());
                let detail = format!("{error}\n{}", asks::ANOTHER_MODEL);
                let mut ask = self.new_ask(cause, &question, &detail);
                ask.choices.splice(0..0, remedies::for_error(error.class, self.model(), &self.limits.catalogue));
                let is_account = matches!(error.class, ErrorClass::Auth | ErrorClass::Credit);
                if let (true, AskCause::Provider) = (is_account, cause) {
                    ask.subject = Subject::RetriesExhausted { group: self.limits.auth_group.clone() };
                    // Before the choice to stop, which is the last one.
                    let at = ask.choices.len().saturating_sub(1);
                    ask.choices.splice(at..at, remedies::for_account(&self.limits.elsewhere));
                }
                self.raise(bodies, cause, ask);
            }
        }
    }

    /// Handles a conversation that no longer fits: starts a summary, or asks if the last one did not help.
    fn on_overflow(&mut self, mut bodies: Vec<Body>, error: &ApiError, purpose: Purpose) {
        bodies.push(note(error, None));
        match purpose {
            Purpose::Respond if self.may_compact() => self.compact_after(bodies, CompactTrigger::Overflow),
            Purpose::Summarise { trim } if trim.stronger().is_some() => {
                let trim = trim.stronger().unwrap_or(trim);
                self.save(bodies, AfterSave::Call { purpose: Purpose::Summarise { trim }, attempt: 1 });
            }
            Purpose::Respond | Purpose::Summarise { .. } => self.ask_about_full_window(bodies, &error.to_string()),
        }
    }
}

fn note(error: &ApiError, attempt: Option<Attempt>) -> Body {
    ErrorNote { class: error.class.word().to_owned(), message: error.to_string(), attempt }.into()
}

//! What a failed request leads to: another try, a summary, or a question to the user. Never silence.

mod question;

use crate::agent::compaction;
use crate::agent::machine::asking::About;
use crate::agent::machine::{Machine, Phase, Purpose, Then, asking};
use crate::base::{Timestamp, TurnId};
use crate::model::Usage;
use crate::model::event::{AssistantText, Attempt, Body, CompactTrigger, ErrorNote, StopReason, TurnEnded};
use crate::provider::retry::{self, Decision};
use crate::provider::{ApiError, ErrorClass};

/// How much text of a response that did not end is kept: its beginning and its end. More of it would fill the window.
const RUNAWAY_TEXT: usize = 256 * 1024;

impl Machine {
    pub(super) fn failed(&mut self, now: Timestamp, number: u64, error: &ApiError, usage: Option<Usage>, jitter: f64) {
        let Phase::Calling { number: expected, purpose, attempt } = self.phase else { return };
        if expected != number {
            return;
        }
        // What a broken-off response cost is spent, whatever becomes of the request.
        let bodies: Vec<Body> = usage.into_iter().map(Body::from).collect();
        match error.class {
            ErrorClass::Cancelled => self.cancelled(now, bodies, error, purpose),
            ErrorClass::ContextOverflow => self.overflowed(bodies, error, purpose),
            ErrorClass::Runaway if purpose == Purpose::Respond => self.ran_away(bodies, error),
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
            | ErrorClass::Refused => self.try_again(bodies, error, purpose, attempt, jitter),
        }
    }

    /// We stopped it. The person keeps what they saw; a run that ends will ask again for the whole. Half of a summary was
    /// shown to nobody and is no part of the conversation.
    fn cancelled(&mut self, now: Timestamp, mut bodies: Vec<Body>, error: &ApiError, purpose: Purpose) {
        let partial = error.partial.as_ref().map(|partial| partial.text()).unwrap_or_default();
        let kept = purpose == Purpose::Respond && self.wants.interrupt && self.wants.teardown.is_none();
        if kept && !partial.trim().is_empty() {
            bodies.insert(0, AssistantText { text: partial }.into());
            bodies.push(TurnEnded { turn: TurnId::fresh(&self.ids), stop: StopReason::Interrupted }.into());
        }
        if bodies.is_empty() {
            return self.advance(now);
        }
        self.save(bodies, Then::Advance);
    }

    /// Keeps the text of a response that did not end, as of one that was interrupted, and asks. It is not requested
    /// again: it has cost as much as a response can.
    fn ran_away(&mut self, mut bodies: Vec<Body>, error: &ApiError) {
        let partial = error.partial.as_ref().map(|partial| partial.text()).unwrap_or_default();
        bodies.push(note(error, None));
        if !partial.trim().is_empty() {
            bodies.insert(0, AssistantText { text: compaction::ends(&partial, RUNAWAY_TEXT) }.into());
            bodies.push(TurnEnded { turn: TurnId::fresh(&self.ids), stop: StopReason::Interrupted }.into());
        }
        let question = "The model's response did not end and was cut off. How should the agent proceed?";
        self.ask_after(bodies, About::Stopped, question, &error.to_string());
    }

    fn try_again(&mut self, mut bodies: Vec<Body>, error: &ApiError, purpose: Purpose, attempt: u32, jitter: f64) {
        let of = retry::policy(error.class).retries;
        match retry::decide(error.class, attempt, error.retry_after, jitter) {
            Decision::Wait(wait) => {
                let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                bodies.push(note(error, Some(Attempt { number: attempt, of, wait_ms: millis })));
                let reason = error.to_string();
                self.save(bodies, Then::Wait { millis, purpose, attempt, reason, of });
            }
            Decision::GiveUp => {
                bodies.push(note(error, None));
                let about = match purpose {
                    Purpose::Respond => About::Provider,
                    Purpose::Summarise { .. } => About::Compaction,
                };
                let question = question::question(error, attempt, self.model(), self.limits.auth_group.as_deref());
                let detail = format!("{error}\n{}", asking::ANOTHER_MODEL);
                self.ask_after(bodies, about, &question, &detail);
            }
        }
    }

    /// The conversation no longer fits. A summary makes it fit; if it was just made, the person has to know.
    fn overflowed(&mut self, mut bodies: Vec<Body>, error: &ApiError, purpose: Purpose) {
        bodies.push(note(error, None));
        match purpose {
            Purpose::Respond if self.may_compact() => self.compact_after(bodies, CompactTrigger::Overflow),
            Purpose::Summarise { trim } if trim.stronger().is_some() => {
                let trim = trim.stronger().unwrap_or(trim);
                self.save(bodies, Then::Call { purpose: Purpose::Summarise { trim }, attempt: 1 });
            }
            Purpose::Respond | Purpose::Summarise { .. } => self.ask_about_full_window(bodies, &error.to_string()),
        }
    }
}

fn note(error: &ApiError, attempt: Option<Attempt>) -> Body {
    ErrorNote { class: error.class.word().to_owned(), message: error.to_string(), attempt }.into()
}

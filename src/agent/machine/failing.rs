//! What a failed request leads to: another try, a summary, or a question to the person. Never silence.

use crate::agent::machine::asking::About;
use crate::agent::machine::{Machine, Phase, Purpose, Then};
use crate::base::{Timestamp, TurnId};
use crate::model::AskKind;
use crate::model::Usage;
use crate::model::event::{AssistantText, Attempt, Body, CompactTrigger, ErrorNote, StopReason, TurnEnded};
use crate::provider::retry::{self, Decision};
use crate::provider::{ApiError, ErrorClass};

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
            ErrorClass::Auth
            | ErrorClass::Credit
            | ErrorClass::RateLimit
            | ErrorClass::Overloaded
            | ErrorClass::Server
            | ErrorClass::Network
            | ErrorClass::Timeout
            | ErrorClass::Truncated
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
                let kind = match purpose {
                    Purpose::Respond => AskKind::RetriesExhausted,
                    Purpose::Summarise { .. } => AskKind::CompactionFailed,
                };
                let about = match purpose {
                    Purpose::Respond => About::Provider(purpose),
                    Purpose::Summarise { .. } => About::Compaction,
                };
                let detail = format!("{error}\nTo go on with another model, answer with its name.");
                self.ask_after(bodies, kind, about, &given_up(error.class), &detail);
            }
        }
    }

    /// The conversation no longer fits. A summary makes it fit; if it was just made, the person has to know.
    fn overflowed(&mut self, mut bodies: Vec<Body>, error: &ApiError, purpose: Purpose) {
        bodies.push(note(error, None));
        match purpose {
            Purpose::Respond if !self.tries.compacted && !self.is_overfull() => {
                self.compact_after(bodies, CompactTrigger::Overflow);
            }
            Purpose::Summarise { trim } if trim.stronger().is_some() => {
                let trim = trim.stronger().unwrap_or(trim);
                self.save(bodies, Then::Call { purpose: Purpose::Summarise { trim }, attempt: 1 });
            }
            Purpose::Respond | Purpose::Summarise { .. } => {
                let question =
                    "The conversation does not fit the model's window, and a summary did not help. What now?";
                self.ask_after(bodies, AskKind::CompactionFailed, About::Compaction, question, &error.to_string());
            }
        }
    }
}

/// Returns what a person is asked when nothing is tried any more.
fn given_up(class: ErrorClass) -> String {
    let tried = if retry::policy(class).retries > 0 { ", however often it was asked" } else { "" };
    format!("The model API gave no response{tried} ({class}). Try again, use another model, or stop?")
}

fn note(error: &ApiError, attempt: Option<Attempt>) -> Body {
    ErrorNote { class: error.class.word().to_owned(), message: error.to_string(), attempt }.into()
}

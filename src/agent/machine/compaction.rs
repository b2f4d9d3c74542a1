//! Compaction within a run: when to start it, what to save when the summary arrives, and the budget check.
//!
//! The summary, the new configuration and the new work context are one append. A crash before it leaves the
//! conversation as it was.

use crate::agent::compaction::{self, Trim};
use crate::agent::machine::asks::AskCause;
use crate::agent::machine::{AfterSave, Effect, Machine, Phase, Prepared, Purpose, StopRequests, asks, remedies};
use crate::base::{MessageId, Timestamp};
use crate::model::Usage;
use crate::model::ask::{BudgetCause, Subject};
use crate::model::event::{
    Body, BudgetExceeded, BudgetScope, BudgetWarning, CompactMarker, CompactStarted, CompactTrigger, ErrorNote,
    MessagesConsumed,
};
use crate::model::message::MessageSource;
use crate::provider::Response;
use crate::provider::budget::BudgetVerdict;

/// How often an unusable summary is requested again.
const MAX_BAD_SUMMARIES: u32 = 2;

/// If fewer responses than this separate two compactions, the first made no room.
const HASTY_RESPONSES: u32 = 3;
/// How many such compactions may follow each other before the user is asked.
const MAX_HASTY_COMPACTIONS: u32 = 3;

/// A summary that waits for the preparation of the next segment.
#[derive(Debug)]
pub(super) struct PendingSummary {
    text: String,
    pub(super) usage: Usage,
}

impl Machine {
    /// Starts a count, a compaction or an Ask if the context is too full for another request. Returns true if it did.
    pub(super) fn compact_if_due(&mut self) -> bool {
        let Some(window) = self.limits.window.filter(|_| !self.attempts.compacted) else { return false };
        let threshold = compaction::threshold(window);
        let near = self.gauge.tokens().saturating_add(compaction::COUNT_MARGIN) >= threshold;
        if near && self.limits.can_count && !self.attempts.counted {
            let number = self.next_number();
            self.phase = Phase::Counting { number };
            self.effects.push(Effect::Count { number });
            return true;
        }
        if self.gauge.tokens() < threshold || (self.is_overfull() && self.state.grants.overfull) {
            return false;
        }
        if self.is_overfull() {
            self.ask_about_overfull(window);
            return true;
        }
        self.compact_after(Vec::new(), CompactTrigger::Threshold);
        true
    }

    /// Returns true if the part that precedes every conversation fills the window, so that no summary can help.
    pub(super) fn is_overfull(&self) -> bool {
        self.limits.window.is_some_and(|window| self.gauge.minimum_tokens() >= compaction::threshold(window))
    }

    fn ask_about_overfull(&mut self, window: u64) {
        let question = "Instructions, tools and work context alone fill the model's context window. A summary cannot help. \
                        How should the agent proceed?";
        let detail = format!(
            "About {} of {window} tokens. Shorten .mxd/memory.md or AGENTS.md, use fewer tool servers, or choose a model \
             with a larger window.\n{}",
            self.gauge.minimum_tokens(),
            asks::ANOTHER_MODEL,
        );
        self.ask(AskCause::Compaction, question, &detail);
    }

    pub(super) fn on_counted(&mut self, now: Timestamp, number: u64, tokens: Option<u64>) {
        if !matches!(self.phase, Phase::Counting { number: expected } if expected == number) {
            return;
        }
        self.attempts.counted = true;
        if let Some(tokens) = tokens {
            self.gauge.set_exact(tokens);
        }
        self.advance(now);
    }

    /// Starts a summary that the user requested.
    pub(super) fn compact_manually(&mut self, requests: Vec<MessageId>) {
        if self.conversation.role_messages().is_empty() {
            return self.save(vec![MessagesConsumed { ids: requests }.into()], AfterSave::Advance);
        }
        self.asleep = self.is_asleep();
        // The request stays pending until there is a summary, so that it survives a crash. The call that the agent
        // sleeps on stays open too: without a summary, nothing has changed for the agent.
        self.compact_after(Vec::new(), CompactTrigger::Manual);
    }

    /// Returns true if the agent would sleep now, were it not for a request to compact.
    pub(super) fn is_asleep(&self) -> bool {
        self.halted || !self.owes_response()
    }

    /// Returns the event that consumes all requests to compact, or `None` if there are none.
    pub(super) fn withdraw_compact_requests(&self) -> Option<Body> {
        let ids = self.control_messages();
        (!ids.is_empty()).then(|| MessagesConsumed { ids }.into())
    }

    /// Returns true if a compaction can help: none was made since the last response, and the conversation is not all
    /// overhead.
    pub(super) fn may_compact(&self) -> bool {
        !self.attempts.compacted && !self.is_overfull()
    }

    /// Asks what to do about a conversation that does not fit even after a summary.
    pub(super) fn ask_about_full_window(&mut self, bodies: Vec<Body>, detail: &str) {
        let question = "The conversation does not fit the model's context window, even after a summary. How should the \
                        agent proceed?";
        let detail = format!("{detail}\n{}", asks::ANOTHER_MODEL);
        self.ask_after(bodies, AskCause::Compaction, question, detail.trim_start());
    }

    /// Starts a summary, in one append with the events that led to it. Asks instead if the last few made no room.
    pub(super) fn compact_after(&mut self, mut bodies: Vec<Body>, trigger: CompactTrigger) {
        let is_hasty = self.attempts.since_compaction.is_some_and(|responses| responses < HASTY_RESPONSES);
        if trigger != CompactTrigger::Manual {
            self.attempts.hasty_compactions = if is_hasty { self.attempts.hasty_compactions + 1 } else { 0 };
        }
        if self.attempts.hasty_compactions > MAX_HASTY_COMPACTIONS {
            return self.ask_about_full_window(bodies, "The context fills up again right after each summary.");
        }
        bodies.push(CompactStarted { trigger }.into());
        self.asleep &= trigger == CompactTrigger::Manual;
        self.attempts.bad_summaries = 0;
        self.save(bodies, AfterSave::Call { purpose: Purpose::Summarise { trim: Trim::Whole }, attempt: 1 });
    }

    pub(super) fn on_summary(&mut self, response: &Response, usage: Usage, trim: Trim) {
        match compaction::extract(&response.text()) {
            Ok(text) => {
                self.phase = Phase::Preparing { after: Some(PendingSummary { text, usage }) };
                self.effects.push(Effect::Prepare { config: true, context: true });
            }
            Err(bad) => {
                self.attempts.bad_summaries += 1;
                let note = ErrorNote { class: "compaction".to_owned(), message: bad.to_string(), attempt: None };
                let bodies = vec![usage.into(), note.into()];
                if self.attempts.bad_summaries <= MAX_BAD_SUMMARIES {
                    return self.save(bodies, AfterSave::Call { purpose: Purpose::Summarise { trim }, attempt: 1 });
                }
                let question =
                    "The context is full and the model gave no usable summary. How should the agent proceed?";
                let detail = format!("{bad}. The conversation is unchanged.");
                self.ask_after(bodies, AskCause::Compaction, question, &detail);
            }
        }
    }

    pub(super) fn on_prepared(&mut self, now: Timestamp, prepared: Box<Prepared>) {
        let after = match std::mem::replace(&mut self.phase, Phase::Parked) {
            Phase::Preparing { after } => after,
            other => return self.phase = other,
        };
        let Prepared { config, work_context } = *prepared;
        let mut bodies: Vec<Body> = Vec::new();
        let summary = after.map(|PendingSummary { text, usage }| {
            let resume = self.message(now, MessageSource::CompactedResume, &compaction::resume_text(&text));
            let context = work_context.as_ref().map_or(0, |message| message.body.len());
            let marker = CompactMarker {
                tokens_before: self.gauge.tokens(),
                tokens_after: ((text.len() + context) / 3) as u64,
                summary: text,
                carry: Box::default(),
            };
            bodies.push(usage.into());
            bodies.push(marker.into());
            resume
        });
        bodies.extend(config.map(Body::from));
        let first: Vec<_> = work_context.into_iter().chain(summary).collect();
        let mut ids: Vec<_> = first.iter().map(|message| message.id).collect();
        let compacted = first.iter().any(|message| message.from == MessageSource::CompactedResume);
        bodies.extend(first.into_iter().map(Body::from));
        if compacted {
            self.attempts.compacted = true;
            self.attempts.since_compaction = Some(0);
            // A sleeping agent stays asleep and reads the summary with its next message.
            if std::mem::take(&mut self.asleep) {
                ids.clear();
            }
            ids.extend(self.control_messages());
            if !ids.is_empty() {
                bodies.push(MessagesConsumed { ids }.into());
            }
        }
        if bodies.is_empty() {
            return self.advance(now);
        }
        self.save(bodies, AfterSave::Advance);
    }

    pub(super) fn on_reserved(&mut self, now: Timestamp, verdict: BudgetVerdict) {
        let Phase::Reserving { purpose, attempt } = self.phase else { return };
        let StopRequests { interrupt, wrap_up, teardown, hook: _ } = &self.stop_requests;
        if *interrupt || *wrap_up || teardown.is_some() {
            return self.advance(now);
        }
        match verdict {
            BudgetVerdict::Low { scope, spent, limit } if !self.state.grants.warned.contains(&limit) => {
                self.attempts.reserved = true;
                let text = format!("{spent} of the budget of {limit} are spent. Finish what matters most first.");
                let notice = self.message(now, MessageSource::Notice, &text);
                let then = match purpose {
                    // The agent reads it with the request that is about to be made.
                    Purpose::Respond => AfterSave::Advance,
                    Purpose::Summarise { .. } => AfterSave::Call { purpose, attempt },
                };
                self.save(vec![BudgetWarning { scope, spent, limit }.into(), notice.into()], then);
            }
            BudgetVerdict::Granted | BudgetVerdict::Low { .. } => {
                self.attempts.reserved = true;
                self.call(purpose, attempt);
            }
            BudgetVerdict::Refused { scope, spent, limit } => {
                let exceeded = BudgetExceeded { scope, spent, limit };
                let question =
                    format!("{spent} of the budget of {limit} is spent. How much more may this agent spend?");
                let mut ask = self.new_ask(AskCause::Budget, &question, raise_budget_hint(scope));
                ask.subject = Subject::Budget { cause: BudgetCause::Spent, exceeded: Some(exceeded.clone()) };
                ask.choices.splice(0..0, remedies::for_budget(limit));
                self.raise(vec![exceeded.into()], AskCause::Budget, ask);
            }
            BudgetVerdict::Held => {
                let timer = self.next_number();
                self.phase = Phase::AwaitingBudget { timer, purpose, attempt };
                self.effects.push(Effect::AwaitBudget { timer });
            }
            BudgetVerdict::Unpriced if self.state.grants.unpriced.contains(self.model()) => {
                self.attempts.reserved = true;
                self.call(purpose, attempt);
            }
            BudgetVerdict::Unpriced => {
                let model = self.model();
                let question = format!(
                    "The price of model \"{model}\" is unknown, so the budget cannot be enforced. Continue without a \
                     limit, or stop?"
                );
                let detail = format!(
                    "To keep the limit, stop, set `models.{model}.prices.input` and `models.{model}.prices.output` \
                     (dollars per million tokens) in the config, and start the agent again."
                );
                self.ask(AskCause::Price, &question, &detail);
            }
        }
    }
}

/// Returns how to raise a budget that is spent.
fn raise_budget_hint(scope: BudgetScope) -> &'static str {
    match scope {
        BudgetScope::Task => "To raise the budget before you continue: `mxd task edit TASK --budget USD`",
        BudgetScope::Subtree => {
            "This is the budget of a parent task and all its subtasks. To raise it before you continue: \
             `mxd task edit TASK --budget USD`"
        }
        BudgetScope::Project => {
            "This budget was set when mxd was started. To raise it, stop, and start again with a larger --budget."
        }
    }
}

//! Summarising the conversation: when, and what is written once a summary is there.
//!
//! Nothing of the old context is given up before the summary, the new configuration and the new work context are one
//! append: a crash anywhere before it leaves the conversation as it was.

use crate::agent::compaction::{self, Trim};
use crate::agent::machine::asking::About;
use crate::agent::machine::{Effect, Machine, Phase, Prepared, Purpose, Then, asking};
use crate::base::{MessageId, Timestamp};
use crate::model::Usage;
use crate::model::event::{
    Body, BudgetExceeded, BudgetScope, BudgetWarning, CompactMarker, CompactStarted, CompactTrigger, ErrorNote,
    MessagesConsumed,
};
use crate::model::message::Source;
use crate::provider::Response;
use crate::provider::purse::BudgetVerdict;

/// How often a useless summary is asked for again.
const MAX_BAD_SUMMARIES: u32 = 2;

/// A compaction this few responses after the last one did not make room.
const HASTY_RESPONSES: u32 = 3;
/// How many such compactions may follow each other before the user is asked.
const MAX_HASTY_COMPACTIONS: u32 = 3;

/// A summary that only waits for the new segment's beginning.
#[derive(Debug)]
pub(super) struct Summary {
    text: String,
    pub(super) usage: Usage,
}

impl Machine {
    /// Looks whether the context is too full for another request. Tells whether something was set going about it.
    pub(super) fn compaction_is_due(&mut self) -> bool {
        let Some(window) = self.limits.window.filter(|_| !self.tries.compacted) else { return false };
        let threshold = compaction::threshold(window);
        let near = self.gauge.tokens().saturating_add(compaction::COUNT_MARGIN) >= threshold;
        if near && self.limits.can_count && !self.tries.counted {
            let number = self.number();
            self.phase = Phase::Counting { number };
            self.out.push(Effect::Count { number });
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

    /// Tells whether what every request begins with fills the window by itself: then no summary makes it small enough.
    pub(super) fn is_overfull(&self) -> bool {
        self.limits.window.is_some_and(|window| self.gauge.least() >= compaction::threshold(window))
    }

    fn ask_about_overfull(&mut self, window: u64) {
        let question = "What every request begins with (instructions, tools, work context) fills the model's window by \
                        itself. A summary cannot help. What now?";
        let detail = format!(
            "About {} of {window} tokens. Shorten .mxd/memory.md or AGENTS.md, use fewer tool servers, or choose a model \
             with a larger window.\n{}",
            self.gauge.least(),
            asking::ANOTHER_MODEL,
        );
        self.ask(About::Compaction, question, &detail);
    }

    pub(super) fn counted(&mut self, now: Timestamp, number: u64, tokens: Option<u64>) {
        if !matches!(self.phase, Phase::Counting { number: expected } if expected == number) {
            return;
        }
        self.tries.counted = true;
        if let Some(tokens) = tokens {
            self.gauge.count(tokens);
        }
        self.advance(now);
    }

    /// Summarises because the person said so.
    pub(super) fn compact_by_hand(&mut self, requests: Vec<MessageId>) {
        if self.conversation.speeches().is_empty() {
            return self.save(vec![MessagesConsumed { ids: requests }.into()], Then::Advance);
        }
        self.asleep = self.is_asleep();
        // The wish stands until there is a summary: a crash on the way must not make it unsaid. What the agent sleeps
        // on stays unanswered too: if no summary comes of it, nothing has happened to the agent.
        self.compact_after(Vec::new(), CompactTrigger::Manual);
    }

    /// Tells whether the agent would sleep now, were nothing wished for.
    pub(super) fn is_asleep(&self) -> bool {
        self.halted || !self.owes_response()
    }

    /// Returns what takes back every wish for a summary, if there is one.
    pub(super) fn drop_wishes(&self) -> Option<Body> {
        let ids = self.control_messages();
        (!ids.is_empty()).then(|| MessagesConsumed { ids }.into())
    }

    /// Tells whether a compaction can help: none was made since the model last answered, and there is something to cut.
    pub(super) fn may_compact(&self) -> bool {
        !self.tries.compacted && !self.is_overfull()
    }

    /// Asks what to do about a conversation that does not fit even though it was summarised.
    pub(super) fn ask_about_full_window(&mut self, bodies: Vec<Body>, detail: &str) {
        let question = "The conversation does not fit the model's window, and a summary did not help. What now?";
        let detail = format!("{detail}\n{}", asking::ANOTHER_MODEL);
        self.ask_after(bodies, About::Compaction, question, detail.trim_start());
    }

    /// Starts a summary, in one append with what led to it. Asks instead if the last few made no room.
    pub(super) fn compact_after(&mut self, mut bodies: Vec<Body>, trigger: CompactTrigger) {
        let is_hasty = self.tries.since_compaction.is_some_and(|responses| responses < HASTY_RESPONSES);
        if trigger != CompactTrigger::Manual {
            self.tries.hasty_compactions = if is_hasty { self.tries.hasty_compactions + 1 } else { 0 };
        }
        if self.tries.hasty_compactions > MAX_HASTY_COMPACTIONS {
            return self.ask_about_full_window(bodies, "The context fills up again right after each summary.");
        }
        bodies.push(CompactStarted { trigger }.into());
        self.asleep &= trigger == CompactTrigger::Manual;
        self.tries.bad_summaries = 0;
        self.save(bodies, Then::Call { purpose: Purpose::Summarise { trim: Trim::Whole }, attempt: 1 });
    }

    pub(super) fn summarised(&mut self, response: &Response, usage: Usage, trim: Trim) {
        match compaction::extract(&response.text()) {
            Ok(text) => {
                self.phase = Phase::Preparing { after: Some(Summary { text, usage }) };
                self.out.push(Effect::Prepare { config: true, context: true });
            }
            Err(bad) => {
                self.tries.bad_summaries += 1;
                let note = ErrorNote { class: "compaction".to_owned(), message: bad.to_string(), attempt: None };
                let bodies = vec![usage.into(), note.into()];
                if self.tries.bad_summaries <= MAX_BAD_SUMMARIES {
                    return self.save(bodies, Then::Call { purpose: Purpose::Summarise { trim }, attempt: 1 });
                }
                let question = "The context is full and the model gave no usable summary. What now?";
                let detail = format!("{bad}. The conversation is untouched.");
                self.ask_after(bodies, About::Compaction, question, &detail);
            }
        }
    }

    pub(super) fn prepared(&mut self, now: Timestamp, prepared: Box<Prepared>) {
        let after = match std::mem::replace(&mut self.phase, Phase::Parked) {
            Phase::Preparing { after } => after,
            other => return self.phase = other,
        };
        let Prepared { config, work_context } = *prepared;
        let mut bodies: Vec<Body> = Vec::new();
        let summary = after.map(|Summary { text, usage }| {
            let resume = self.message(now, Source::CompactedResume, &compaction::resume_text(&text));
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
        let compacted = first.iter().any(|message| message.from == Source::CompactedResume);
        bodies.extend(first.into_iter().map(Body::from));
        if compacted {
            self.tries.compacted = true;
            self.tries.since_compaction = Some(0);
            // Whoever slept goes on sleeping, and reads the summary when it is spoken to.
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
        self.save(bodies, Then::Advance);
    }

    pub(super) fn reserved(&mut self, now: Timestamp, verdict: BudgetVerdict) {
        let Phase::Reserving { purpose, attempt } = self.phase else { return };
        if self.wants.interrupt || self.wants.teardown.is_some() {
            return self.advance(now);
        }
        match verdict {
            BudgetVerdict::Low { scope, spent, limit } if !self.state.grants.warned.contains(&limit) => {
                self.tries.reserved = true;
                let text = format!("{spent} of the budget of {limit} are spent. Finish what matters most first.");
                let notice = self.message(now, Source::Notice, &text);
                let then = match purpose {
                    // The agent reads it with the request that is about to be made.
                    Purpose::Respond => Then::Advance,
                    Purpose::Summarise { .. } => Then::Call { purpose, attempt },
                };
                self.save(vec![BudgetWarning { scope, spent, limit }.into(), notice.into()], then);
            }
            BudgetVerdict::Granted | BudgetVerdict::Low { .. } => {
                self.tries.reserved = true;
                self.call(purpose, attempt);
            }
            BudgetVerdict::Refused { scope, spent, limit } => {
                let exceeded = BudgetExceeded { scope, spent, limit }.into();
                let question = format!(
                    "{spent} of the budget of {limit} are spent. Let the agent make one more request, or stop?"
                );
                self.ask_after(vec![exceeded], About::Budget, &question, raising(scope));
            }
            BudgetVerdict::Held => {
                let timer = self.number();
                self.phase = Phase::Held { timer, purpose, attempt };
                self.out.push(Effect::AwaitMoney { timer });
            }
            BudgetVerdict::Unpriced if self.state.grants.unpriced.contains(self.model()) => {
                self.tries.reserved = true;
                self.call(purpose, attempt);
            }
            BudgetVerdict::Unpriced => {
                let model = self.model();
                let question = format!(
                    "There is a budget, and the price of model \"{model}\" is not known: nobody can tell when it is \
                     spent. Go on without a limit, or stop?"
                );
                let detail = format!(
                    "To keep the limit, stop, set `models.{model}.prices.input` and `models.{model}.prices.output` \
                     (dollars for a million tokens) in the config, and start the agent again."
                );
                self.ask(About::Price, &question, &detail);
            }
        }
    }
}

/// Says how a budget that is spent can be raised.
fn raising(scope: BudgetScope) -> &'static str {
    match scope {
        BudgetScope::Task => "To raise the budget, before you let it go on: `mxd task edit TASK --budget USD`",
        BudgetScope::Subtree => {
            "It is the budget of a task above this one, for everything below it. To raise it, before you let this one go \
             on: `mxd task edit TASK --budget USD`"
        }
        BudgetScope::Project => {
            "It is the budget of this start. To raise it, stop, and start again with a larger --budget."
        }
    }
}

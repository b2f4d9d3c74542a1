//! What a response of the model leads to. Every stop reason has a name and a consequence.

use crate::agent::control;
use crate::agent::machine::asking::About;
use crate::agent::machine::{Machine, Phase, Purpose, Then};
use crate::base::{Timestamp, TurnId, text};
use crate::model::Usage;
use crate::model::event::{AssistantText, Body, CompactTrigger, StopReason, ToolResult, TurnEnded};
use crate::model::fold::OpenCall;
use crate::model::message::Source;
use crate::provider::{Response, ResponseBlock};

/// How often in a row a response may end without having finished, before the person is asked.
const MAX_UNFINISHED: u32 = 3;

impl Machine {
    pub(super) fn responded(&mut self, now: Timestamp, number: u64, response: Response, usage: Usage) {
        match self.phase {
            Phase::Calling { number: expected, purpose: Purpose::Respond, .. } if expected == number => {
                self.turn(now, response, usage);
            }
            Phase::Calling { number: expected, purpose: Purpose::Summarise { trim }, .. } if expected == number => {
                self.summarised(&response, usage, trim);
            }
            _ => {}
        }
    }

    fn turn(&mut self, now: Timestamp, mut response: Response, usage: Usage) {
        let turn = TurnId::fresh(&self.ids);
        response.rename_taken(&turn.to_string(), |id| self.conversation.has_call(id));
        let stop = response.stop.clone();
        if stop != StopReason::ContextOverflow {
            self.tries.compacted = false;
            self.tries.since_compaction = self.tries.since_compaction.map(|responses| responses + 1);
        }
        let calls: Vec<_> = response.calls().cloned().collect();
        let said = !response.text().trim().is_empty();
        // Calls of a response that did not end as it should may be incomplete, whatever they look like.
        let sound = matches!(stop, StopReason::ToolUse | StopReason::EndTurn | StopReason::MaxTokens);
        let plan = if sound { control::plan(calls, response.cut_call.as_deref()) } else { control::none(calls) };
        let has_calls = plan.sleep.is_some() || !plan.run.is_empty() || !plan.settled.is_empty();

        let mut bodies: Vec<Body> = response.blocks.into_iter().map(block_body).collect();
        bodies.push(usage.into());
        bodies.push(TurnEnded { turn, stop: stop.clone() }.into());
        bodies.extend(plan.settled.iter().map(|(call, is_error, why)| {
            let open = OpenCall { call: call.call.clone(), name: call.name.clone() };
            Body::from(ToolResult::unrun(&open, why, *is_error))
        }));

        if has_calls && sound {
            // Calls that cannot be run lead nowhere, however many the model makes.
            let leads_on = plan.sleep.is_some() || plan.run.iter().any(|call| call.malformed.is_none());
            self.tries.unfinished = if leads_on { 0 } else { self.tries.unfinished + 1 };
            if self.tries.unfinished > MAX_UNFINISHED {
                bodies.extend(plan.run.iter().map(|call| {
                    let open = OpenCall { call: call.call.clone(), name: call.name.clone() };
                    Body::from(ToolResult::unrun(&open, "Not run: its input was not valid JSON.", true))
                }));
                return self.ask_about_unfinished(bodies, "made calls that cannot be run");
            }
            if self.may_save_later(&plan) {
                return self.read_first(bodies, plan);
            }
            let then = if plan.run.is_empty() { Then::Advance } else { Then::Tools(plan) };
            return self.save(bodies, then);
        }
        match stop {
            StopReason::EndTurn | StopReason::ToolUse | StopReason::Interrupted if said => {
                self.tries.unfinished = 0;
                self.save(bodies, Then::Advance);
            }
            StopReason::EndTurn | StopReason::ToolUse | StopReason::Interrupted => {
                self.unfinished(
                    now,
                    bodies,
                    "Your response was empty. Say what you are doing, or call a tool.",
                    "gave empty responses",
                );
            }
            StopReason::MaxTokens => self.unfinished(
                now,
                bodies,
                "Your response reached the output limit and was cut. Go on from where it ends, in smaller steps.",
                "kept reaching its output limit",
            ),
            StopReason::Pause => self.unfinished(now, bodies, "Go on.", "kept pausing"),
            StopReason::ContextOverflow if self.may_compact() => self.compact_after(bodies, CompactTrigger::Overflow),
            StopReason::ContextOverflow => self.ask_about_full_window(bodies, ""),
            StopReason::Refusal => {
                let question = "The model refused to go on. How should the agent proceed?";
                self.ask_after(bodies, About::Stopped, question, "");
            }
            StopReason::Other(word) => {
                let question = "The model stopped for a reason that is not known. How should the agent proceed?";
                let detail = format!("It said: {}", text::headline(&word, 80));
                self.ask_after(bodies, About::Stopped, question, &detail);
            }
        }
    }

    /// Sends the model on after a response that was no end, a few times; then asks the person.
    fn unfinished(&mut self, now: Timestamp, mut bodies: Vec<Body>, notice: &str, what: &str) {
        self.tries.unfinished += 1;
        if self.tries.unfinished > MAX_UNFINISHED {
            return self.ask_about_unfinished(bodies, what);
        }
        // In the same append: a crash in between would leave a log that looks finished.
        bodies.push(self.message(now, Source::Notice, notice).into());
        self.save(bodies, Then::Advance);
    }
}

impl Machine {
    fn ask_about_unfinished(&mut self, bodies: Vec<Body>, what: &str) {
        let question = format!("The model {what}, {MAX_UNFINISHED} times in a row. How should the agent proceed?");
        self.ask_after(bodies, About::Stopped, &question, "");
    }
}

fn block_body(block: ResponseBlock) -> Body {
    match block {
        ResponseBlock::Text(text) => AssistantText { text }.into(),
        ResponseBlock::Thinking(thought) => thought.into(),
        ResponseBlock::ToolUse(call) => call.into(),
    }
}

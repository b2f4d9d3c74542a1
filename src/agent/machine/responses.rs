//! Handles responses of the model. Each stop reason has a defined consequence.

use crate::agent::control;
use crate::agent::machine::asks::AskCause;
use crate::agent::machine::{AfterSave, Machine, Phase, Purpose};
use crate::base::{Timestamp, TurnId, text};
use crate::model::Usage;
use crate::model::event::{AssistantText, Body, CompactTrigger, StopReason, ToolResult, TurnEnded};
use crate::model::fold::OpenCall;
use crate::model::message::MessageSource;
use crate::provider::{Response, ResponseBlock};

/// Number of consecutive unfinished responses before the user is asked.
const MAX_UNFINISHED: u32 = 3;

impl Machine {
    pub(super) fn on_response(&mut self, now: Timestamp, number: u64, response: Response, usage: Usage) {
        match self.phase {
            Phase::Calling { number: expected, purpose: Purpose::Respond, .. } if expected == number => {
                self.on_turn_response(now, response, usage);
            }
            Phase::Calling { number: expected, purpose: Purpose::Summarise { trim }, .. } if expected == number => {
                self.on_summary(&response, usage, trim);
            }
            _ => {}
        }
    }

    fn on_turn_response(&mut self, now: Timestamp, mut response: Response, usage: Usage) {
        let turn = TurnId::fresh(&self.ids);
        response.rename_taken(&turn.to_string(), |id| self.conversation.has_call(id));
        let stop = response.stop.clone();
        if stop != StopReason::ContextOverflow {
            self.attempts.compacted = false;
            self.attempts.since_compaction = self.attempts.since_compaction.map(|responses| responses + 1);
        }
        let calls: Vec<_> = response.calls().cloned().collect();
        let has_text = !response.text().trim().is_empty();
        // The calls of a response that stopped in any other way may be incomplete.
        let is_complete = matches!(stop, StopReason::ToolUse | StopReason::EndTurn | StopReason::MaxTokens);
        let plan =
            if is_complete { control::plan(calls, response.cut_call.as_deref()) } else { control::refuse_all(calls) };
        let has_calls = plan.sleep.is_some() || !plan.run.is_empty() || !plan.answered.is_empty();

        let mut bodies: Vec<Body> = response.blocks.into_iter().map(block_body).collect();
        bodies.push(usage.into());
        bodies.push(TurnEnded { turn, stop: stop.clone() }.into());
        bodies.extend(plan.answered.iter().map(|(call, is_error, why)| {
            let open = OpenCall { call: call.call.clone(), name: call.name.clone() };
            Body::from(ToolResult::unrun(&open, why, *is_error))
        }));

        if has_calls && is_complete {
            // Malformed calls are no progress, however many the model makes.
            let makes_progress = plan.sleep.is_some() || plan.run.iter().any(|call| call.malformed.is_none());
            self.attempts.unfinished = if makes_progress { 0 } else { self.attempts.unfinished + 1 };
            if self.attempts.unfinished > MAX_UNFINISHED {
                bodies.extend(plan.run.iter().map(|call| {
                    let open = OpenCall { call: call.call.clone(), name: call.name.clone() };
                    Body::from(ToolResult::unrun(&open, "Not run: its input was not valid JSON.", true))
                }));
                return self.ask_about_unfinished(bodies, "made calls that cannot be run");
            }
            if self.can_defer_save(&plan) {
                return self.run_before_save(bodies, plan);
            }
            let then = if plan.run.is_empty() { AfterSave::Advance } else { AfterSave::Tools(plan) };
            return self.save(bodies, then);
        }
        match stop {
            StopReason::EndTurn | StopReason::ToolUse | StopReason::Interrupted if has_text => {
                self.attempts.unfinished = 0;
                self.save(bodies, AfterSave::Advance);
            }
            StopReason::EndTurn | StopReason::ToolUse | StopReason::Interrupted => {
                self.on_unfinished(
                    now,
                    bodies,
                    "Your response was empty. Say what you are doing, or call a tool.",
                    "gave empty responses",
                );
            }
            StopReason::MaxTokens => self.on_unfinished(
                now,
                bodies,
                "Your response reached the output limit and was cut. Go on from where it ends, in smaller steps.",
                "kept reaching its output limit",
            ),
            StopReason::Pause => self.on_unfinished(now, bodies, "Go on.", "kept pausing"),
            StopReason::ContextOverflow if self.may_compact() => self.compact_after(bodies, CompactTrigger::Overflow),
            StopReason::ContextOverflow => self.ask_about_full_window(bodies, ""),
            StopReason::Refusal => {
                let question = "The model refused to continue. How should the agent proceed?";
                self.ask_after(bodies, AskCause::Stopped, question, "");
            }
            StopReason::Other(word) => {
                let question = "The model stopped for an unknown reason. How should the agent proceed?";
                let detail = format!("Stop reason: {}", text::headline(&word, 80));
                self.ask_after(bodies, AskCause::Stopped, question, &detail);
            }
        }
    }

    /// Tells the model to continue after an unfinished response; asks the user after a few of them.
    fn on_unfinished(&mut self, now: Timestamp, mut bodies: Vec<Body>, notice: &str, what: &str) {
        self.attempts.unfinished += 1;
        if self.attempts.unfinished > MAX_UNFINISHED {
            return self.ask_about_unfinished(bodies, what);
        }
        // One append: after a crash between two, the log would look finished.
        bodies.push(self.message(now, MessageSource::Notice, notice).into());
        self.save(bodies, AfterSave::Advance);
    }
}

impl Machine {
    fn ask_about_unfinished(&mut self, bodies: Vec<Body>, what: &str) {
        let question = format!("The model {what}, {MAX_UNFINISHED} times in a row. How should the agent proceed?");
        self.ask_after(bodies, AskCause::Stopped, &question, "");
    }
}

fn block_body(block: ResponseBlock) -> Body {
    match block {
        ResponseBlock::Text(text) => AssistantText { text }.into(),
        ResponseBlock::Thinking(thought) => thought.into(),
        ResponseBlock::ToolUse(call) => call.into(),
    }
}

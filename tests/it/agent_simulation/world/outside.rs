//! What answers the machine: the model, the tools, the purse, whoever prepares a segment. All of them as the seed says.

use mxd::agent::machine::{Input, Prepared, Purpose};
use mxd::base::{Json, MessageId, MicroUsd, TurnId};
use mxd::model::Content;
use mxd::model::conversation::{ToolUse, Wire};
use mxd::model::event::{BudgetScope, CachePolicy, SessionConfig, StopReason, SystemPrompt, ToolResult, Verdict};
use mxd::model::message::{Message, MessageSource};
use mxd::model::usage::{Tokens, Usage};
use mxd::provider::budget::BudgetVerdict;
use mxd::provider::{ApiError, ErrorClass, Response, ResponseBlock};
use mxd::tools::{self, names};

use super::World;

impl World {
    pub(super) fn prepared(&mut self, config: bool, context: bool) -> Prepared {
        let config = config.then(|| SessionConfig {
            model: "test".to_owned(),
            wire: Wire::Anthropic,
            tools: Vec::new(),
            system: SystemPrompt::default(),
            cache: CachePolicy::default(),
            max_output: 1_000,
            effort: None,
        });
        if config.is_some() {
            self.epoch += 1;
            self.last_request.clear();
        }
        let work_context = context.then(|| {
            Message::new(MessageId::fresh(&self.ids), Self::now(), MessageSource::WorkContext, "where you are")
        });
        Prepared { config, work_context }
    }

    pub(super) fn verdict(&mut self) -> BudgetVerdict {
        let (scope, spent, limit) = (BudgetScope::Task, MicroUsd(90), MicroUsd(100));
        match self.draw(12) {
            0 if !self.calm => BudgetVerdict::Refused { scope, spent, limit },
            1 => BudgetVerdict::Low { scope, spent, limit },
            2 => BudgetVerdict::Held,
            3 if self.seed.is_multiple_of(9) => BudgetVerdict::Unpriced,
            _ => BudgetVerdict::Granted,
        }
    }

    pub(super) fn model(&mut self, number: u64, purpose: Purpose, cancelled: bool) -> Input {
        // A request that was stopped may still have finished in time.
        if cancelled && !self.chance(20) {
            let mut error = ApiError::cancelled();
            if self.chance(50) {
                error = error.with_partial(Self::response(
                    vec![ResponseBlock::Text("half a sen".to_owned())],
                    StopReason::EndTurn,
                ));
            }
            return Input::Failed { number, error: Box::new(error), usage: None, jitter: 0.5 };
        }
        if !self.calm && self.chance(12) {
            self.tally.faults += 1;
            let class = ErrorClass::ALL[usize::try_from(self.draw(ErrorClass::ALL.len() as u64)).unwrap()];
            if class != ErrorClass::Cancelled {
                let usage = self.chance(30).then(|| Box::new(Self::usage(100)));
                return Input::Failed { number, error: Box::new(ApiError::new(class, "no")), usage, jitter: 0.5 };
            }
        }
        let response = match purpose {
            Purpose::Summarise { .. } => self.summary(),
            Purpose::Respond => self.turn(),
        };
        let tokens = if self.chance(6) { 18_000 } else { 2_000 };
        Input::Response { number, response: Box::new(response), usage: Box::new(Self::usage(tokens)) }
    }

    fn usage(input: u64) -> Usage {
        Usage {
            tokens: Tokens { input, output: 10, ..Tokens::default() },
            model: "test".to_owned(),
            cost: Some(MicroUsd(7)),
            context_window: 20_000,
            estimated: false,
        }
    }

    fn response(blocks: Vec<ResponseBlock>, stop: StopReason) -> Response {
        Response {
            blocks,
            tokens: Tokens::default(),
            usage_reported: true,
            stop,
            cut_call: None,
            model: "test".to_owned(),
        }
    }

    fn summary(&mut self) -> Response {
        let text = if !self.calm && self.chance(30) {
            "I would rather not".to_owned()
        } else {
            let sections =
                mxd::agent::compaction::SECTIONS.map(|section| format!("## {section}\n{}", "known ".repeat(10)));
            format!("<summary>{}</summary>", sections.join("\n"))
        };
        Self::response(vec![ResponseBlock::Text(text)], StopReason::EndTurn)
    }

    fn call(&mut self, name: &str) -> ResponseBlock {
        let call = format!("call_{}", TurnId::fresh(&self.ids));
        let input = Json::parse(format!("{{\"n\":{}}}", self.draw(3))).unwrap();
        ResponseBlock::ToolUse(ToolUse { call, name: names::wire(name), input, malformed: None })
    }

    fn turn(&mut self) -> Response {
        let text = ResponseBlock::Text("Working on it.".to_owned());
        if self.calm {
            return Self::response(vec![text], StopReason::EndTurn);
        }
        let mut blocks = if self.chance(50) { vec![text.clone()] } else { Vec::new() };
        let stop = match self.draw(20) {
            0..=8 => {
                for _ in 0..=self.draw(3) {
                    blocks.push(self.call("look"));
                }
                StopReason::ToolUse
            }
            9 | 10 => {
                blocks.push(self.call(names::YIELD));
                if self.chance(30) {
                    blocks.push(self.call(names::YIELD));
                }
                StopReason::ToolUse
            }
            11 => {
                blocks.push(self.call(names::DONE));
                StopReason::ToolUse
            }
            12 => {
                blocks.push(self.call("look"));
                let other =
                    [names::YIELD, names::DONE, names::FORK_TASK_CONTEXT][usize::try_from(self.draw(3)).unwrap()];
                blocks.push(self.call(other));
                StopReason::ToolUse
            }
            13 => {
                blocks.push(self.call("look"));
                let mut response = Self::response(blocks, StopReason::MaxTokens);
                response.cut_call = response.calls().last().map(|call| call.call.clone());
                return response;
            }
            14 => StopReason::MaxTokens,
            15 => StopReason::Refusal,
            16 => StopReason::Pause,
            17 => StopReason::ContextOverflow,
            18 => StopReason::Other("new_word".to_owned()),
            _ => {
                blocks.push(text);
                StopReason::EndTurn
            }
        };
        Self::response(blocks, stop)
    }

    pub(super) fn tool(&mut self, call: &ToolUse, cancelled: bool) -> Input {
        let mut result = ToolResult {
            call: call.call.clone(),
            name: call.name.clone(),
            content: Content::text(if cancelled { "interrupted" } else { "seen" }),
            is_error: cancelled,
            images: Vec::new(),
            full: None,
            background: None,
            ended: None,
            cwd: None,
            permission: None,
            duration_ms: 1,
        };
        let is_done = call.name == names::wire(names::DONE);
        if !cancelled && !is_done && !self.consented.contains(&call.call) && self.chance(15) {
            // It did not run, and will once the user allows it.
            self.tally.held += 1;
            self.ran.remove(&call.call);
            let control = Some(tools::ControlRequest::Hold(Box::default()));
            return Input::ToolFinished { result: Box::new(result), control };
        }
        let control = if is_done && self.chance(70) {
            self.tally.dones += 1;
            Some(tools::ControlRequest::Done { verdict: Verdict::Passed, result: "ok".to_owned() })
        } else {
            if is_done {
                result.is_error = true;
            }
            None
        };
        Input::ToolFinished { result: Box::new(result), control }
    }
}

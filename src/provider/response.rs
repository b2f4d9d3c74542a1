//! Responses, and the signals that show them while they arrive.

use crate::model::conversation::{Thought, ToolUse};
use crate::model::event::StopReason;
use crate::model::usage::Tokens;

/// A piece of a response while it arrives. For display only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The API has begun to answer. A model may think for minutes before its first text.
    Begun,
    Text(String),
    Thinking(String),
    /// A tool call is arriving: the `index`-th of the response, with `bytes` of input so far.
    Call {
        index: usize,
        call: String,
        name: String,
        bytes: u64,
    },
}

/// A block of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseBlock {
    Text(String),
    Thinking(Thought),
    ToolUse(ToolUse),
}

/// A response of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// In order, without blank texts. Calls have the original tool names.
    pub blocks: Vec<ResponseBlock>,
    pub tokens: Tokens,
    /// Whether the API reported `tokens`. If not, they are zero and the caller must estimate.
    pub usage_reported: bool,
    pub stop: StopReason,
    /// The id of the tool call that the output limit truncated. It is the last block, its input is malformed, and it
    /// must not be run.
    pub cut_call: Option<String>,
    /// The model's name according to the API. Empty if not reported.
    pub model: String,
}

impl Response {
    /// Returns the text of the response, its blocks joined by a blank line.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .blocks
            .iter()
            .filter_map(|block| match block {
                ResponseBlock::Text(text) => Some(text.as_str()),
                ResponseBlock::Thinking(_) | ResponseBlock::ToolUse(_) => None,
            })
            .collect();
        texts.join("\n\n")
    }

    /// Gives calls whose id `is_taken` a unique id made from `name`. Some servers number the calls of each response
    /// from zero, and some APIs reject a conversation with duplicate ids.
    pub fn rename_taken(&mut self, name: &str, is_taken: impl Fn(&str) -> bool) {
        let calls = self.blocks.iter_mut().filter_map(|block| match block {
            ResponseBlock::ToolUse(call) => Some(call),
            ResponseBlock::Text(_) | ResponseBlock::Thinking(_) => None,
        });
        for (number, call) in calls.enumerate().filter(|(_, call)| is_taken(&call.call)) {
            let own = format!("call_{name}_{number}");
            if self.cut_call.as_ref() == Some(&call.call) {
                self.cut_call = Some(own.clone());
            }
            call.call = own;
        }
    }

    /// Returns the tool calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolUse> {
        self.blocks.iter().filter_map(|block| match block {
            ResponseBlock::ToolUse(call) => Some(call),
            ResponseBlock::Text(_) | ResponseBlock::Thinking(_) => None,
        })
    }
}

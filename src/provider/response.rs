//! What comes back: pieces to show while a response is written, and the response itself.

use crate::model::conversation::{Thought, ToolUse};
use crate::model::event::StopReason;
use crate::model::usage::Tokens;

/// Something worth showing while a response comes in. Shown, never kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The API took the request and has begun to answer. A model may think for minutes before it says anything.
    Begun,
    Text(String),
    Thinking(String),
    /// A tool call is being written: the `index`-th of the response, `bytes` of input so far.
    Call {
        index: usize,
        call: String,
        name: String,
        bytes: u64,
    },
}

/// A piece of a response, in the order in which the model gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseBlock {
    Text(String),
    Thinking(Thought),
    ToolUse(ToolUse),
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Blank texts are left out. Calls carry our own tool names.
    pub blocks: Vec<ResponseBlock>,
    pub tokens: Tokens,
    /// Whether the API said how many tokens it used. If not, `tokens` is zero and the caller must estimate.
    pub usage_reported: bool,
    pub stop: StopReason,
    /// The id of the tool call that was cut short by the output limit. It is the last block, its input is
    /// malformed, and it must not be run.
    pub cut_call: Option<String>,
    /// The model that answered, in the API's own words. Empty if it did not say.
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

    /// Gives calls whose id `is_taken` an id of their own, made from `name`. Servers that number the calls of every
    /// response from nought give two calls of a conversation one id, and some APIs refuse a conversation that has such.
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

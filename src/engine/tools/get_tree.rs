//! `get_tree`: the tasks of the project.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::agent_port::AgentPort;
use crate::engine::tools::{answer, fields, tree_text};
use crate::tools::{Call, Handler, Reply, ToolEffect, names};

pub(super) struct GetTree(pub(super) AgentPort);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// Only this task and what is below it: its number (#12), its id or the start of it. Default: the whole tree.
    #[serde(default)]
    below: Option<String>,
    /// Show closed tasks too.
    #[serde(default)]
    include_closed: bool,
}

impl Handler for GetTree {
    const NAME: &'static str = names::GET_TREE;
    const DESCRIPTION: &'static str = "Shows the tree of tasks, one line each: id, status, title, and which one is \
        you. At most about 12 KB; what does not fit is counted: ask for a part of the tree with below. No need to \
        look again and again: you are told when a sub task ends.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    const EXAMPLE: &'static str = r#"{"below": "01JZ8Q4W3M5N"}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let reading = async {
            let below = match fields::given(input.below) {
                Some(name) => Some(self.0.find(&name).await?.id),
                None => None,
            };
            Ok(tree_text::listing(&self.0.rows(below).await?, self.0.task(), input.include_closed))
        };
        answer(reading, &call).await
    }
}

#[cfg(test)]
#[path = "get_tree_tests.rs"]
mod tests;

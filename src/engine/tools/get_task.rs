//! `get_task`: everything about one task.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::agent_port::AgentPort;
use crate::engine::tools::{answer, tree_text};
use crate::tools::{Call, Handler, Reply, ToolEffect, names};

pub(super) struct GetTask(pub(super) AgentPort);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The task, anywhere in the tree: its number (#12), its id or the start of it.
    task: String,
}

impl Handler for GetTask {
    const NAME: &'static str = names::GET_TASK;
    const DESCRIPTION: &'static str = "Shows one task, anywhere in the tree: status, branch, worktree, cost, \
        description and results. At most about 24 KB.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    const EXAMPLE: &'static str = r#"{"task": "01JZ8Q4W3M5N"}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let reading = async {
            let task = self.0.find(&input.task).await?.id;
            Ok(tree_text::card(&self.0.card(task).await?))
        };
        answer(reading, &call).await
    }
}

#[cfg(test)]
#[path = "get_task_tests.rs"]
mod tests;

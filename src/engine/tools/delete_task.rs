//! `delete_task`: deletes a sub task.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::agent_port::AgentPort;
use crate::engine::command::Command;
use crate::engine::tools::answer;
use crate::tools::{Call, Handler, Reply, ToolEffect, names};

pub(super) struct DeleteTask(pub(super) AgentPort);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The task: its number (#12), its id or the start of it.
    task: String,
}

impl Handler for DeleteTask {
    const NAME: &'static str = names::DELETE_TASK;
    const DESCRIPTION: &'static str = concat!(
        "Takes a sub task and everything below it out of the tree, with conversations, results and branches; work \
         that was not merged is archived. For what was made by mistake. A finished task is closed instead: its result \
         can then still be found. What is at work in it is stopped first. ",
        mildest_first!()
    );
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str = r#"{"task": "01JZ8Q4W3M5N"}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let deleting = async {
            let task = self.0.find(&input.task).await?;
            self.0.command(Command::Delete { task: task.id }).await?;
            Ok(format!(
                "Deleted \"{}\". What of its work was not merged is archived below refs/mxd/archive.",
                task.title
            ))
        };
        answer(deleting, &call).await
    }
}

#[cfg(test)]
#[path = "delete_task_tests.rs"]
mod tests;

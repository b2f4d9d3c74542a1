//! `reset_task`: starts a sub task over.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::agent_port::AgentPort;
use crate::engine::command::{Command, Outcome};
use crate::engine::tools::{answer, unexpected};
use crate::tools::{Call, Handler, Reply, ToolEffect, names};

pub(super) struct ResetTask(pub(super) AgentPort);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The task: its number (#12), its id or the start of it.
    task: String,
}

impl Handler for ResetTask {
    const NAME: &'static str = names::RESET_TASK;
    const DESCRIPTION: &'static str = concat!(
        "Starts a sub task over, yours or one below it: its conversation is emptied, its branch and worktree go and \
         are made anew from the branch above it, its old work is archived. It then waits for a message from you. For \
         an agent that has gone wrong beyond what a message can set right; say in the description what went wrong \
         (update_task). If it is at work, it is stopped first. ",
        mildest_first!()
    );
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str = r#"{"task": "01JZ8Q4W3M5N"}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let resetting = async {
            let task = self.0.find(&input.task).await?;
            match self.0.command(Command::Reset { task: task.id }).await? {
                Outcome::Reset { recurs } => Ok(reply_text(&task.title, recurs)),
                other => Err(unexpected(&other)),
            }
        };
        answer(resetting, &call).await
    }
}

/// Describes the reset to the agent.
pub(super) fn reply_text(title: &str, recurs: bool) -> String {
    let again = if recurs { " It is pending and will run again." } else { "" };
    format!("Reset \"{title}\": an empty conversation, a fresh branch. Its old work is archived.{again}")
}

#[cfg(test)]
#[path = "reset_task_tests.rs"]
mod tests;

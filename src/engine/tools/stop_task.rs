//! `stop_task`: stops the agents of a sub task.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::text;
use crate::engine::agent_port::AgentPort;
use crate::engine::command::{Command, Outcome, StopScope};
use crate::engine::tools::{answer, unexpected};
use crate::tools::{Call, Handler, Reply, ToolEffect, names};

pub(super) struct StopTask(pub(super) AgentPort);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The task: its number (#12), its id or the start of it.
    task: String,
}

impl Handler for StopTask {
    const NAME: &'static str = names::STOP_TASK;
    const DESCRIPTION: &'static str = "Stops the agent of a sub task, yours or one below it, and the agents below that \
        one, with the processes they left running. Branch, worktree and conversation stay as they are, and a message \
        wakes it again. For work that is no longer needed, or has to wait; close it afterwards if nothing more is to \
        come of it.";
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str = r#"{"task": "01JZ8Q4W3M5N"}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let stopping = async {
            let task = self.0.find(&input.task).await?;
            match self.0.command(Command::Stop { scope: StopScope::Subtree(task.id) }).await? {
                Outcome::Stopped { agents: 0 } => Ok(format!("Nothing was at work in \"{}\".", task.title)),
                Outcome::Stopped { agents } => Ok(format!(
                    "Stopped \"{}\": {}. A message wakes it again; close_task puts it away.",
                    task.title,
                    text::count(agents, "agent", "agents")
                )),
                other => Err(unexpected(&other)),
            }
        };
        answer(stopping, &call).await
    }
}

#[cfg(test)]
#[path = "stop_task_tests.rs"]
mod tests;

//! `fork_task_context`: copies a conversation into a sub task.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::agent_port::AgentPort;
use crate::engine::command::{Command, Outcome};
use crate::engine::tools::{answer, unexpected};
use crate::tools::{Call, Handler, Reply, ToolEffect, names};

pub(super) struct ForkTaskContext(pub(super) AgentPort);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The sub task that gets the copy, yours or one below it, without a conversation yet: its number (#12), its id or the start of it.
    task: String,
    /// Whose conversation is copied: any task that has one, also one that is finished or closed. Default: yours.
    #[serde(default)]
    source: Option<String>,
}

impl Handler for ForkTaskContext {
    const NAME: &'static str = names::FORK_TASK_CONTEXT;
    const DESCRIPTION: &'static str = "Copies a conversation into a sub task, so that its agent begins with all that was \
        read and decided in it instead of with a briefing: yours, or with source that of another task, for example one \
        that has explored what this one needs. Make the task with create_task and start: later, fork, then send it a \
        message: it starts then, from the last commit of your branch. Worth it when the sub task needs most of what \
        that conversation has; otherwise a good description is cheaper, because a long conversation is paid for at \
        every turn. Must be the only call of its turn. Afterwards you are still yourself.";
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str = r#"{"task": "01JZ8Q4W3M5N"}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let copying = async {
            let (source, whose) = match &input.source {
                Some(name) => {
                    let source = self.0.find(name).await?;
                    (source.id, format!("the conversation of \"{}\"", source.title))
                }
                None => (self.0.task(), String::new()),
            };
            let whose = if source == self.0.task() { "your conversation" } else { &whose };
            let target = self.0.find(&input.task).await?;
            match self.0.command(Command::ForkContext { source, target: target.id }).await? {
                Outcome::Copied { events } => Ok(format!(
                    "Copied {events} events of {whose} into \"{}\" ({}). You are still yourself: the copy is the other \
                     task. Send it a message to start it.",
                    target.title, target.id
                )),
                other => Err(unexpected(&other)),
            }
        };
        answer(copying, &call).await
    }
}

#[cfg(test)]
#[path = "fork_task_context_tests.rs"]
mod tests;

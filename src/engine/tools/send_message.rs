//! `send_message`: sends a message to an ancestor or a direct sub task.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::agent_port::AgentPort;
use crate::engine::command::{Command, Outcome};
use crate::engine::tools::{answer, unexpected};
use crate::tools::{Call, Handler, Reply, ToolEffect, names};

pub(super) struct SendMessage(pub(super) AgentPort);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// To whom: a task above yours or a direct sub task, by number (#12), id or the start of it.
    task: String,
    /// What the other agent reads. It sees nothing else of yours: name files, commits and decisions.
    message: String,
    /// You need an answer to go on. Then do what does not depend on it, and yield.
    #[serde(default)]
    request_reply: bool,
}

impl Handler for SendMessage {
    const NAME: &'static str = names::SEND_MESSAGE;
    const DESCRIPTION: &'static str = "Says something to a task above yours or to a direct sub task. An agent at work \
        reads it at its next pause; one that sleeps or is finished is woken; a sub task that has not begun is \
        started, from the last commit of your branch, so commit first. Upwards: a question, a surprise, something \
        that changes the plan; your result goes into done instead. Downwards: a correction, an answer, the next step; \
        it is milder than closing, resetting or deleting a sub task and usually enough. Every message costs the other \
        a turn: no thanks, no progress that nobody waits for. Other tasks are reached through the task above.";
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str =
        r#"{"task": "01JZ8Q4W3M5N", "message": "Limit by account, not by address, and test that in src/auth."}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let Input { task, message, request_reply } = input;
        let sending = async {
            let to = self.0.find(&task).await?;
            let is_sub_task = to.parent == Some(self.0.task());
            match self.0.command(Command::Message { to: to.id, body: message, request_reply }).await? {
                Outcome::Sent { wakes: true, .. } if is_sub_task => {
                    Ok(format!("Sent, and \"{}\" is being started.", to.title))
                }
                Outcome::Sent { .. } => Ok(format!("Sent to \"{}\".", to.title)),
                other => Err(unexpected(&other)),
            }
        };
        answer(sending, &call).await
    }
}

#[cfg(test)]
#[path = "send_message_tests.rs"]
mod tests;

//! `hand_over`: gives a sub task to another profile.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::agent_port::AgentPort;
use crate::engine::command::{Command, Outcome};
use crate::engine::tools::{answer, fields, unexpected};
use crate::tools::{Call, Handler, Reply, ToolEffect, names};

pub(super) struct HandOver(pub(super) AgentPort);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The task, yours or below it: its number (#12), its id or the start of it.
    task: String,
    /// The profile that goes on with it, one of those you were told of.
    profile: String,
    /// What the next agent should know: what is done, what is left, what was decided and why, how to check it. Default: a
    /// note from the session's record.
    #[serde(default)]
    note: Option<String>,
}

impl Handler for HandOver {
    const NAME: &'static str = names::HAND_OVER;
    const DESCRIPTION: &'static str = "Gives a sub task to another profile. Its agent is stopped and its conversation \
        retired for good; branch, worktree, unread messages and open questions stay, and an agent with the new profile \
        goes on from a note. For work that turned out to need somebody else. A message is enough where only the \
        direction changes.";
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str = r#"{"task": "01JZ8Q4W3M5N", "profile": "reviewer", "note": "The migration is done and tested. Left: judge the callback route in src/auth/callback.rs."}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let handing = async {
            let task = self.0.find(&input.task).await?;
            let command = Command::HandOverTask { task: task.id, to: input.profile, note: fields::given(input.note) };
            match self.0.command(command).await? {
                Outcome::HandedOver { to, .. } => Ok(format!("\"{}\" is with {to} now.", task.title)),
                other => Err(unexpected(&other)),
            }
        };
        answer(handing, &call).await
    }
}

//! `reset_task`: starts a sub task over.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::door::Door;
use crate::engine::request::Request;
use crate::engine::tools::ask;
use crate::tools::{Call, Effect, Handler, Reply, names};

/// Starts a sub task over.
pub(super) struct ResetTask(pub(super) Door);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The task: its id or the start of it.
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
    const EFFECT: Effect = Effect::Opaque;
    const EXAMPLE: &'static str = r#"{"task": "01JZ8Q4W3M5N"}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        ask(&self.0, Request::ResetTask { task: input.task }, &call).await
    }
}

#[cfg(test)]
#[path = "reset_task_tests.rs"]
mod tests;

//! `get_task`: everything about one task.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::door::Door;
use crate::engine::request::Request;
use crate::engine::tools::ask;
use crate::tools::{Call, Effect, Handler, Reply, names};

/// Shows a task.
pub(super) struct GetTask(pub(super) Door);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The task, anywhere in the tree: its id or the start of it.
    task: String,
}

impl Handler for GetTask {
    const NAME: &'static str = names::GET_TASK;
    const DESCRIPTION: &'static str = "Shows one task, anywhere in the tree: status, branch, worktree, cost, \
        description and results. At most about 24 KB.";
    const EFFECT: Effect = Effect::Reads;
    const EXAMPLE: &'static str = r#"{"task": "01JZ8Q4W3M5N"}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        ask(&self.0, Request::GetTask { task: input.task }, &call).await
    }
}

#[cfg(test)]
#[path = "get_task_tests.rs"]
mod tests;

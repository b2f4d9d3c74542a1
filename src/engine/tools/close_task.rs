//! `close_task`: puts a sub task away.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::door::Door;
use crate::engine::request::Request;
use crate::engine::tools::ask;
use crate::tools::{Call, Effect, Handler, Reply, names};

/// Puts a sub task away.
pub(super) struct CloseTask(pub(super) Door);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The task: its id or the start of it.
    task: String,
}

impl Handler for CloseTask {
    const NAME: &'static str = names::CLOSE_TASK;
    const DESCRIPTION: &'static str = concat!(
        "Puts a sub task away that needs nothing more, yours or one below it: its worktree goes, its branch, \
         conversation and result stay, and what was not committed is archived. Merge first what you want of it. A \
         message wakes it again. Refused while it or something below it is in progress: stop_task first. ",
        mildest_first!()
    );
    const EFFECT: Effect = Effect::Opaque;
    const EXAMPLE: &'static str = r#"{"task": "01JZ8Q4W3M5N"}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        ask(&self.0, Request::CloseTask { task: input.task }, &call).await
    }
}

#[cfg(test)]
#[path = "close_task_tests.rs"]
mod tests;

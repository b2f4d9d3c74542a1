//! `reorder_tasks`: puts sub tasks in another order.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::door::Door;
use crate::engine::request::Request;
use crate::engine::tools::{ask, fields};
use crate::tools::{Call, Effect, Handler, Reply, names};

/// Puts sub tasks in another order.
pub(super) struct ReorderTasks(pub(super) Door);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// Every sub task of the parent exactly once, closed ones too, by id or the start of it, in the new order.
    #[schemars(length(min = 1))]
    order: Vec<String>,
    /// Whose sub tasks: your own task or one below it. Default: yours.
    #[serde(default)]
    parent: Option<String>,
}

impl Handler for ReorderTasks {
    const NAME: &'static str = names::REORDER_TASKS;
    const DESCRIPTION: &'static str = "Puts the sub tasks of a task in the order in which the person should see them, \
        such as the order in which they will be merged. It changes nothing else: not when they run, nor who waits for \
        whom.";
    const EFFECT: Effect = Effect::Opaque;
    const EXAMPLE: &'static str = r#"{"order": ["01JZ8Q4W3M5N", "01JZ8Q4Z0R7T"]}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let parent = fields::given(input.parent).unwrap_or_else(|| self.0.task().to_string());
        ask(&self.0, Request::ReorderTasks { parent, order: input.order }, &call).await
    }
}

#[cfg(test)]
#[path = "reorder_tasks_tests.rs"]
mod tests;

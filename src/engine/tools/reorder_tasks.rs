//! `reorder_tasks`: reorders sub tasks.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::agent_port::AgentPort;
use crate::engine::command::Command;
use crate::engine::tools::{answer, fields};
use crate::tools::{Call, Handler, Reply, ToolEffect, names};

pub(super) struct ReorderTasks(pub(super) AgentPort);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// Every sub task of the parent exactly once, closed ones too, by number (#12), id or the start of it, in the new order.
    #[schemars(length(min = 1))]
    order: Vec<String>,
    /// Whose sub tasks: your own task or one below it. Default: yours.
    #[serde(default)]
    parent: Option<String>,
}

impl Handler for ReorderTasks {
    const NAME: &'static str = names::REORDER_TASKS;
    const DESCRIPTION: &'static str = "Puts the sub tasks of a task in the order in which the user should see them, \
        such as the order in which they will be merged. It changes nothing else: not when they run, nor who waits for \
        whom.";
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str = r#"{"order": ["01JZ8Q4W3M5N", "01JZ8Q4Z0R7T"]}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let ordering = async {
            let parent = self.0.id_or_own(fields::given(input.parent).as_deref()).await?;
            let mut order = Vec::with_capacity(input.order.len());
            for name in &input.order {
                order.push(self.0.find(name).await?.id);
            }
            self.0.command(Command::Reorder { parent, order }).await?;
            Ok("The sub tasks are in the new order.".to_owned())
        };
        answer(ordering, &call).await
    }
}

#[cfg(test)]
#[path = "reorder_tasks_tests.rs"]
mod tests;

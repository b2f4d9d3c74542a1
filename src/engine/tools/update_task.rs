//! `update_task`: edits a sub task.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::agent_port::AgentPort;
use crate::engine::command::{Command, TaskChanges};
use crate::engine::tools::{answer, fields};
use crate::tools::{Call, Handler, Reply, ToolEffect, names};

pub(super) struct UpdateTask(pub(super) AgentPort);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The task: its number (#12), its id or the start of it.
    task: String,
    /// The new title, one line.
    #[serde(default)]
    title: Option<String>,
    /// The new description, whole. It replaces the old one.
    #[serde(default)]
    description: Option<String>,
    /// The most it may cost with everything below it, in US dollars.
    #[serde(default)]
    #[schemars(range(min = 0))]
    budget_usd: Option<f64>,
    /// A mark for the user.
    #[serde(default)]
    colour: Option<fields::Colour>,
    /// false makes a draft ready, to be started with a message. true makes a draft of a task that has not begun.
    #[serde(default)]
    draft: Option<bool>,
}

impl Handler for UpdateTask {
    const NAME: &'static str = names::UPDATE_TASK;
    const DESCRIPTION: &'static str = "Changes what is written down of a sub task, yours or one below it: the fields \
        you give and no others, all of them or, if one is refused, none. An agent that has begun is not told: if it \
        must know, send it a message too.";
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str = r#"{"task": "01JZ8Q4W3M5N", "budget_usd": 5}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let budget = match fields::budget(input.budget_usd) {
            Ok(budget) => budget,
            Err(problem) => return Reply::error(problem),
        };
        let Input { task, title, description, draft, .. } = input;
        let (budget, colour) = (budget.map(Some), input.colour.map(|colour| Some(colour.into())));
        let changes = TaskChanges { title, description, budget, colour, draft, ..TaskChanges::default() };
        let updating = async {
            let task = self.0.find(&task).await?;
            let title = changes.title.clone().unwrap_or(task.title);
            self.0.command(Command::Update { task: task.id, changes }).await?;
            Ok(format!("Updated task {} \"{}\".", task.id, title.split_whitespace().collect::<Vec<_>>().join(" ")))
        };
        answer(updating, &call).await
    }
}

#[cfg(test)]
#[path = "update_task_tests.rs"]
mod tests;

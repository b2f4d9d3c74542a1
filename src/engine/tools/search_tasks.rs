//! `search_tasks`: finds tasks by words.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::agent_port::AgentPort;
use crate::engine::tools::{answer, tree_text};
use crate::tools::{Call, Handler, Reply, ToolEffect, names};

pub(super) struct SearchTasks(pub(super) AgentPort);

const DEFAULT_LIMIT: usize = 10;
const LARGEST_LIMIT: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// A few words. Tasks that have more of them come first.
    query: String,
    /// The most tasks to return. Default 10, up to 50.
    #[serde(default)]
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

impl Handler for SearchTasks {
    const NAME: &'static str = names::SEARCH_TASKS;
    const DESCRIPTION: &'static str = "Finds tasks of this project by the words of their titles, descriptions and \
        results, closed ones too, best match first. Look here before you make a task or begin one: it may be done, \
        under way, or have been tried and failed for a reason.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    const EXAMPLE: &'static str = r#"{"query": "login rate limit"}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let limit = input.limit.unwrap_or(DEFAULT_LIMIT).min(LARGEST_LIMIT);
        let searching = async {
            let found = self.0.search(input.query.clone(), limit).await?;
            Ok(tree_text::hits(&input.query, &found))
        };
        answer(searching, &call).await
    }
}

#[cfg(test)]
#[path = "search_tasks_tests.rs"]
mod tests;

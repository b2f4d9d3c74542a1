//! `search_tasks`: finds tasks by their words.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::door::Door;
use crate::engine::request::Request;
use crate::engine::tools::ask;
use crate::tools::{Call, Effect, Handler, Reply, names};

/// Finds tasks.
pub(super) struct SearchTasks(pub(super) Door);

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
    const EFFECT: Effect = Effect::Reads;
    const EXAMPLE: &'static str = r#"{"query": "login rate limit"}"#;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let limit = input.limit.unwrap_or(DEFAULT_LIMIT).min(LARGEST_LIMIT);
        ask(&self.0, Request::SearchTasks { query: input.query, limit }, &call).await
    }
}

#[cfg(test)]
#[path = "search_tasks_tests.rs"]
mod tests;

//! The tools `yield` and `done`. The agent's machine implements their effect.

use std::sync::Arc;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::event::Verdict;
use crate::tools::{self, Call, Handler, Reply, ToolEffect, names};

/// Sleeps until the agent gets a message.
pub struct Yield;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct YieldInput {}

impl Handler for Yield {
    const NAME: &'static str = names::YIELD;
    const DESCRIPTION: &'static str = "Sleep until something is said to you: a message, a sub task's result, an answer, or the end of a \
        background process. Costs nothing while you sleep. Must be the only call of its turn. Ending your turn without a call \
        does the same.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    const EXAMPLE: &'static str = "{}";

    type Input = YieldInput;

    async fn run(self: Arc<Self>, _: YieldInput, _: Call) -> Reply {
        Reply { control: Some(tools::ControlRequest::Yield), ..Reply::text("") }
    }
}

/// Decides whether a task may be declared done.
pub trait DoneCheck: Send + Sync + 'static {
    fn refuse(&self, verdict: Verdict) -> BoxFuture<'_, Option<Refusal>>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub reason: String,
    /// How many checks in a row have failed in the same way. `None` if the refusal is not about the check.
    pub failed_checks: Option<u32>,
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self { reason, failed_checks: None }
    }
}

pub struct Done {
    pub check: Option<Arc<dyn DoneCheck>>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DoneStatus {
    Passed,
    Failed,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DoneInput {
    /// Whether the goal was reached.
    status: DoneStatus,
    /// What was done, how it was checked, and what is left. The task above reads nothing else.
    result: String,
}

impl Handler for Done {
    const NAME: &'static str = names::DONE;
    const DESCRIPTION: &'static str = "Declare your task finished: `passed` if its goal is reached and you have seen the proof, `failed` if it \
        is not and you cannot get there. Everything must be committed first. Must be the only call of its turn. Afterwards you \
        sleep; a message wakes you again.";
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str =
        r#"{"status":"passed","result":"Added the login route and its tests; all 48 tests pass."}"#;

    type Input = DoneInput;

    async fn run(self: Arc<Self>, input: DoneInput, _: Call) -> Reply {
        let result = input.result.trim();
        if result.is_empty() {
            return Reply::error("Not done: the result is empty. Say what was done and how it was checked.");
        }
        let verdict = match input.status {
            DoneStatus::Passed => Verdict::Passed,
            DoneStatus::Failed => Verdict::Failed,
        };
        if let Some(check) = &self.check
            && let Some(Refusal { reason, failed_checks }) = check.refuse(verdict).await
        {
            let control = match failed_checks {
                Some(in_a_row) => tools::ControlRequest::CheckFailed { in_a_row },
                None => tools::ControlRequest::DoneRefused,
            };
            return Reply { control: Some(control), ..Reply::error(format!("Not done: {reason}")) };
        }
        let control = Some(tools::ControlRequest::Done { verdict, result: result.to_owned() });
        Reply { control, ..Reply::text("") }
    }
}

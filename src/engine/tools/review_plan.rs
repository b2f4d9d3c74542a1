//! `review_plan`: decides about the plan of a sub task.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::agent_port::AgentPort;
use crate::engine::command::Command;
use crate::engine::tools::answer;
use crate::tools::{Call, Handler, Reply, ToolEffect, names};

pub(super) struct ReviewPlan(pub(super) AgentPort);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The task: its number (#12), its id or the start of it.
    task: String,
    /// true: its agent starts the work. false: it gets your words and hands in another plan.
    approve: bool,
    /// What to change, or what to keep in mind.
    #[serde(default)]
    words: String,
}

impl Handler for ReviewPlan {
    const NAME: &'static str = names::REVIEW_PLAN;
    const DESCRIPTION: &'static str = "Approves the plan that a sub task below yours has handed in, or sends it back with \
        your words. You are told when there is one. The user sees the plan, too, and may be faster.";
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str =
        r##"{"task": "#12", "approve": false, "words": "Keep the old endpoint for a release."}"##;

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, call: Call) -> Reply {
        let deciding = async {
            let task = self.0.find(&input.task).await?;
            let (approve, words) = (input.approve, input.words);
            self.0.command(Command::ReviewPlan { task: task.id, approve, words }).await?;
            Ok(if approve {
                format!("\"{}\" starts the work.", task.title)
            } else {
                format!("\"{}\" gets your words and hands in another plan.", task.title)
            })
        };
        answer(deciding, &call).await
    }
}

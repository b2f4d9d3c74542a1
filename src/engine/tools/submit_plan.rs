//! `submit_plan`: hands in a plan, and waits for its approval.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::ask::{HeldRequest, PlanRequest};
use crate::tools::{Call, ControlRequest, Handler, Reply, ToolEffect, names};

/// The longest plan. It is stored with the question, and read as a whole.
const PLAN_CHARS: usize = 32_000;

pub(super) struct SubmitPlan;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The plan, in Markdown: a title as its first line, the goal, the steps in order, and how the result is checked.
    plan: String,
    /// The files you expect to change.
    #[serde(default)]
    files: Vec<String>,
    /// What could go wrong, and what you are not sure of.
    #[serde(default)]
    risks: Vec<String>,
}

impl Handler for SubmitPlan {
    const NAME: &'static str = names::SUBMIT_PLAN;
    const DESCRIPTION: &'static str = "Hands in your plan and waits until it is approved. In mode plan this is how you get \
        to the work: read first, then hand in one plan that somebody can judge without this conversation. The result \
        says whether it was approved, perhaps in an edited form, or what to change.";
    const EFFECT: ToolEffect = ToolEffect::Opaque;
    const EXAMPLE: &'static str = concat!(
        r##"{"plan": "# Limit login attempts\n\n1. Count failures per account in src/auth/limit.rs.\n"##,
        r##"2. Answer 429 after five in a minute.\n3. Tests for the limit and for its end.", "##,
        r##""files": ["src/auth/limit.rs", "src/auth/mod.rs"], "risks": ["The clock in tests is real."]}"##
    );

    type Input = Input;

    async fn run(self: Arc<Self>, input: Input, _: Call) -> Reply {
        let chars = input.plan.chars().count();
        if input.plan.trim().is_empty() {
            return Reply::error("\"plan\" is empty. Nothing was handed in.");
        }
        if chars > PLAN_CHARS {
            return Reply::error(format!(
                "The plan has {chars} characters; at most {PLAN_CHARS} can be handed in. Leave out what the code says itself."
            ));
        }
        let plan = PlanRequest { plan: input.plan, files: input.files, risks: input.risks };
        let held = Box::new(HeldRequest::Plan(plan));
        Reply { control: Some(ControlRequest::Hold(held)), ..Reply::default() }
    }
}
